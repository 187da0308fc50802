import { expect, test } from "vitest";
import { createHttpLeg } from "../../../src/upstream/legs/http.ts";
import { reconnectDelay } from "../../../src/upstream/legs/http-link.ts";
import { until } from "../../support/until.ts";
import { disposable, notification, Recorder, recordingLog, redact, request } from "./recorder.ts";
import { type Answer, type Reply, result, type Seen, startWeb, type Web, withHandshake } from "./web.ts";

async function connected(web: Web) {
  const log = recordingLog();
  const target = { type: "http" as const, url: web.url, headers: {} };
  const leg = createHttpLeg({ server: "s", target, log, maxMessageBytes: 0, redact, baseEnv: {} });
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  await events.answer(1);
  leg.negotiated?.("2025-11-25");
  leg.send(notification("notifications/initialized"));
  return { leg: disposable(leg), log, events };
}

/** A server with a GET stream, which `listen` writes. */
function withListen(
  session: string,
  listen: (seen: Seen, reply: Reply, count: number) => void,
  answer: Answer,
): Answer {
  let gets = 0;
  const handshake = withHandshake(session, answer);
  return (seen, reply, count) => {
    if (seen.method !== "GET" || seen.headers["last-event-id"]?.toString().startsWith("post")) {
      return handshake(seen, reply, count);
    }
    gets += 1;
    listen(seen, reply, gets);
  };
}

test("a POST stream that is cut is taken up again after `retry`, with the last event id, until the answer comes", async () => {
  let ended = 0;
  let refused = false;
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      const last = seen.headers["last-event-id"];
      if (seen.method === "POST") {
        reply.events().write("id: post-1\nretry: 500\ndata: \n\n").message({ jsonrpc: "2.0", method: "one" }, "post-2");
        ended = performance.now();
        return reply.end();
      }
      if (last === "post-2" && !refused) {
        refused = true;
        return reply.text(503);
      }
      if (last === "post-2")
        return reply.events().write("retry: 10\n").message({ jsonrpc: "2.0", method: "two" }, "post-3").cut();
      reply.events().message({ jsonrpc: "2.0", id: 2, result: {} }, "post-4").end();
    }),
  );
  const { leg, events } = await connected(web);
  await using _leg = leg;
  leg.send(request(2, "slow"));
  await events.answer(2);
  expect(events.order).toEqual(["frame:1", "frame:one", "frame:two", "frame:2"]);
  expect(events.failures).toEqual([]);
  const resumed = web.of("GET").filter((seen) => seen.headers["last-event-id"] !== undefined);
  expect(resumed.map((seen) => seen.headers["last-event-id"])).toEqual(["post-2", "post-2", "post-3"]);
  expect(resumed[0]?.headers).toMatchObject({ "mcp-session-id": "s", "mcp-protocol-version": "2025-11-25" });
  const waited = resumed[0]!.at - ended;
  expect(waited).toBeGreaterThan(450);
  // The conformance suite allows 700; a busy machine needs more.
  expect(waited).toBeLessThan(1500);
  expect(web.of("POST", "slow")).toHaveLength(1);
});

test.each([
  ["405", { reason: "network", delivered: "unknown", status: 405 }],
  ["404", { reason: "session-lost", delivered: "unknown", status: 404 }],
  ["page", { reason: "network", delivered: "unknown", status: 200 }],
  ["silent", { reason: "network", delivered: "unknown" }],
])("a stream that cannot be taken up again (%s): outcome unknown", async (how, expected) => {
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      if (seen.method === "POST") return reply.events().write("retry: 1\nid: post-1\ndata:\n\n").end();
      if (how === "page") return reply.text(200, "text/html", "<p>");
      if (how === "silent") return reply.events().end();
      reply.text(Number(how));
    }),
  );
  const { leg, events } = await connected(web);
  await using _leg = leg;
  leg.send(request(2, "slow"));
  expect(await events.failure(2)).toMatchObject(expected);
  expect((await events.failure(2)).message).toContain(how === "404" ? "session" : "outcome unknown");
  const resumed = web.of("GET").filter((seen) => seen.headers["last-event-id"] === "post-1");
  expect(resumed).toHaveLength(how === "silent" ? 5 : 1);
  expect(web.of("POST", "slow")).toHaveLength(1);
});

test("a request that is abandoned between two connections is not taken up again", async () => {
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      if (seen.rpc === "other") return reply.json(result(seen));
      reply.events().write("retry: 100\nid: post-1\ndata:\n\n").end();
    }),
  );
  const { leg, events } = await connected(web);
  await using _leg = leg;
  leg.send(request(2, "slow"));
  await until(() => web.of("GET").some((seen) => seen.headers["last-event-id"] === "post-1"), {
    what: "taken up once",
  });
  leg.abandon?.(2);
  const before = web.of("GET").length;
  leg.send(request(3, "slow"));
  await until(() => web.of("GET").length > before + 1, { what: "another one is taken up twice" });
  leg.abandon?.(3);
  expect(events.failures).toEqual([]);
});

