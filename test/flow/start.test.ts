/** Promise: a server that cannot be reached costs the host nothing but that server, is named, and is welcome later. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { alive } from "../support/processes.ts";
import { until } from "../support/until.ts";

const CHANGED = "notifications/tools/list_changed";

/** The records that say why a server is not there. */
const failures = (host: Host, server: string) =>
  host.logs.filter(
    (record) => record["server"] === server && record["stage"] !== undefined && /warn|error/.test(`${record["level"]}`),
  );

/** When it is tried again, in ms. */
const retryOf = (record: Record<string, unknown>) =>
  Object.entries(record).find(([key]) => /retry/i.test(key))?.[1] as number | undefined;

/** The address of a port on which nobody listens any more. */
async function closedPort() {
  const server = await startHttpServer({});
  await server.close();
  return server;
}

test("mute, dying, missing and unreachable servers delay nobody, and each is named in one line with stage, reason and next try", async () => {
  // F1, F3
  await using dir = await tempDir();
  const ok = stdioServer(dir, "ok", { tools: [tool("echo"), tool("t")] });
  const mute = stdioServer(dir, "mute", { tools: [tool("m")], mute: ["initialize"] });
  const quits = stdioServer(dir, "quits", { onStart: [{ stderr: "no licence found\n" }, { exit: 3 }] });
  await using hole = await startHttpServer({}, { intercept: () => "hang" });
  const closed = await closedPort();
  await using host = await startHost({
    initialize: false,
    config: {
      // As long as it is by default; the time for one server is shorter, to see the end of it.
      timeouts: { startupMs: 1500, connectMs: 2500 },
      mcpServers: {
        mute: mute.entry,
        quits: quits.entry,
        missing: { command: "switchyard-no-such-command" },
        hole: httpServer(hole.url),
        closed: httpServer(closed.url, { type: "http" }),
        ok: ok.entry,
      },
    },
  });
  await host.request("ping");
  let started = performance.now();
  await host.initialize();
  expect(performance.now() - started, "initialize").toBeLessThan(2000);
  started = performance.now();
  expect(await host.toolNames()).toEqual(["ok__echo", "ok__t"]);
  expect(performance.now() - started, "the first list").toBeLessThan(2500);
  started = performance.now();
  expect(await host.callText("ok__t")).toBe("ok:t");
  expect(performance.now() - started, "a call").toBeLessThan(500);

  for (const [server, stage, reason] of [
    ["missing", /spawn/, /switchyard-no-such-command/],
    ["quits", /spawn|initialize/, /code 3.*no licence found/],
    ["closed", /initialize|connect/, /refused/],
    ["mute", /initialize/, /2500/],
    ["hole", /initialize|connect/, /2500/],
  ] as const) {
    const record = await until(() => failures(host, server)[0], { what: `a line about ${server}` });
    expect(record!["stage"], server).toMatch(stage);
    expect(JSON.stringify(record), server).toMatch(reason);
    expect(retryOf(record!), server).toBeGreaterThan(0);
  }
  // One a try, not one for every place that noticed.
  for (const server of ["mute", "hole"]) expect(failures(host, server), server).toHaveLength(1);
  expect(failures(host, "quits").length).toBeLessThanOrEqual(quits.starts().length);
  // The healthy one is never mentioned, and was left alone.
  expect(failures(host, "ok")).toEqual([]);
  expect(ok.starts()).toHaveLength(1);
  expect(await host.callText("ok__t")).toBe("ok:t");
  expect(host.notified(CHANGED)).toEqual([]);
});

test("a server that is healthy later appears without a restart, with one list_changed", async () => {
  // F2, B7
  await using dir = await tempDir();
  const ok = stdioServer(dir, "ok", { tools: [tool("t")] });
  const late = stdioServer(dir, "late", { onStart: [{ exit: 1 }] });
  const closed = await closedPort();
  await using host = await startHost({
    config: {
      mcpServers: { late: late.entry, web: httpServer(closed.url), ok: ok.entry },
      timeouts: { startupMs: 3000 },
    },
  });
  expect(await host.toolNames()).toEqual(["ok__t"]);
  await until(() => failures(host, "late").length > 0 && failures(host, "web").length > 0, { what: "both failures" });
  // Listed or not, what a server that is down has to offer cannot be called, and the others can.
  expect((await host.request("tools/call", { name: "late__l", arguments: {} })).error).toBeDefined();

  late.rewrite({ tools: [tool("l")] });
  await host.notification(CHANGED);
  expect(await host.toolNames()).toEqual(["late__l", "ok__t"]);
  expect(await host.callText("late__l")).toBe("late:l");

  await using web = await startHttpServer({ name: "web", tools: [tool("w")] }, { port: closed.port });
  await host.notification(CHANGED, 2);
  expect(await host.toolNames()).toEqual(["late__l", "web__w", "ok__t"]);
  expect(await host.callText("web__w")).toBe("web:w");
  expect(web.received("initialize")).toHaveLength(1);
  expect(host.notified(CHANGED)).toHaveLength(2);
  expect(ok.starts()).toHaveLength(1);
  expect(alive(late.starts())).toHaveLength(1);
});

