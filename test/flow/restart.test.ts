/** Promise: a server that ends is started again, as one process and not more, and works on as before. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { alive, childrenOf, killed } from "../support/processes.ts";
import { until } from "../support/until.ts";

const CHANGED = "notifications/tools/list_changed";

test("ping, exit, ping, ping: all but the exit succeed, and exactly one process is alive, also after ten exits", async () => {
  // F10, F14, E2, R86
  await using dir = await tempDir();
  const flaky = stdioServer(dir, "flaky", { tools: [tool("do"), tool("t")] });
  const ok = stdioServer(dir, "ok", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { flaky: flaky.entry, ok: ok.entry } } });
  const names = await host.toolNames();
  const ping = async () => Number(await host.callText("flaky__do", { steps: [{ pid: true }] }));
  const exit = () => host.request("tools/call", { name: "flaky__do", arguments: { steps: [{ exit: 0 }] } });
  await host.call("ok__do", { steps: [{ counter: "inc" }] });

  const first = await ping();
  expect((await exit()).error?.code).toBe(-32603);
  const second = await ping();
  expect(await ping()).toBe(second);
  expect(second).not.toBe(first);
  expect(flaky.starts()).toEqual([first, second]);
  expect(alive(flaky.starts())).toEqual([second]);

  for (let i = 0; i < 10; i++) {
    expect((await exit()).error?.code).toBe(-32603);
    await ping();
  }
  const last = await ping();
  expect(flaky.starts()).toHaveLength(12);
  await until(() => alive(flaky.starts()).length === 1, { what: "one process" });
  expect(alive(flaky.starts())).toEqual([last]);
  // None is left as a zombie either; the other server was never touched and has its state.
  expect(childrenOf(host.pid).map(({ pid }) => pid)).toEqual(expect.arrayContaining([last, ...ok.starts()]));
  expect(childrenOf(host.pid)).toHaveLength(2);
  expect(await host.callText("ok__do", { steps: [{ counter: "get" }] })).toBe("1");
  // The host sees nothing of it: the list is the same, and was all the time.
  expect(await host.toolNames()).toEqual(names);
  expect(host.notified(CHANGED)).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("requests that meet a server between two lives wait for the next one, and none is lost or run twice", async () => {
  // F10, F14
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("do"), tool("t")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  await host.toolNames();
  await host.callText("s__t");
  const lost = await host.request("tools/call", { name: "s__do", arguments: { steps: [{ exit: 0 }] } });
  expect(lost.error?.message).toMatch(/unknown/i);
  const counts = await Promise.all(
    Array.from({ length: 20 }, () => host.callText("s__do", { steps: [{ counter: "inc" }] })),
  );
  expect(counts.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  expect(server.starts()).toHaveLength(2);
  expect(server.received("tools/call")).toHaveLength(22);
});

test("a server that comes back with other tools is announced once, and one that hangs on is ended before it is doubled", async () => {
  // F10, F14, B7
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", {
    tools: [tool("do"), tool("old")],
    ignoreEof: true,
    ignoreSigterm: true,
  });
  using _left = killed(() => server.starts());
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  expect(await host.toolNames()).toEqual(["s__do", "s__old"]);
  server.rewrite({ tools: [tool("do"), tool("new")] });
  // It has closed its stdout and lives on, deaf to everything.
  const lost = await host.request("tools/call", { name: "s__do", arguments: { steps: [{ closeStdout: true }] } });
  expect(lost.error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "s" } });
  await host.notification(CHANGED);
  expect(await host.toolNames()).toEqual(["s__do", "s__new"]);
  const pid = Number(await host.callText("s__do", { steps: [{ pid: true }] }));
  await until(() => alive(server.starts()).length === 1, { what: "the end of the old process" });
  expect(alive(server.starts())).toEqual([pid]);
  expect(await host.callText("s__new")).toBe("s:new");
  expect(host.notified(CHANGED)).toHaveLength(1);
});
