/** Promise: every line the host writes gets the right answer or error, with its own id, and the connection lives on. */
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configFile, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost, startPeer } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";

test("ids of every kind come back with value and type, and one that is in use is refused", async () => {
  // H7, R1, R2, R4
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("do"), tool("echo")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  const ids = [
    0,
    1,
    -1,
    9007199254740991,
    -9007199254740991,
    "0",
    "1",
    "-1",
    "init-1",
    "",
    "é😀\u2028",
    "__proto__",
    "null",
  ];
  ids.push("550e8400-e29b-41d4-a716-446655440000", "x".repeat(5000));
  const replies = await Promise.all(
    ids.map((id) =>
      host.request("tools/call", { name: "s__do", arguments: { steps: [{ wait: 200 }, { result: { id } }] } }, { id }),
    ),
  );
  for (const [i, id] of ids.entries()) {
    expect(rawAt(replies[i]!.raw, "id"), String(id)).toBe(JSON.stringify(id));
    expect(replies[i]!.result).toEqual({ id });
  }
  // Towards the server: ids of our own, each used once.
  const sent = server
    .received()
    .map(({ raw }) => rawAt(raw, "id"))
    .filter((id) => id !== undefined);
  expect(new Set(sent).size).toBe(sent.length);

  // R4: a second request with an id in flight is refused; the first goes on. 1 and "1" are two ids.
  const count = () => server.received("tools/call").length;
  const before = count();
  const call = (id: string, steps: string) =>
    host.send(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"s__do","arguments":{"steps":${steps}}}}`,
    );
  const from = host.raw.length;
  call("1", '[{"untilCancelled":true}]');
  call('"1"', '[{"result":{"second":true}}]');
  call("1", '[{"result":{"third":true}}]');
  await until(() => host.raw.length >= from + 2, { what: "two answers" });
  await host.request("ping");
  const lines = host.raw.slice(from);
  const refused = lines.filter((line) => rawAt(line, "id") === "1");
  expect(refused).toHaveLength(1);
  expect(JSON.parse(refused[0]!).error.code).toBe(-32600);
  expect(lines.filter((line) => rawAt(line, "id") === '"1"')).toHaveLength(1);
  expect(count()).toBe(before + 2);
  host.cancel(1);
  await until(() => server.received("notifications/cancelled").length === 1, { what: "the cancellation" });
  // An id that is free again may be used.
  expect((await host.request("ping", undefined, { id: 1 })).result).toEqual({});
});

test("what is no valid request gets the right error with the right id, notifications get none, and all goes on", async () => {
  // H8, H11, R5, R6, R7, R9
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("echo")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  await host.toolNames();
  const cases: [line: string, id: string, codes: number[]][] = [
    ["{", "null", [-32700]],
    ["not json", "null", [-32700]],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"', "null", [-32700]],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}}', "null", [-32700]],
    ['{"jsonrpc":"2.0","id":1,"method":"ping",}', "null", [-32700]],
    ["{'jsonrpc':'2.0','id':1,'method':'ping'}", "null", [-32700]],
    ['{"jsonrpc":"2.0","id":01,"method":"ping"}', "null", [-32700]],
    ['{"jsonrpc":"2.0","id":1,"method":"pi\u0001ng"}', "null", [-32700]],
    ['{"jsonrpc":"2.0","id":NaN,"method":"ping"}', "null", [-32700]],
    ["null", "null", [-32600]],
    ["5", "null", [-32600]],
    ['"ping"', "null", [-32600]],
    ["true", "null", [-32600]],
    ["{}", "null", [-32600]],
    ["[]", "null", [-32600]],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "null", [-32600]],
    [
      '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo"}},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
      "null",
      [-32600],
    ],
    ['[{"jsonrpc":"2.0","method":"notifications/cancelled"}]', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"s__echo"}}', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":[1],"method":"ping"}', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', "null", [-32600]],
    ['{"jsonrpc":"2.0","id":"m1"}', '"m1"', [-32600]],
    ['{"jsonrpc":"2.0","id":"m2","method":5}', '"m2"', [-32600]],
    ['{"jsonrpc":"2.0","id":"m3","method":null}', '"m3"', [-32600]],
    ['{"jsonrpc":"1.0","id":"v1","method":"ping"}', '"v1"', [-32600]],
    ['{"id":"v2","method":"ping"}', '"v2"', [-32600]],
    ['{"jsonrpc":"2.0","id":"p1","method":"tools/call","params":5}', '"p1"', [-32602, -32600]],
    ['{"jsonrpc":"2.0","id":"p2","method":"tools/call","params":"s__echo"}', '"p2"', [-32602, -32600]],
    ['{"jsonrpc":"2.0","id":"p3","method":"tools/call","params":["s__echo"]}', '"p3"', [-32602, -32600]],
    ['{"jsonrpc":"2.0","id":"p4","method":"tools/call","params":null}', '"p4"', [-32602, -32600]],
    ['{"jsonrpc":"2.0","id":"p5","method":"tools/list","params":7}', '"p5"', [-32602, -32600]],
    [
      '{"jsonrpc":"2.0","id":"p6","method":"tools/call","params":{"name":"s__nope","_meta":5}}',
      '"p6"',
      [-32602, -32600],
    ],
  ];
  for (const [line, id, codes] of cases) {
    const from = host.raw.length;
    host.send(line);
    await until(() => host.raw.length > from, { what: `an answer to ${line}` });
    await host.request("ping");
    const got = host.raw.slice(from, -1);
    expect(got, line).toHaveLength(1);
    expect(rawAt(got[0]!, "id"), line).toBe(id);
    expect(codes, line).toContain(JSON.parse(got[0]!).error.code);
  }
  expect(server.received("tools/call")).toEqual([]);

  // R5: nothing comes back for these.
  const from = host.raw.length;
  for (const line of [
    '{"jsonrpc":"2.0","method":"notifications/whatever","params":5}',
    '{"jsonrpc":"2.0","method":"no/such/thing"}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"s__echo"}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}',
    '{"jsonrpc":"2.0","id":424242,"result":{}}',
    '{"jsonrpc":"2.0","id":"nobody","error":{"code":1,"message":"x"}}',
    "",
    "   ",
    "\r",
  ]) {
    host.send(line);
  }
  await host.request("ping");
  await host.request("tools/call", { name: "s__echo" });
  expect(host.raw.length).toBe(from + 2);
  expect(server.received("tools/call")).toHaveLength(1);
  expect(host.exited).toBe(false);
});

test("messages are lines however their bytes come: one by one, many at once, with CRLF, odd separators, great depth", async () => {
  // H12, H13, issue 2 "Frames"
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("echo")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  const line = (id: string, args: string) =>
    `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"s__echo","arguments":${args}}}`;
  const words = '{"t":"日本語 é e\u0301 😀👩‍👩‍👧 \u2028\u2029\u0085\u000b\\n\\r\\n"}'.replace("\u000b", "\\u000b");
  const reply = host.response("bytes");
  const stdin = host.child.stdin!;
  for (const byte of Buffer.from(`${line("bytes", words)}\r\n`)) {
    stdin.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reply;
  const many = Array.from({ length: 200 }, (_, i) => host.response(`m${i}`));
  stdin.write(`\n\n${Array.from({ length: 200 }, (_, i) => line(`m${i}`, words)).join("\r\n")}\r\n`);
  await Promise.all(many);
  const got = server.received("tools/call").map(({ raw }) => rawAt(raw, "params", "arguments"));
  expect(got).toHaveLength(201);
  expect(new Set(got)).toEqual(new Set([words]));

  // Depth is no reason to die: passed on as it is.
  const deep = `{"d":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const answer = host.response("deep");
  host.send(line("deep", deep));
  expect((await answer).error).toBeUndefined();
  expect(rawAt(server.received("tools/call").at(-1)!.raw, "params", "arguments")).toBe(deep);
});

