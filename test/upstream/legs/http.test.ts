import { expect, test } from "vitest";
import { createHttpLeg, type HttpLegOptions } from "../../../src/upstream/legs/http.ts";
import { LegError } from "../../../src/wire/leg.ts";
import { until } from "../../support/until.ts";
import { disposable, notification, Recorder, recordingLog, redact, request, SECRET } from "./recorder.ts";
import { result, startWeb, type Web, withHandshake } from "./web.ts";

type Overrides = Partial<Omit<HttpLegOptions, "target">> & { url?: string; headers?: Record<string, string> };

async function openLeg(url: string, { url: _url, headers = {}, ...options }: Overrides = {}) {
  const log = recordingLog();
  const target = { type: "http" as const, url, headers };
  const leg = createHttpLeg({ server: "s", target, log, maxMessageBytes: 0, redact, baseEnv: {}, ...options });
  const events = new Recorder();
  await leg.open(events);
  return { leg: disposable(leg), log, events, [Symbol.asyncDispose]: () => leg.close(1000) };
}

/** Opens a leg and goes through the handshake. */
async function connected(web: Web, options: Overrides = {}) {
  const peer = await openLeg(web.url, options);
  peer.leg.send(request(1, "initialize"));
  await peer.events.answer(1);
  peer.leg.negotiated?.("2025-06-18");
  peer.leg.send(notification("notifications/initialized"));
  await until(() => web.of("POST", "notifications/initialized")[0], { what: "initialized" });
  return peer;
}

test("headers: both media types, the session and the negotiated revision on everything after initialize", async () => {
  await using web = await startWeb(withHandshake("abc-1", (seen, reply) => reply.json(result(seen))));
  {
    await using peer = await connected(web, {
      headers: { Authorization: "Bearer t", "Mcp-Session-Id": "forged", Accept: "x/y", "X-Own": " v " },
    });
    peer.leg.send(request(2, "tools/list"));
    await peer.events.answer(2);
    await until(() => web.of("GET")[0], { what: "the GET stream is asked for" });
    expect(peer.log.lines[0]).toMatchObject({ level: "warn", headers: ["Mcp-Session-Id", "Accept"] });
    await peer.leg.close(1000);
    expect(peer.events.ends).toEqual([{ reason: "closed", expected: true }]);
  }
  const [initialize, initialized, ...rest] = web.seen;
  expect(initialize?.headers).toMatchObject({
    ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
    ...{ authorization: "Bearer t", "x-own": "v", host: `127.0.0.1:${web.port}` },
  });
  expect(initialize?.headers).not.toHaveProperty("mcp-session-id");
  expect(initialize?.headers).not.toHaveProperty("mcp-protocol-version");
  for (const later of [initialized, ...rest]) {
    expect(later?.headers).toMatchObject({
      ...{ "mcp-session-id": "abc-1", "mcp-protocol-version": "2025-06-18", authorization: "Bearer t" },
    });
  }
  expect(web.of("GET")[0]?.headers.accept).toBe("text/event-stream");
  expect(web.of("DELETE")).toHaveLength(1);
});

test("an answer as JSON, with line breaks, as a batch; one as events, in order and before the stream ends", async () => {
  await using web = await startWeb(
    withHandshake(undefined, (seen, reply) => {
      if (seen.rpc === "pretty")
        return reply.text(
          200,
          "application/json; charset=utf-8",
          `{\n "jsonrpc": "2.0",\r\n "id": ${seen.id}, "result": {"a": 1.0}\n}\n`,
        );
      if (seen.rpc === "marked") {
        return reply.text(200, "application/json", `\ufeff${JSON.stringify(result(seen))}`);
      }
      if (seen.rpc === "batch") return reply.json([{ jsonrpc: "2.0", method: "n" }, result(seen)]);
      reply.events().write(": hello\n\n");
      reply
        .message({ jsonrpc: "2.0", method: "notifications/progress" })
        .message({ jsonrpc: "2.0", id: 0, method: "ping" });
      reply
        .message(result(seen))
        .message({ jsonrpc: "2.0", method: "late" })
        .write("event: other\ndata: {}\n\ndata: nonsense\n\n")
        .end();
    }),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2, "pretty"));
  expect((await peer.events.answer(2)).bytes.toString()).toMatch(
    /^\{ +"jsonrpc": "2.0", +"id": 2, "result": \{"a": 1.0\} \}$/,
  );
  peer.leg.send(request(3, "batch"));
  await peer.events.answer(3);
  peer.leg.send(request(5, "marked"));
  await peer.events.answer(5);
  peer.leg.send(request(4, "events"));
  await until(() => peer.events.order.includes("frame:late"), { what: "the end of the stream" });
  expect(peer.events.order).toEqual(
    ["1", "2", "n", "3", "5", "notifications/progress", "0", "4", "late"].map((name) => `frame:${name}`),
  );
  expect(peer.events.failures).toEqual([]);
});

