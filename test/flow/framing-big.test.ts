/** Promise: big messages pass unchanged in both directions; a slow reader costs bounded memory and delays nobody else. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

const MIB = 1024 * 1024;
const rss = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;

test("16 MiB pass unchanged to the server and to the host", async () => {
  // H16, issue 2 "Frames"
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", {
    tools: [tool("digest"), tool("fill")],
    on: { digest: [{ digest: true }], fill: [{ fill: 16 * MIB, char: "é" }] },
  });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  await host.toolNames();
  const blob = "0123456789abcdeé".repeat(MIB);
  const upward = await host.request("tools/call", `{"name":"s__digest","arguments":{"blob":"${blob}","n":1.0}}`, {
    within: 30_000,
  });
  const params = `{"name":"digest","arguments":{"blob":"${blob}","n":1.0}}`;
  const expected = `${params.length} ${createHash("sha256").update(params).digest("hex")}`;
  expect(upward.result).toEqual({ content: [{ type: "text", text: expected }] });
  const downward = await host.request("tools/call", { name: "s__fill" }, { within: 30_000 });
  const text = (downward.result!["content"] as { text: string }[])[0]!.text;
  expect(text.length).toBe(16 * MIB);
  expect(text === "é".repeat(16 * MIB)).toBe(true);
});

test.skipIf(process.platform !== "linux")(
  "a host that stops reading gets everything later, and memory stays bounded meanwhile",
  async () => {
    // H16
    await using dir = await tempDir();
    const image = `{"content":[{"type":"image","mimeType":"image/png","data":"${"iVBORw0KGgo".repeat(6 * 95_325)}"}]}`;
    const server = stdioServer(dir, "s", { tools: [tool("image")], on: { image: [{ result: image }] } });
    await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
    await host.call("s__image");
    const before = rss(host.pid);
    host.pause();
    const calls = Array.from({ length: 20 }, () =>
      host.request("tools/call", { name: "s__image" }, { within: 30_000 }),
    );
    // 120 MiB are on their way. Looks until the memory has stopped growing.
    let high = before;
    for (let quiet = 0; quiet < 10; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const now = rss(host.pid);
      quiet = now > high + MIB ? 0 : quiet + 1;
      high = Math.max(high, now);
    }
    host.resume();
    for (const reply of await Promise.all(calls)) expect(reply.raw.endsWith(`"result":${image}}`)).toBe(true);
    expect((high - before) / MIB, "MiB more while nobody reads").toBeLessThan(80);
  },
);

test("a server that does not read delays no other server", async () => {
  // G4, issue 2 "Back-pressure"
  await using dir = await tempDir();
  const busy = stdioServer(dir, "busy", { tools: [tool("do")] });
  const fine = stdioServer(dir, "fine", { tools: [tool("t")] });
  await using host = await startHost({ config: { mcpServers: { busy: busy.entry, fine: fine.entry } } });
  await host.toolNames();
  const blocked = host.request("tools/call", { name: "busy__do", arguments: { steps: [{ block: 3000 }] } });
  const blob = "x".repeat(5 * MIB);
  const big = Array.from({ length: 3 }, () =>
    host.request("tools/call", { name: "busy__do", arguments: { blob, steps: [] } }),
  );
  for (let i = 0; i < 20; i++) {
    const started = performance.now();
    expect(await host.callText("fine__t")).toBe("fine:t");
    expect(performance.now() - started).toBeLessThan(1000);
  }
  expect(busy.received("tools/call")).toHaveLength(1);
  expect((await blocked).error).toBeUndefined();
  for (const reply of await Promise.all(big)) expect(reply.error).toBeUndefined();
});

test("above a configured limit one request fails with a clear error, in both directions, and the rest goes on", async () => {
  // H16, issue 2 "a configurable limit fails that one request alone"
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("fill"), tool("t")], on: { fill: [{ fill: 3 * MIB }] } });
  await using host = await startHost({ config: { maxMessageBytes: 2 * MIB, mcpServers: { s: server.entry } } });
  const others = Array.from({ length: 5 }, () => host.callText("s__t"));
  const down = await host.request("tools/call", { name: "s__fill" });
  expect(down.error?.code).toBeLessThan(0);
  expect(down.error?.message).toMatch(/large|limit|bytes/i);
  expect(down.error?.data).toMatchObject({ source: "switchyard", server: "s" });
  const up = await host.request("tools/call", `{"name":"s__t","arguments":{"blob":"${"x".repeat(3 * MIB)}"}}`);
  expect(up.error?.message).toMatch(/large|limit|bytes/i);
  expect(await Promise.all(others)).toEqual(Array(5).fill("s:t"));
  expect(await host.callText("s__t")).toBe("s:t");
  expect(server.received("tools/call")).toHaveLength(7);
  expect(server.starts()).toHaveLength(1);
});