test("stdout carries JSON-RPC and nothing else, at every log level, with broken entries and on errors of usage", async () => {
  // H15, R81
  await using dir = await tempDir();
  const fine = stdioServer(dir, "fine", { tools: [tool("t")], onStart: [{ stderr: "to stderr\n" }] });
  const config = {
    mcpServers: {
      fine: fine.entry,
      missing: { command: "/no/such/program" },
      broken: { command: 5, oops: true },
      unset: { command: "x", env: { A: "$" + "{SURELY_NOT_SET}" } },
      dies: { command: process.execPath, args: ["-e", "console.log('hello'); process.exit(3)"] },
    },
  };
  for (const [logLevel, format] of [
    ["trace", "pretty"],
    ["trace", "json"],
    ["error", "json"],
  ] as const) {
    await using host = await startHost({
      config,
      logLevel,
      args: ["--log-format", format],
      env: { FORCE_COLOR: "1", DEBUG: "*" },
    });
    expect(await host.callText("fine__t")).toBe("fine:t");
    await host.request("no/such");
    expect(host.garbage).toEqual([]);
    expect(await host.close()).toEqual({ code: 0, signal: null });
  }
  const bad = dir.file("bad.json");
  writeFileSync(bad, "{ not json");
  const wrongKey = configFile(dir, { mcpServers: {}, mcpSevers: {} }, "wrong-key.json");
  const bin = new URL("../../bin/switchyard.js", import.meta.url).pathname;
  for (const args of [
    ["--config", bad],
    ["--config", wrongKey],
    ["--config", dir.file("not-there.json"), "--no-such-flag"],
  ]) {
    await using host = await startPeer(process.execPath, [bin, "serve", ...args], { initialize: false });
    expect((await host.exit).code, args.join(" ")).toBe(2);
    expect(host.raw, args.join(" ")).toEqual([]);
    expect(host.stderr, args.join(" ")).not.toBe("");
  }
});
