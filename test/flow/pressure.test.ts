/** Promise: who does not read delays nobody else and fills nobody's memory, and no answer is lost. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const MIB = 1024 * 1024;
const linux = process.platform === "linux";

function residentMib({ pid }: Host): number {
  const found = readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+) kB/);
  return Number(found![1]) / 1024;
}

/** Watches the proxy's memory. `settled` waits until it has not moved for three quarters of a second. */
function watchMemory(host: Host) {
  const start = residentMib(host);
  let most = start;
  let quiet = 0;
  let last = start;
  const timer = setInterval(() => {
    if (host.exited) return;
    const now = residentMib(host);
    most = Math.max(most, now);
    quiet = Math.abs(now - last) < 1 ? quiet + 1 : 0;
    last = now;
  }, 25);
  return {
    growth: () => most - start,
    settled: () => until(() => quiet >= 30, { what: "memory that does not move", within: 20_000 }),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

test.skipIf(!linux)(
  "a server that reads nothing ends its calls at their limit, while all others are answered",
  async () => {
    // G4, issue 2 "Back-pressure"
    await using dir = await tempDir();
    const deaf = stdioServer(dir, "deaf", { tools: [tool("do"), tool("digest")], on: { digest: [{ digest: true }] } });
    const fine = stdioServer(dir, "fine", {
      tools: [tool("echo"), tool("digest")],
      on: { digest: [{ digest: true }] },
    });
    await using host = await startHost({
      config: {
        mcpServers: { deaf: { ...deaf.entry, timeouts: { totalMs: 700 } }, fine: fine.entry },
      },
      logLevel: "info",
    });
    await host.toolNames();
    const big = Buffer.alloc(5 * MIB, "x");
    let nextId = 1;
    const call = (server: string) => {
      const id = nextId++;
      const head = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${server}__digest","arguments":{"big":"`;
      host.send(Buffer.concat([Buffer.from(head), big, Buffer.from('"}}}')]));
      return host.response(id, `the call of ${server}`);
    };
    await call("fine");
    using memory = watchMemory(host);

    // From here on it does nothing, and least of all read.
    const [pid] = deaf.starts();
    process.kill(pid!, "SIGSTOP");
    const started = performance.now();
    const stuck = call("deaf");
    for (let i = 0; i < 10; i++) await host.call("fine__echo", { i });
    expect((await call("fine")).error).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(3000);
    const { error } = await stuck;
    expect(performance.now() - started).toBeLessThan(3500);
    expect(error?.code).toBe(-32603);
    expect(error!.message).toContain("deaf");
    expect(error!.message).toContain("700");

    // 180 MiB more that it will not read: each ends with an error, none is kept for ever, and the others go on.
    const many = Array.from({ length: 36 }, () => call("deaf"));
    expect((await host.request("tools/call", { name: "fine__echo", arguments: {} })).error).toBeUndefined();
    for (const reply of await Promise.all(many)) expect(reply.error?.code).toBe(-32603);
    expect(memory.growth()).toBeLessThan(140);

    // It comes to its senses, and is told what was given up of that which had reached it.
    process.kill(pid!, "SIGCONT");
    await until(
      async () => (await host.request("tools/call", { name: "deaf__digest", arguments: {} })).error === undefined,
      {
        what: "the server reading again",
        within: 15_000,
      },
    );
    const cancelled = deaf.received("notifications/cancelled").map(({ message }) => message.params!["requestId"]);
    const got = deaf.entries().flatMap(({ raw, cut }) => (cut ? [Number(raw!.match(/"id":(\d+)/)![1])] : []));
    expect(cancelled).toEqual(expect.arrayContaining(got));
    expect(host.strays).toEqual([]);
  },
);

test.skipIf(!linux)("a host that does not read for a while costs little memory and loses no answer", async () => {
  // E9 on stdio, issue 2 "Back-pressure"
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", {
    tools: [tool("do"), tool("fill"), tool("echo")],
    on: { fill: [{ fill: 300_000 }] },
  });
  const b = stdioServer(dir, "b", { tools: [tool("fill"), tool("echo")], on: { fill: [{ fill: 300_000 }] } });
  await using host = await startHost({
    config: { mcpServers: { a: a.entry, b: b.entry } },
    logLevel: "info",
    within: 60_000,
  });
  await host.toolNames();
  await Promise.all(["a", "b"].map((name) => host.call(`${name}__fill`)));
  using memory = watchMemory(host);

  // 200 MB of notifications of one server, and answers of both, which nobody reads.
  host.pause();
  const flood = host.request(
    "tools/call",
    { name: "a__do", arguments: { steps: [{ progress: 2000, extra: `"message":"${"y".repeat(100_000)}"` }] } },
    { token: "flood" },
  );
  const answers = Array.from({ length: 40 }, (_, i) =>
    host.request("tools/call", { name: `${i % 2 ? "a" : "b"}__fill`, arguments: { i } }),
  );
  await until(() => a.received("tools/call").length > 1, { what: "the flood's begin" });
  await memory.settled();
  expect(memory.growth()).toBeLessThan(100);

  // It reads on: every answer is there, in front of the flood's own all that is left of it, in order.
  host.resume();
  for (const reply of await Promise.all(answers)) expect(reply.error).toBeUndefined();
  const end = await flood;
  expect(end.error).toBeUndefined();
  const progress = host.notified("notifications/progress").map(({ params }) => params["progress"] as number);
  expect(progress.length).toBeGreaterThan(0);
  expect(progress).toEqual([...progress].sort((x, y) => x - y));
  expect(host.notifications.at(-1)!.index).toBeLessThan(host.raw.indexOf(end.raw));
  await Promise.all(["a", "b"].map((name) => host.call(`${name}__echo`)));
  expect(memory.growth()).toBeLessThan(140);
  expect(host.strays).toEqual([]);
});
