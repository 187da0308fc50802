/** Promise: whatever a server writes to stdout besides its messages, all its messages work and none of the rest gets through. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

test("banners, blank lines, ANSI codes, stray JSON, single bytes, CRLF and odd separators do not disturb a server", async () => {
  // H12, H13, H14, R82, R84, R85
  await using dir = await tempDir();
  const words = "日本語 é e\u0301 😀👩‍👩‍👧 \u2028 \u2029 \u0085 \u000b a\nb\r\nc\td \u0000 \\n \uFEFF";
  const text = JSON.stringify(words);
  const odd = `{"content":[{"type":"text","text":${text}}],"escaped":"\\u65e5\\n\\u2028"}`;
  const on = { words: [{ result: odd }] };
  const tools = [tool("words"), tool("do")];
  const junk = [
    "Server running on stdio",
    "\u001b[32mINFO\u001b[0m \u001b[1mready\u001b[0m",
    "",
    "   ",
    '{"level":"info","msg":"stray"}',
    "[1,2,3]",
    '"string"',
    "null",
    "{",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":null,"result":{}}',
    '{"jsonrpc":"2.0","id":999999,"result":{"for":"nobody"}}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","method":7}',
  ].join("\n");
  const noisy = stdioServer(dir, "noisy", {
    tools,
    on,
    onStart: [{ stdout: `${junk}\n` }, { stdout: "no line end yet\n\n" }],
    noise: `${junk}\n`,
  });
  const bytes = stdioServer(dir, "bytes", { tools, on, chunkBytes: 1 });
  const crlf = stdioServer(dir, "crlf", { tools, on, newline: "\r\n", noise: "banner\r\n\r\n" });
  const binary = stdioServer(dir, "binary", {
    tools,
    on,
    onStart: [{ stdout: "\u0000\u0001\uFFFD\u001b]0;title\u0007\n" }],
  });
  const servers = { noisy, bytes, crlf, binary };
  const mcpServers = Object.fromEntries(Object.entries(servers).map(([key, { entry }]) => [key, entry]));
  await using host = await startHost({ config: { mcpServers } });
  expect(await host.toolNames()).toHaveLength(8);
  for (const key of Object.keys(servers)) {
    for (const reply of await Promise.all([1, 2, 3].map(() => host.request("tools/call", { name: `${key}__words` })))) {
      expect(rawAt(reply.raw, "result"), key).toBe(odd);
    }
  }
  // Nothing of it came through, the log has it with the server's name.
  expect(host.garbage).toEqual([]);
  expect(host.strays).toEqual([]);
  expect(host.notifications).toEqual([]);
  expect(host.requests).toEqual([]);
  const about = (key: string, words: string) =>
    host.logs.filter((record) => record["server"] === key && JSON.stringify(record).includes(words)).length;
  expect(about("noisy", "Server running on stdio")).toBeGreaterThan(0);
  expect(about("crlf", "banner")).toBeGreaterThan(0);
  expect(about("bytes", "Server running")).toBe(0);
  for (const server of Object.values(servers)) expect(server.starts()).toHaveLength(1);

  // H14: a flood is limited, and what comes after it still works.
  await host.call("noisy__do", { steps: [{ stdout: "flood of words\n".repeat(20_000) }] });
  await host.call("noisy__do", { steps: [{ stdout: `${"endless ".repeat(200_000)}\n` }] });
  expect(await host.callText("noisy__words")).toBe(words);
  expect(about("noisy", "flood of words")).toBeLessThan(500);
  expect(host.stderr.length).toBeLessThan(2_000_000);
});
