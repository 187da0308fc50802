import { expect, test } from "vitest";
import type { HttpLegOptions } from "../../../src/upstream/legs/http.ts";
import { createHttpAutoLeg } from "../../../src/upstream/legs/http-auto.ts";
import { createSseLeg } from "../../../src/upstream/legs/sse.ts";
import { LegError } from "../../../src/wire/leg.ts";
import { until } from "../../support/until.ts";
import { disposable, notification, Recorder, recordingLog, redact, request, SECRET } from "./recorder.ts";
import { type Answer, type Reply, result, startWeb } from "./web.ts";

function options(url: string, type: "sse" | "auto", headers: Record<string, string> = {}): HttpLegOptions {
  return { server: "s", target: { type, url, headers }, log: recordingLog(), maxMessageBytes: 0, redact, baseEnv: {} };
}

/** A server of the old transport: the stream at any path, messages at the endpoint; `refuse` is for other POSTs. */
function oldServer(endpoint: string, refuse: Answer = (_seen, reply) => reply.text(405)) {
  const streams: Reply[] = [];
  const answer: Answer = (seen, reply, count) => {
    if (seen.method === "GET") {
      streams.push(reply.events().write(`event: endpoint\ndata: ${endpoint}\n\n`));
      return;
    }
    if (!seen.path.startsWith("/messages")) return refuse(seen, reply, count);
    reply.text(202, "text/plain", "Accepted");
    if (seen.id !== undefined) streams.at(-1)?.message(result(seen, { path: seen.path }));
  };
  return { streams, answer };
}

test("SSE: messages go to the endpoint, answers come on the stream, headers are on both", async () => {
  const server = oldServer("/messages?sessionId=1");
  await using web = await startWeb(server.answer);
  await using leg = disposable(createSseLeg(options(web.url, "sse", { "X-Key": "k" })));
  const events = new Recorder();
  await leg.open(events);
  for (let id = 1; id <= 3; id++) leg.send(request(id, id === 1 ? "initialize" : "call"));
  leg.send(notification("notifications/x"));
  expect((await events.answer(3)).body()).toEqual({ path: "/messages?sessionId=1" });
  await until(() => web.of("POST", "notifications/x")[0], { what: "the notification" });
  for (const seen of web.seen) expect(seen.headers["x-key"]).toBe("k");
  expect(web.seen[0]?.headers.accept).toBe("text/event-stream");
  await leg.close(100);
  expect(events.ends).toEqual([{ reason: "closed", expected: true }]);
  expect(() => leg.send(request(9))).toThrow(LegError);
});

test("SSE: when the stream ends the leg is closed; a relative endpoint is resolved", async () => {
  const server = oldServer("messages");
  await using web = await startWeb((seen, reply, count) => {
    if (seen.id !== 2) return server.answer(seen, reply, count);
    reply.text(202);
    server.streams[0]?.cut();
  });
  await using leg = disposable(createSseLeg(options(web.url, "sse")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1));
  expect((await events.answer(1)).body()).toEqual({ path: "/messages" });
  leg.send(request(2));
  expect(await events.end()).toMatchObject({ expected: false });
});

test("SSE: an endpoint of another origin is refused before anything is sent to it", async () => {
  await using other = await startWeb((_seen, reply) => reply.text(202));
  await using web = await startWeb(oldServer(`${other.url}?k=${SECRET}`).answer);
  const events = new Recorder();
  const error = await createSseLeg(options(web.url, "sse"))
    .open(events)
    .catch((reason: unknown) => reason as LegError);
  expect((error as LegError).message).toContain(`another origin (http://127.0.0.1:${other.port})`);
  expect(events.ends).toEqual([{ reason: (error as LegError).message, expected: false }]);
  expect(other.seen).toEqual([]);
});

test.each([
  [401, { reason: "unauthorized" }, { needsLogin: true }],
  [500, { reason: "status", status: 500 }, {}],
  [200, { reason: "bad-answer" }, {}],
])("SSE: a GET that is answered %s is refused by open", async (status, expected, why) => {
  await using web = await startWeb((_seen, reply) => reply.text(status, "text/html", `<p>${SECRET}`));
  const events = new Recorder();
  const error = await createSseLeg(options(web.url, "sse"))
    .open(events)
    .catch((reason: unknown) => reason as LegError);
  expect(error).toMatchObject(expected);
  expect(events.ends).toEqual([{ reason: (error as LegError).message, expected: false, ...why }]);
  expect((error as LegError).message).not.toContain(SECRET);
});