test.each([405, 404, 400, 501, 200])("a GET that is answered %s is not asked again, and calls work", async (status) => {
  await using web = await startWeb(
    withListen(
      "s",
      (_seen, reply) => reply.text(status, "text/html", "<h1>no</h1>"),
      (seen, reply) => reply.json(result(seen)),
    ),
  );
  const { leg, events, log } = await connected(web);
  await using _leg = leg;
  await until(() => log.lines.some((line) => line.message.includes("no GET stream")), { what: "the refusal" });
  for (let id = 2; id < 20; id++) {
    leg.send(request(id));
    await events.answer(id);
  }
  expect(web.of("GET")).toHaveLength(1);
  expect(log.lines.filter((line) => line.level !== "debug")).toEqual([]);
  expect(events.ends).toEqual([]);
});

test("the GET stream brings messages; cut, it is opened again with its last event id after `retry`", async () => {
  let cut = 0;
  await using web = await startWeb(
    withListen(
      "s",
      (_seen, reply, count) => {
        reply
          .events()
          .write("retry: 60\n")
          .message({ jsonrpc: "2.0", method: `list_changed_${count}` }, `get-${count}`);
        if (count > 2) return;
        cut = performance.now();
        if (count === 1) reply.end();
        else reply.cut();
      },
      (seen, reply) => reply.json(result(seen)),
    ),
  );
  const { leg, events } = await connected(web);
  await using _leg = leg;
  await until(() => events.order.includes("frame:list_changed_3"), { what: "the third stream" });
  expect(web.of("GET").map((seen) => seen.headers["last-event-id"])).toEqual([undefined, "get-1", "get-2"]);
  expect(web.of("GET")[2]!.at - cut).toBeGreaterThan(50);
  expect(events.failures).toEqual([]);
  await leg.close(500);
  expect(events.ends).toHaveLength(1);
});

test("a GET stream whose session is lost stops; the next session opens its own", async () => {
  let session = 1;
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json(result(seen), { "mcp-session-id": `s${session}` });
    if (seen.headers["mcp-session-id"] !== `s${session}`) return reply.text(404);
    if (seen.method !== "GET") return reply.text(seen.method === "DELETE" ? 200 : 202);
    reply
      .events()
      .write("retry: 5\n")
      .message({ jsonrpc: "2.0", method: `hello_${session}` });
    session = 2;
    reply.end();
  });
  const { leg, events } = await connected(web);
  await using _leg = leg;
  await until(() => web.of("GET").length === 2, { what: "the second GET" });
  leg.send(request(2, "initialize"));
  await events.answer(2);
  leg.negotiated?.("2025-11-25");
  leg.send(notification("notifications/initialized"));
  await until(() => events.order.includes("frame:hello_2"), { what: "the stream of the new session" });
  expect(
    web
      .of("GET")
      .map((seen) => seen.headers["mcp-session-id"])
      .slice(0, 3),
  ).toEqual(["s1", "s1", "s2"]);
});

test("the GET stream waits until initialized was taken", async () => {
  let taken = false;
  let early = false;
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json(result(seen));
    if (seen.method === "GET") {
      early = !taken;
      return reply.text(405);
    }
    setTimeout(() => {
      taken = true;
      reply.text(202);
    }, 30);
  });
  const { leg } = await connected(web);
  await using _leg = leg;
  await until(() => web.of("GET")[0], { what: "the GET" });
  expect(early).toBe(false);
});

test("a stream that is quiet for long is not cut, and neither is one after its answer before the server ends it", async () => {
  let finish: (() => void) | undefined;
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      reply.events().message(result(seen));
      finish = () => reply.message({ jsonrpc: "2.0", method: "after" }).end();
    }),
  );
  const { leg, events } = await connected(web);
  await using _leg = leg;
  leg.send(request(2));
  await events.answer(2);
  finish?.();
  await until(() => events.order.at(-1) === "frame:after", { what: "what came after the answer" });
});

test("pauses grow with every attempt that brings nothing, up to a ceiling, and never fall below retry", () => {
  expect(reconnectDelay(500, 0, 30_000)).toBe(500);
  for (const [failures, least, most] of [
    [1, 1000, 1200],
    [3, 4000, 4800],
    [20, 30_000, 36_000],
  ] as const) {
    const delay = reconnectDelay(500, failures, 30_000);
    expect(delay).toBeGreaterThanOrEqual(least);
    expect(delay).toBeLessThanOrEqual(most);
  }
  expect(reconnectDelay(40_000, 3, 30_000)).toBeGreaterThanOrEqual(40_000);
});
