import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Fault, unknownItem } from "../../src/errors.ts";
import { type Exchange, newTrail } from "../../src/exchange.ts";
import { MAX_PAYLOAD_BYTES, makeRecorder, type RecordOptions } from "../../src/pipeline/audit/record.ts";
import { answer, caller, errorAnswer, exchange, exchangeOf, frame } from "./support.ts";

type Line = Record<string, unknown>;

function recorder(more: Partial<RecordOptions> = {}) {
  const make = makeRecorder({ payloads: "redacted", secrets: [], redactKeys: [], ...more });
  const parsed = ({ time, rest }: { time: string; rest: string }): Line => JSON.parse(`{"time":"${time}",${rest}}`);
  return {
    answered: (one: Exchange, with_ = answer()) => parsed(make.answered(one, with_)),
    failed: (one: Exchange, failure: unknown) => parsed(make.failed(one, failure)),
  };
}

function called(args: unknown = { path: "/a" }, params: Record<string, unknown> = {}): Exchange {
  const one = exchange("tools/call", { name: "files__read", arguments: args, ...params });
  Object.assign(one.trail, { server: "files", name: "read", publicName: "files__read" });
  Object.assign(one.trail, { decision: { effect: "allow", rule: "rules[0]" }, queuedMs: 1.23456 });
  Object.assign(one.trail, { sentAt: one.trail.startedAt + 1, answeredAt: one.trail.startedAt + 3.5 });
  return one;
}