test("many at once are all answered, and none waits for another", async () => {
  const waiting: (() => void)[] = [];
  await using web = await startWeb(
    withHandshake(undefined, (seen, reply) => {
      waiting.push(() => reply.json(result(seen)));
      if (waiting.length === 50) for (const go of waiting.reverse()) go();
    }),
  );
  await using peer = await connected(web);
  for (let id = 2; id <= 51; id++) peer.leg.send(request(id));
  await until(() => peer.events.frames.length === 51, { what: "all answers" });
});

test("nothing overtakes initialized", async () => {
  const held: (() => void)[] = [];
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json(result(seen));
    if (seen.rpc === "notifications/initialized") return void held.push(() => reply.text(202));
    if (seen.method === "GET") return reply.text(405);
    if (seen.id !== undefined) return;
    reply.text(202);
  });
  await using peer = await openLeg(web.url);
  peer.leg.send(request(1, "initialize"));
  await peer.events.answer(1);
  peer.leg.negotiated?.("2025-06-18");
  peer.leg.send(notification("notifications/initialized"));
  for (let id = 2; id < 12; id++) peer.leg.send(request(id, "call"));
  peer.leg.send(notification("notifications/cancelled"));
  await until(() => held[0], { what: "initialized" });
  expect(web.seen.map((seen) => seen.rpc)).toEqual(["initialize", "notifications/initialized"]);
  held[0]?.();
  await until(() => web.seen.length >= 13, { what: "the rest" });
});

test("404 on the session: every call fails by itself as not delivered; initialize goes without the session", async () => {
  let session = 1;
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json(result(seen), { "mcp-session-id": `s${session}` });
    if (seen.method === "GET") return reply.text(405);
    if (seen.headers["mcp-session-id"] !== `s${session}`) return reply.text(404, "text/plain", "who?");
    if (seen.id === undefined) return reply.text(202);
    reply.json(result(seen));
  });
  await using peer = await connected(web);
  session = 2;
  for (let id = 2; id <= 6; id++) peer.leg.send(request(id));
  for (let id = 2; id <= 6; id++) {
    expect(await peer.events.failure(id)).toMatchObject({ reason: "session-lost", delivered: "no", status: 404 });
  }
  peer.leg.send(request(7, "initialize"));
  await peer.events.answer(7);
  const again = web.of("POST", "initialize")[1];
  expect(again?.headers).not.toHaveProperty("mcp-session-id");
  expect(again?.headers).not.toHaveProperty("mcp-protocol-version");
  peer.leg.send(request(8));
  await peer.events.answer(8);
  expect(web.seen.at(-1)?.headers["mcp-session-id"]).toBe("s2");
  await peer.leg.close(1000);
  expect(web.of("DELETE").map((seen) => seen.headers["mcp-session-id"])).toEqual(["s2"]);
});

test("a lost session is not DELETEd, and a DELETE that hangs does not hold up close", async () => {
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json(result(seen), { "mcp-session-id": "s" });
    if (seen.rpc === "lost") return reply.text(404);
    if (seen.method === "GET") return reply.text(405);
    if (seen.id === undefined && seen.method === "POST") return reply.text(202);
  });
  const peer = await connected(web);
  const start = performance.now();
  await Promise.all([peer.leg.close(50), peer.leg.close(50)]);
  expect(performance.now() - start).toBeLessThan(2000);
  expect(web.of("DELETE")).toHaveLength(1);
  const lost = await connected(web);
  lost.leg.send(request(2, "lost"));
  await lost.events.failure(2);
  await lost.leg.close(1000);
  expect(web.of("DELETE")).toHaveLength(1);
});