test("SSE: a server that no longer knows the connection ends the leg; the call was not delivered", async () => {
  const server = oldServer("/messages");
  await using web = await startWeb((seen, reply, count) =>
    seen.id === 2 ? reply.text(404, "text/plain", "no such session") : server.answer(seen, reply, count),
  );
  await using leg = disposable(createSseLeg(options(web.url, "sse")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1));
  await events.answer(1);
  leg.send(request(2));
  expect(await events.failure(2)).toMatchObject({ reason: "closed", delivered: "no" });
  expect(await events.end()).toMatchObject({ expected: false });
  expect(events.order).toEqual(["frame:1", "failed:2", "closed"]);
});

test("SSE: closed while the endpoint is awaited", async () => {
  await using web = await startWeb((_seen, reply) => void reply.events());
  const leg = createSseLeg(options(web.url, "sse"));
  const events = new Recorder();
  const opening = leg.open(events).catch((reason: unknown) => reason);
  await until(() => web.seen[0], { what: "the GET" });
  await leg.close(100);
  expect(await opening).toBeInstanceOf(LegError);
  expect(events.ends).toEqual([{ reason: "closed", expected: true }]);
});

test.each([400, 404, 405, 415])("auto: initialize refused with %s is sent again over SSE", async (status) => {
  const refuse: Answer = (_seen, reply) => reply.text(status, "text/plain", "POST is not for you");
  await using web = await startWeb(oldServer("/messages", refuse).answer);
  await using leg = disposable(createHttpAutoLeg(options(web.url, "auto")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  await events.answer(1);
  leg.negotiated?.("2024-11-05");
  leg.send(notification("notifications/initialized"));
  leg.send(request(2));
  await events.answer(2);
  expect(events.order).toEqual(["frame:1", "frame:2"]);
  expect(web.of("POST").map((seen) => seen.path)).toEqual(["/mcp", "/messages", "/messages", "/messages"]);
  await leg.close(100);
  expect(events.ends).toEqual([{ reason: "closed", expected: true }]);
});

test.each([401, 403, 429, 500, 503])("auto: %s says nothing about the transport", async (status) => {
  await using web = await startWeb((_seen, reply) => reply.text(status));
  await using leg = disposable(createHttpAutoLeg(options(web.url, "auto")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  expect(await events.failure(1)).toMatchObject({ status });
  expect(web.of("GET")).toEqual([]);
  expect(events.ends).toEqual([]);
});

test("auto: a JSON-RPC error is an answer, and what comes later never switches", async () => {
  const error = { code: -32602, message: "Unsupported protocol version" };
  await using web = await startWeb((seen, reply) => {
    if (seen.rpc === "initialize") return reply.json({ jsonrpc: "2.0", id: seen.id, error }, {}, 400);
    reply.text(404);
  });
  await using leg = disposable(createHttpAutoLeg(options(web.url, "auto")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  expect((await events.answer(1)).body()).toEqual(error);
  leg.send(request(2, "initialize-not"));
  expect(await events.failure(2)).toMatchObject({ reason: "status", status: 404 });
  expect(web.of("GET")).toEqual([]);
});

test("auto: refused by both transports, the error names both", async () => {
  await using web = await startWeb((seen, reply) =>
    reply.text(seen.method === "GET" ? 405 : 404, "text/plain", "nothing here"),
  );
  await using leg = disposable(createHttpAutoLeg(options(web.url, "auto")));
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  const failure = await events.failure(1);
  expect(failure).toMatchObject({ reason: "status", status: 404 });
  expect(failure.message).toMatch(/^neither Streamable HTTP \(HTTP 404 .*\) nor HTTP\+SSE \(HTTP 405 .*\) works/);
  expect((await events.end()).expected).toBe(false);
  expect(events.order).toEqual(["failed:1", "closed"]);
});
