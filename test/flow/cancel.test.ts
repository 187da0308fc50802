/** Promise: a cancelled request is cancelled at the one server that has it, and nothing more comes for it. */
import { expect, test } from "vitest";
import type { StdioServer } from "../support/config.ts";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const CANCELLED = "notifications/cancelled";

const cancelledIds = (server: StdioServer) =>
  server.received(CANCELLED).map(({ message }) => message.params!["requestId"]);

/** Ids of all responses that came. */
const answered = (host: Host) =>
  host.raw.flatMap((line) => {
    const message = JSON.parse(line) as { id?: unknown; method?: unknown };
    return message.method === undefined ? [message.id] : [];
  });

test("a cancel reaches only the server that has the request, with that server's id, whatever the host's id looks like", async () => {
  // C2, C4, R130, R133
  await using dir = await tempDir();
  // Each goes on and answers although it was cancelled: what comes that late goes nowhere.
  const late = [{ untilCancelled: true as const }, { progress: 2 }, { result: { content: [] } }];
  const script = {
    tools: [tool("wait"), tool("echo"), tool("do")],
    prompts: [{ name: "p" }],
    resources: [{ uri: "x://slow", name: "slow" }],
    on: { wait: late, "prompt:p": late, "resource:x://slow": late },
  };
  const a = stdioServer(dir, "a", script);
  const b = stdioServer(dir, "b", { tools: [tool("do")] });
  await using host = await startHost({
    config: { mcpServers: { a: a.entry, b: b.entry } },
    capabilities: { roots: {} },
  });
  let letGo: (roots: object) => void = () => {};
  host.answer("roots/list", () => new Promise((resolve) => (letGo = resolve)));
  await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  await host.listAll("resources/list", "resources");

  const other = host.call("b__do", { steps: [{ ask: [{ method: "roots/list" }] }] });
  const ids = [0, "x", 7, "7", "", Number.MAX_SAFE_INTEGER];
  for (const id of ids) void host.request("tools/call", { name: "a__wait", arguments: {} }, { id, token: id });
  await until(() => a.received("tools/call").length === ids.length, { what: "calls at the server" });
  const upstream = new Map(ids.map((id, i) => [id, a.received("tools/call")[i]!.message.id]));

  const order = ["x", 0, "", 7, Number.MAX_SAFE_INTEGER, "7"];
  for (const [i, id] of order.entries()) {
    host.cancel(id, `because ${i}`);
    await until(() => cancelledIds(a).length === i + 1, { what: `cancel of ${JSON.stringify(id)}` });
  }
  expect(cancelledIds(a)).toEqual(order.map((id) => upstream.get(id)));
  expect(a.received(CANCELLED).map(({ message }) => message.params!["reason"])).toEqual(
    order.map((_, i) => `because ${i}`),
  );

  // The same for the other requests that go to one server.
  void host.request("prompts/get", { name: "a__p" }, { id: "p" });
  void host.request("resources/read", { uri: "x://slow" }, { id: -1 });
  await until(() => a.received("prompts/get").length + a.received("resources/read").length === 2, {
    what: "requests at the server",
  });
  host.cancel("p");
  host.cancel(-1);
  await until(() => cancelledIds(a).length === order.length + 2, { what: "both cancels" });
  expect(cancelledIds(a).slice(-2)).toEqual([
    a.received("prompts/get")[0]!.message.id,
    a.received("resources/read")[0]!.message.id,
  ]);

  // The other server's call was left alone, and ends well.
  await until(() => host.requests.length === 1, { what: "the other server's question" });
  letGo({ roots: [] });
  await other;
  expect(cancelledIds(b)).toEqual([]);

  // What the server answers late comes before this echo.
  await host.call("a__echo");
  const came = answered(host);
  for (const id of [...ids, "p", -1]) expect(came).not.toContain(id);
  expect(host.notifications).toEqual([]);
  // A cancelled id may be used again (by a host that does).
  expect((await host.request("tools/call", { name: "a__echo" }, { id: 0 })).error).toBeUndefined();
  expect(host.strays).toEqual([]);
});

test("a cancel of what is not in flight is ignored, and so is one that is malformed", async () => {
  // R132, C4
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("wait"), tool("echo")], on: { wait: [{ untilCancelled: true }] } });
  await using host = await startHost({ config: { mcpServers: { a: a.entry } }, initialize: false });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "h", version: "1" } };
  const opened = host.request("initialize", params, { id: 0 });
  host.cancel(0);
  expect((await opened).result).toMatchObject({ protocolVersion: "2025-11-25" });
  host.notify("notifications/initialized");

  await host.request("tools/call", { name: "a__echo" }, { id: 3 });
  host.cancel(3);
  host.cancel("nobody");
  void host.request("tools/call", { name: "a__wait" }, { id: 7 });
  await until(() => a.received("tools/call").length === 2, { what: "the call at the server" });
  // 7 is in flight, these are not.
  host.cancel("7");
  host.notify(CANCELLED);
  for (const bad of ["{}", "[]", "null", '"7"', '{"requestId":null}', '{"requestId":[7]}', '{"requestId":{"id":7}}']) {
    host.notify(CANCELLED, bad);
  }
  expect((await host.request("tools/call", { name: "a__echo" })).error).toBeUndefined();
  expect(cancelledIds(a)).toEqual([]);
  host.cancel(7);
  // A second cancel of the same call finds nothing any more.
  host.cancel(7);
  await until(() => cancelledIds(a).length > 0, { what: "the cancel" });
  await host.call("a__echo");
  expect(cancelledIds(a)).toEqual([a.received("tools/call")[1]!.message.id]);
  expect(host.strays.filter((line) => !line.includes('"id":null'))).toEqual([]);
});

test("a cancelled request that still waits in the queue never reaches its server", async () => {
  // C2, interface.md concurrency
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("wait"), tool("echo")], on: { wait: [{ untilCancelled: true }] } });
  await using host = await startHost({ config: { mcpServers: { a: { ...a.entry, concurrency: 1 } } } });
  await host.toolNames();
  void host.request("tools/call", { name: "a__wait" }, { id: 1 });
  await until(() => a.received("tools/call").length === 1, { what: "the first call" });
  void host.request("tools/call", { name: "a__echo", arguments: { n: 2 } }, { id: 2 });
  const third = host.call("a__echo", { n: 3 });
  host.cancel(2);
  host.cancel(1);
  await third;
  expect(a.received("tools/call").map(({ message }) => message.params!["arguments"])).toEqual([undefined, { n: 3 }]);
  expect(cancelledIds(a)).toEqual([a.received("tools/call")[0]!.message.id]);
  const came = answered(host);
  expect(came).not.toContain(1);
  expect(came).not.toContain(2);
});

test("a host that leaves cancels what it still had in flight", async () => {
  // C2, spec §1.4
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("wait")], on: { wait: [{ untilCancelled: true }] } });
  await using host = await startHost({ config: { mcpServers: { a: a.entry }, timeouts: { drainMs: 100 } } });
  await host.toolNames();
  void host.request("tools/call", { name: "a__wait" }, { id: 0 });
  await until(() => a.received("tools/call").length === 1, { what: "the call at the server" });
  expect(await host.close()).toEqual({ code: 0, signal: null });
  expect(cancelledIds(a)).toEqual([a.received("tools/call")[0]!.message.id]);
  const events = a.entries();
  const cancelled = events.findIndex(({ raw }) => raw?.includes(CANCELLED));
  expect(cancelled).toBeLessThan(events.findIndex(({ event }) => event === "eof"));
});