const statuses: [name: string, status: number, type: string, body: string, expected: object][] = [
  [
    "400 with no valid session",
    400,
    "application/json",
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
    { reason: "session-lost", delivered: "no" },
  ],
  ["400 otherwise", 400, "text/plain", "bad", { reason: "status", delivered: "unknown", status: 400 }],
  ["401", 401, "text/plain", "no", { reason: "unauthorized", delivered: "no", status: 401 }],
  ["403", 403, "application/json", "{}", { reason: "unauthorized", delivered: "no", status: 403 }],
  ["429", 429, "text/plain", "slow down", { reason: "status", delivered: "unknown", status: 429 }],
  [
    "503 with a page",
    503,
    "text/html",
    `<h1>down</h1>\n ${SECRET}${"x".repeat(5000)}`,
    { reason: "status", delivered: "unknown", status: 503 },
  ],
  [
    "200 with a page",
    200,
    "text/html",
    `<h1>Login ${SECRET}</h1>`,
    { reason: "bad-answer", delivered: "unknown", status: 200 },
  ],
  ["200 with other JSON", 200, "application/json", '{"ok":true}', { reason: "bad-answer", status: 200 }],
  ["200 with broken JSON", 200, "application/json", '{"jsonrpc":"2.0",', { reason: "bad-answer", status: 200 }],
  ["200 with an empty body", 200, "application/json", "", { reason: "bad-answer", status: 200 }],
  [
    "200 with a wrong type",
    200,
    "text/plain",
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    { reason: "bad-answer", status: 200 },
  ],
  [
    "200 with an error without id",
    200,
    "application/json",
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}',
    { reason: "bad-answer" },
  ],
  ["202 to a request", 202, "", "", { reason: "bad-answer", status: 202 }],
  [
    "the answer to another request",
    200,
    "application/json",
    '{"jsonrpc":"2.0","id":77,"result":{}}',
    { reason: "bad-answer" },
  ],
];

test.each(statuses)("%s", async (_name, status, type, body, expected) => {
  await using web = await startWeb(
    withHandshake("s", (_seen, reply) =>
      reply.text(status, type === "" ? undefined : type, body, { "www-authenticate": `Bearer ${SECRET}` }),
    ),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2));
  const error = await peer.events.failure(2);
  expect(error).toMatchObject(expected);
  expect(error.message).not.toContain(SECRET);
  expect(error.message.length).toBeLessThan(400);
  expect(error.message).toContain(error.reason === "session-lost" ? "session" : String(status));
  expect(peer.events.failures).toHaveLength(1);
});

test("a refusal that is a JSON-RPC error to our request is its answer", async () => {
  const error = { code: -32602, message: "no such tool; invalid session_type" };
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => reply.json({ jsonrpc: "2.0", id: seen.id, error }, {}, 400)),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2));
  expect((await peer.events.answer(2)).body()).toEqual(error);
  expect(peer.events.failures).toEqual([]);
});

test("a redirect is not followed, and no header goes elsewhere", async () => {
  await using other = await startWeb((seen, reply) => reply.json(result(seen)));
  await using web = await startWeb(
    withHandshake("s", (_seen, reply) => reply.text(307, undefined, "", { location: `${other.url}?key=${SECRET}` })),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2));
  const error = await peer.events.failure(2);
  expect(error).toMatchObject({ reason: "status", status: 307 });
  expect(error.message).toContain(`redirects to http://127.0.0.1:${other.port}. `);
  expect(other.seen).toEqual([]);
});

test("a notification that is refused is logged and hurts nobody", async () => {
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => (seen.id === undefined ? reply.text(500) : reply.json(result(seen)))),
  );
  await using peer = await connected(web);
  peer.leg.send(notification("notifications/roots/list_changed"));
  await until(() => peer.log.lines.find((line) => line.level === "warn"), { what: "a warning" });
  peer.leg.send(request(2));
  await peer.events.answer(2);
  expect(peer.events.failures).toEqual([]);
});

test("nothing listens there: not delivered. A connection that is lost in mid-call: unknown, and not sent again", async () => {
  const gone = await startWeb(() => {});
  await gone.close();
  await using nobody = await openLeg(gone.url);
  nobody.leg.send(request(1, "initialize"));
  expect(await nobody.events.failure(1)).toMatchObject({ reason: "network", delivered: "no" });

  await using web = await startWeb(withHandshake("s", (_seen, reply) => reply.raw.socket?.destroy()));
  await using peer = await connected(web);
  peer.leg.send(request(2, "once"));
  const error = await peer.events.failure(2);
  expect(error).toMatchObject({ reason: "network", delivered: "unknown" });
  expect(error.message).toContain("outcome unknown");
  expect(web.of("POST", "once")).toHaveLength(1);
});

test("a stream that ends without the answer and without event ids: outcome unknown", async () => {
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      reply.events().message({ jsonrpc: "2.0", method: "notifications/progress" });
      if (seen.id === 2) reply.end();
      else reply.cut();
    }),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2));
  peer.leg.send(request(3));
  for (const id of [2, 3]) {
    expect(await peer.events.failure(id)).toMatchObject({ reason: "network", delivered: "unknown" });
  }
});

