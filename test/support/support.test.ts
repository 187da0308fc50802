import { expect, test } from "vitest";
import { SERVER, stdioServer, tool } from "./config.ts";
import { tempDir } from "./dir.ts";
import { startPeer } from "./host.ts";
import { startHttpServer } from "./http-server.ts";
import { rawAt, rawEntries } from "./raw.mjs";
import type { Message } from "./record.ts";
import { until } from "./until.ts";

test("raw text is found without being parsed", () => {
  const text = '{ "a" : {"n": 1.0, "a\\"b":[9223372036854775808, "x]\\\\"]}, "a": {"k":1,"k":-0} }';
  expect(rawAt(text, "a")).toBe('{"k":1,"k":-0}');
  expect(rawEntries(rawAt(text, "a")!)).toEqual([
    ["k", "1"],
    ["k", "-0"],
  ]);
  const [, first] = rawEntries(text)[0]!;
  expect(rawAt(first, "n")).toBe("1.0");
  expect(rawAt(first, 'a"b', 1)).toBe('"x]\\\\"');
});

test("a scripted server does its steps and writes down what it got", async () => {
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", {
    tools: [tool("echo"), '{"name":"do","inputSchema":{"type":"object","maximum":1.0}}', tool("x")],
    pageSize: 2,
    chunkBytes: 7,
    noise: "banner\n\n",
  });
  await using host = await startPeer(server.entry.command, server.entry.args, {
    noisy: true,
    capabilities: { roots: {} },
  });
  host.answer("roots/list", () => '{"roots":[{"uri":"file:///ü"}]}');
  expect(await host.toolNames()).toEqual(["echo", "do", "x"]);
  const echo = await host.request("tools/call", '{"name":"echo","arguments":{"n":1.0}}');
  expect(rawAt(echo.raw, "result", "content", 0, "text")).toBe(JSON.stringify('{"name":"echo","arguments":{"n":1.0}}'));
  const text = await host.callText("do", {
    steps: [{ progress: 2, token: 7 }, { ask: [{ method: "roots/list" }] }, { answers: true }],
  });
  expect(text).toContain("file:///ü");
  expect(host.notified("notifications/progress").map(({ params }) => params["progress"])).toEqual([1, 2]);
  const slow = host.request(
    "tools/call",
    { name: "do", arguments: { steps: [{ untilCancelled: true }, { result: {} }] } },
    { id: 0 },
  );
  host.cancel(0);
  expect((await slow).result).toEqual({});
  expect(server.received("notifications/cancelled")[0]!.message.params).toEqual({ requestId: 0 });
  expect(host.garbage).toContain("banner");
  expect(server.starts()).toEqual([host.pid]);
  expect(await host.close()).toEqual({ code: 0, signal: null });
  await until(() => server.entries().some((entry) => entry.event === "eof"), { what: "eof" });
  expect(SERVER).toContain("server.mjs");
});

test("the HTTP server has sessions, streams, resumption and the old transport", async () => {
  const say = (method: string, params: object = {}, id: number | undefined = 1) =>
    JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, params });
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  await using server = await startHttpServer({ tools: [tool("do")] }, { resumable: { retryMs: 5 } });
  expect((await post(server.url, say("ping"))).status).toBe(400);
  const opened = await post(server.url, say("initialize", { protocolVersion: "2025-06-18" }));
  expect(((await opened.json()) as Message).result!["protocolVersion"]).toBe("2025-06-18");
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id")! };
  const cut = await post(
    server.url,
    say("tools/call", {
      name: "do",
      arguments: { steps: [{ log: { level: "info", data: 1 } }, { cut: true }, { result: {} }] },
    }),
    session,
  );
  let got = "";
  await expect(async () => {
    for await (const chunk of cut.body!) got += new TextDecoder().decode(chunk);
  }).rejects.toThrow();
  expect(got).toContain("retry: 5");
  const resumed = await fetch(server.url, { headers: { ...session, "last-event-id": got.match(/id: (.*_0)/)![1]! } });
  const text = await resumed.text();
  expect(text).toContain("notifications/message");
  expect(text).toContain('"result":{}');
  const stream = await fetch(server.url, { headers: session });
  expect(server.streams).toBe(1);
  await server.run([{ changed: "tools" }]);
  const reader = stream.body!.getReader();
  got = "";
  while (!got.includes("list_changed")) got += new TextDecoder().decode((await reader.read()).value);
  server.loseSessions();
  expect((await post(server.url, say("ping"), session)).status).toBe(404);
  expect(server.received("ping")).toHaveLength(2);

  await using old = await startHttpServer({}, { legacySse: true });
  expect((await post(old.url, say("ping"))).status).toBe(405);
  const events = (await fetch(old.url)).body!.getReader();
  got = "";
  while (!got.includes("sessionId=")) got += new TextDecoder().decode((await events.read()).value);
  const endpoint = new URL(got.match(/data: (.*)/)![1]!, old.url).href;
  expect((await post(endpoint, say("ping"))).status).toBe(202);
  while (!got.includes('"result":{}')) got += new TextDecoder().decode((await events.read()).value);
});