describe("an audit record", () => {
  test("has every field of the interface, in its order", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const one = { ...called({ path: "/a" }, { _meta: { traceparent } }), caller: { ...caller, principal: "alice" } };
    one.trail.decision = { effect: "deny", rule: "rules[2]", reason: "because" };
    const line = recorder().answered(one);
    expect(Object.keys(line)).toEqual([
      "time",
      "session",
      "client",
      "principal",
      "era",
      "direction",
      "method",
      "requestId",
      "server",
      "name",
      "publicName",
      "decision",
      "outcome",
      "durationMs",
      "queuedMs",
      "upstreamMs",
      "requestBytes",
      "responseBytes",
      "argumentsSha256",
      "arguments",
      "result",
      "traceparent",
    ]);
    expect(line).toMatchObject({
      session: "session-1",
      client: { name: "claude-code", version: "2.1" },
      principal: "alice",
      era: "legacy",
      direction: "toServer",
      method: "tools/call",
      requestId: 7,
      server: "files",
      name: "read",
      publicName: "files__read",
      decision: { effect: "deny", rule: "rules[2]", reason: "because" },
      outcome: "ok",
      queuedMs: 1.235,
      upstreamMs: 2.5,
      requestBytes: one.frame.bytes.length,
      responseBytes: answer().bytes.length,
      argumentsSha256: createHash("sha256").update('{"path":"/a"}').digest("hex"),
      arguments: { path: "/a" },
      result: { content: [{ type: "text", text: "done" }] },
      traceparent,
    });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(line.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("leaves out what has no value", () => {
    const one = exchange("tools/call", { name: "nope" });
    one.trail.publicName = "nope";
    expect(Object.keys(recorder().failed(one, unknownItem("tool", "nope")))).toEqual(
      "time session client era direction method requestId publicName outcome error durationMs queuedMs requestBytes".split(
        " ",
      ),
    );
  });

  test.each([
    ["ok", answer()],
    ["ok", answer({ content: [], isError: false })],
    ["tool_error", answer({ content: [], isError: true })],
    ["error", errorAnswer(-32050, "no disk")],
  ])("outcome %s for an answer", (outcome, with_) => {
    expect(recorder().answered(called(), with_).outcome).toBe(outcome);
  });

  test("a server's error is kept with its code and message, and has no result", () => {
    const line = recorder().answered(called(), errorAnswer(-32050, "no disk"));
    expect(line).toMatchObject({ outcome: "error", error: { code: -32050, message: "no disk" } });
    expect(line).not.toHaveProperty("result");
    expect(recorder().answered(called(), frame({ jsonrpc: "2.0", id: 1, error: { code: "x" } })).error).toEqual({
      message: "",
    });
  });

  test.each([
    ["cancelled", new Fault("CANCELLED", "gone"), -32603],
    ["timeout", new Fault("DEADLINE_EXCEEDED", "too late"), -32603],
    ["lost", new Fault("SERVER_CLOSED", "died"), -32603],
    ["error", new Fault("SERVER_CLOSED", "died before it was sent", { retrySafe: true }), -32603],
    ["error", new Fault("QUEUE_FULL", "full"), -32603],
    ["error", new Fault("INVALID_PARAMS", "bad"), -32602],
    ["error", new Error("a bug"), -32603],
    ["error", unknownItem("tool", "x"), -32602],
  ])("outcome %s for a failure", (outcome, failure, code) => {
    expect(recorder().failed(called(), failure)).toMatchObject({ outcome, error: { code, message: failure.message } });
  });

  test.each(["tool", "resource"] as const)("outcome denied for a %s that policy hides", (kind) => {
    const one = called();
    one.trail.decision = { effect: "deny", rule: "default" };
    expect(recorder().failed(one, unknownItem(kind, "x")).outcome).toBe("denied");
  });

  test("whatever becomes of a cancelled exchange, it is recorded as cancelled", () => {
    const one = called();
    one.cancellation.cancel("changed my mind");
    expect(recorder().answered(one).outcome).toBe("cancelled");
    expect(recorder().failed(one, new Fault("INTERNAL", "x")).outcome).toBe("cancelled");
    expect(recorder().failed(one, new Fault("DEADLINE_EXCEEDED", "x")).outcome).toBe("timeout");
  });

  test("a list has no item, and still its record", () => {
    const one = exchange("tools/list", { cursor: "c", _meta: { progressToken: 1 } });
    one.trail.decision = { effect: "allow", rule: "default" };
    const line = recorder().answered(one, answer({ tools: [] }));
    expect(line).toMatchObject({
      method: "tools/list",
      outcome: "ok",
      arguments: { cursor: "c" },
      result: { tools: [] },
    });
    expect(line).not.toHaveProperty("argumentsSha256");
  });

  test("payloads: all of params but _meta for methods without arguments, as it was written", () => {
    const request = frame(
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"_meta":{"a":1},"uri":"a:b","n":1.0}}',
    );
    const make = makeRecorder({ payloads: "redacted", secrets: [], redactKeys: [] });
    expect(make.answered(exchangeOf(request), answer()).rest).toContain('"arguments":{"uri":"a:b","n":1.0},');
    const bare = frame('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    expect(make.answered(exchangeOf(bare), answer()).rest).not.toContain("arguments");
  });

  test("payloads are kept as they were sent: numbers, order of keys, twins", () => {
    const args = '{"b":9223372036854775808,"a":1.0,"a":-0,"__proto__":{"x":1e400}}';
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":${args}}}`;
    const make = makeRecorder({ payloads: "redacted", secrets: [], redactKeys: [] });
    expect(make.answered(exchangeOf(frame(text)), answer()).rest).toContain(`"arguments":${args},`);
  });

  test("large payloads are not copied; their size and the hash of the arguments are", () => {
    const long = "x".repeat(MAX_PAYLOAD_BYTES);
    const line = recorder().answered(called({ long }), answer({ long }));
    expect(line.arguments).toEqual({ omitted: { bytes: long.length + 11 } });
    expect(line.result).toEqual({ omitted: { bytes: long.length + 11 } });
    expect(line.argumentsSha256).toBe(createHash("sha256").update(JSON.stringify({ long })).digest("hex"));
  });

  test('"full" keeps all of it, "none" nothing but the hash', () => {
    const args = { password: "hunter2", long: "x".repeat(MAX_PAYLOAD_BYTES) };
    expect(recorder({ payloads: "full" }).answered(called(args)).arguments).toEqual(args);
    const none = recorder({ payloads: "none" }).answered(called(args));
    expect(none).not.toHaveProperty("arguments");
    expect(none).not.toHaveProperty("result");
    expect(none.argumentsSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(recorder({ payloads: "none" }).answered(exchange("tools/list", { cursor: "c" }))).not.toHaveProperty(
      "arguments",
    );
  });

  test.each([
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    'x","outcome":"ok',
    7,
    { traceparent: 1 },
    null,
  ])("a traceparent that W3C does not know is left out: %j", (traceparent) => {
    expect(recorder().answered(called({}, { _meta: { traceparent } }))).not.toHaveProperty("traceparent");
  });

  test("no text can forge a line or a field", () => {
    const evil = 'x\n{"time":"forged"}\r\u2028","outcome":"ok';
    const one = { ...called({ evil, [evil]: 1 }), caller: { ...caller, client: { name: evil, version: evil } } };
    Object.assign(one.trail, { publicName: evil, name: evil, server: evil });
    one.trail.decision = { effect: "deny", rule: evil, reason: evil };
    const make = makeRecorder({ payloads: "redacted", secrets: [], redactKeys: [] });
    for (const line of [make.failed(one, new Fault("INTERNAL", evil)), make.answered(one, errorAnswer(1, evil))]) {
      expect(line.rest).not.toMatch(/[\n\r]/);
      expect(JSON.parse(`{${line.rest}}`)).toMatchObject({ outcome: "error", server: evil, error: { message: evil } });
    }
  });

  test("names, clients and error messages are redacted too", () => {
    const secret = "sentinel-0815";
    const one = { ...called(), caller: { ...caller, client: { name: secret, version: secret } } };
    Object.assign(one.trail, { publicName: `docs://u:${secret}@h/x`, name: `docs://h/?api_key=${secret}` });
    const line = recorder({ secrets: [secret], payloads: "none" }).failed(
      one,
      new Error(`${"y".repeat(990)} ${secret}`),
    );
    expect(JSON.stringify(line)).not.toContain("sentinel");
    const unknown = recorder().failed(
      { ...one, caller, trail: { ...newTrail(), publicName: one.trail.name } },
      new Error("x"),
    );
    expect(unknown.publicName).toBe("docs://h/?api_key=[redacted]");
  });
});