test("an answer above the limit fails its request alone, as JSON and as an event", async () => {
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      const answer = result(seen, { text: "x".repeat(seen.rpc === "small" ? 10 : 200_000) });
      if (seen.rpc === "json") return reply.json(answer);
      reply.events().message({ jsonrpc: "2.0", method: "big", params: { text: "y".repeat(200_000) } });
      reply.message(answer).end();
    }),
  );
  await using peer = await connected(web, { maxMessageBytes: 100_000 });
  peer.leg.send(request(2, "json"));
  peer.leg.send(request(3, "events"));
  peer.leg.send(request(4, "small"));
  await peer.events.answer(4);
  for (const id of [2, 3]) {
    const error = await peer.events.failure(id);
    expect(error).toMatchObject({ reason: "too-large", delivered: "unknown" });
    expect(error.message).toContain("100000");
  }
  expect(peer.events.failures).toHaveLength(2);
});

test("abandon closes the stream of one request and says nothing of it", async () => {
  let closed = 0;
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      if (seen.rpc === "short") return reply.json(result(seen));
      reply.events().write(": here\n\n");
      reply.raw.on("close", () => {
        closed += 1;
      });
    }),
  );
  await using peer = await connected(web);
  peer.leg.send(request(2, "long"));
  await until(() => web.of("POST", "long")[0], { what: "the call" });
  peer.leg.abandon?.(2);
  peer.leg.abandon?.(99);
  await until(() => closed === 1, { what: "the stream is closed" });
  peer.leg.send(request(3, "short"));
  await peer.events.answer(3);
  expect(peer.events.failures).toEqual([]);
});

test("pause stops reading from every stream, and the server feels it", async () => {
  let written = 0;
  let drained = true;
  await using web = await startWeb(
    withHandshake("s", (seen, reply) => {
      const chunk = `data: {"jsonrpc":"2.0","method":"n","params":{"x":"${"z".repeat(60_000)}"}}\n\n`;
      reply.events();
      const pump = (): void => {
        while (written < 500) {
          written += 1;
          drained = reply.raw.write(chunk);
          if (!drained) return void reply.raw.once("drain", pump);
        }
        reply.message(result(seen)).end();
      };
      pump();
    }),
  );
  await using peer = await connected(web);
  peer.leg.pause();
  peer.leg.send(request(2));
  let before = -1;
  const stands = (): boolean => {
    const same = written > 0 && written === before && !drained;
    before = written;
    return same;
  };
  await until(stands, { what: "the server is held up", every: 100 });
  expect(written).toBeLessThan(500);
  expect(peer.events.frames.length).toBeLessThan(10);
  peer.leg.resume();
  await peer.events.answer(2);
  expect(peer.events.frames).toHaveLength(502);
});

test("a session id that is not visible ASCII is ignored", async () => {
  await using web = await startWeb(withHandshake("no good", (seen, reply) => reply.json(result(seen))));
  await using peer = await connected(web);
  peer.leg.send(request(2));
  await peer.events.answer(2);
  expect(web.seen.at(-1)?.headers).not.toHaveProperty("mcp-session-id");
  expect(peer.log.lines.some((line) => line.level === "warn" && line.message.includes("Mcp-Session-Id"))).toBe(true);
});

test("what no request could be made of is refused by open", async () => {
  const refused = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
    const leg = createHttpLeg({
      server: "s",
      target: { type: "http", url, headers },
      log: recordingLog(),
      maxMessageBytes: 0,
      redact,
    });
    const events = new Recorder();
    const error = await leg.open(events).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LegError);
    expect(events.ends).toEqual([{ reason: (error as LegError).message, expected: false }]);
    expect(() => leg.send(request(1))).toThrow(LegError);
    expect((error as LegError).message).not.toContain(SECRET);
    return (error as LegError).message;
  };
  expect(await refused("example.com/mcp")).toContain("http://");
  expect(await refused("ftp://example.com/")).toContain("ftp:");
  expect(await refused("http://127.0.0.1/", { "bad name": SECRET })).toContain("bad name");
  expect(await refused("http://127.0.0.1/", { "X-Key": `${SECRET}\r\nInjected: 1` })).toContain("X-Key");
});

test("user and password of the address become Basic credentials and are never shown", async () => {
  await using web = await startWeb((_seen, reply) => reply.text(500));
  await using peer = await openLeg(`${web.url.replace("//", `//me:${SECRET}@`)}?token=${SECRET}`);
  peer.leg.send(request(1, "initialize"));
  const error = await peer.events.failure(1);
  expect(web.seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}`);
  expect(web.seen[0]?.path).toBe(`/mcp?token=${SECRET}`);
  expect(error.message).toBe(`HTTP 500 from http://127.0.0.1:${web.port}/mcp`);
});