test("a server that cannot be spawned, or closes its stdin at once, takes nobody with it", async () => {
  // F12 (EAGAIN cannot be brought about without harming the machine)
  await using dir = await tempDir();
  writeFileSync(dir.file("plain-file"), "#!/bin/sh\n", { mode: 0o644 });
  writeFileSync(dir.file("no-interpreter"), "#!/no/such/interpreter\n");
  chmodSync(dir.file("no-interpreter"), 0o755);
  mkdirSync(dir.file("folder"));
  const ok = stdioServer(dir, "ok", { tools: [tool("t")] });
  const deaf = stdioServer(dir, "deaf", { onStart: [{ closeStdin: true }] });
  const later = stdioServer(dir, "later", { tools: [tool("t")], on: { t: [{ closeStdin: true }, { silent: true }] } });
  await using host = await startHost({
    config: {
      timeouts: { startupMs: 3000, connectMs: 2000 },
      mcpServers: {
        missing: { command: dir.file("not-there") },
        denied: { command: dir.file("plain-file") },
        lost: { command: dir.file("no-interpreter") },
        folder: { command: dir.file("folder") },
        nowhere: { ...ok.entry, cwd: dir.file("no-such-folder") },
        deaf: deaf.entry,
        later: later.entry,
        ok: ok.entry,
      },
    },
  });
  expect(await host.toolNames()).toEqual(["later__t", "ok__t"]);
  for (const [server, reason] of [
    ["missing", /not found|ENOENT/],
    ["denied", /permission denied|EACCES/],
    ["lost", /interpreter|ENOENT/],
    ["folder", /not found|permission|EACCES/],
    ["nowhere", /no-such-folder|working directory/],
    ["deaf", /stdin|standard input|EPIPE|2000/],
  ] as const) {
    await until(() => failures(host, server).length > 0, { what: `a line about ${server}` });
    expect(JSON.stringify(failures(host, server)[0]), server).toMatch(reason);
  }
  // Its stdin closes under us in mid-call, and more than a pipe holds is being written to it.
  const open = host.request("tools/call", { name: "later__t", arguments: {} });
  await until(() => later.received("tools/call").length === 1, { what: "the first call" });
  const big = host.request("tools/call", { name: "later__t", arguments: { text: "x".repeat(1_000_000) } });
  for (const reply of [await open, await big]) {
    expect(reply.error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "later" } });
    expect(reply.error!.message).toContain("later");
  }
  expect(await host.callText("ok__t")).toBe("ok:t");
  expect(ok.starts()).toHaveLength(1);
  expect((await host.close()).code).toBe(0);
  expect(alive([...deaf.starts(), ...later.starts(), ...ok.starts()])).toEqual([]);
});

test("twenty first calls at once start one process and one session, and all are answered", async () => {
  // F14, E2
  await using dir = await tempDir();
  const slow = stdioServer(dir, "slow", { tools: [tool("do")], startDelayMs: 300 });
  await using web = await startHttpServer({ tools: [tool("do")], answerDelayMs: { initialize: 200 } });
  await using host = await startHost({
    initialize: false,
    config: { mcpServers: { slow: slow.entry, web: httpServer(web.url) } },
  });
  // Nothing is waited for: the calls are right behind the handshake.
  const greeting = host.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "hasty", version: "1" },
  });
  host.notify("notifications/initialized");
  const calls = Array.from({ length: 20 }, (_, i) =>
    host.callText(`${i % 2 ? "slow" : "web"}__do`, { steps: [{ counter: "inc" }] }),
  );
  expect((await greeting).error).toBeUndefined();
  const counts = (await Promise.all(calls)).map(Number);
  for (const parity of [0, 1]) {
    const own = counts.filter((_, i) => i % 2 === parity).sort((a, b) => a - b);
    expect(own).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  }
  expect(slow.starts()).toHaveLength(1);
  expect(slow.received("initialize")).toHaveLength(1);
  expect(web.received("initialize")).toHaveLength(1);
  expect(web.received("tools/call")).toHaveLength(10);
});
