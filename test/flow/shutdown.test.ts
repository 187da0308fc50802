/** Promise: whatever ends Switchyard, it leaves by itself, in order, and leaves nothing behind. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { configFile, httpServer, type StdioServer, stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { type Host, startHost, startPeer } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { alive, childrenOf, cpuSeconds, gone, killed } from "../support/processes.ts";
import { until } from "../support/until.ts";

const BIN = fileURLToPath(new URL("../../bin/switchyard.js", import.meta.url));

const event = (server: StdioServer, name: string) => server.entries().filter((entry) => entry.event === name);
const pidsOf = (server: StdioServer) => [...server.starts(), ...event(server, "grandchild").map(({ child }) => child!)];

/** Behind a launcher, deaf to the end of its input and to SIGTERM, and with a child of its own that is so too. */
function stubborn(dir: TempDir, name: string) {
  const server = stdioServer(dir, name, {
    tools: [tool("do")],
    ignoreEof: true,
    ignoreSigterm: true,
    onStart: [{ grandchild: true }],
  });
  const { command, args } = server.entry;
  // The shell stays: it has something to do afterwards.
  const entry = { command: "sh", args: ["-c", '"$0" "$@"; true', command, ...args] };
  return { ...server, entry, ...killed(() => pidsOf(server)) };
}

test("EOF, SIGTERM, SIGINT, SIGHUP, a closed stdout and a killed host all end it and everything below it within ten seconds", async () => {
  // F15, F16, R83
  await using dir = await tempDir();
  const endings: Record<string, (host: Host) => void> = {
    eof: (host) => host.child.stdin!.end(),
    SIGTERM: (host) => process.kill(host.pid, "SIGTERM"),
    SIGINT: (host) => process.kill(host.pid, "SIGINT"),
    SIGHUP: (host) => process.kill(host.pid, "SIGHUP"),
    // The host does not read any more; the answer to the ping has nowhere to go.
    stdout: (host) => {
      host.child.stdout!.destroy();
      host.notify("notifications/cancelled", { requestId: "nothing" });
      void host.request("ping");
    },
  };
  // All at once: most of the time is waiting for servers that do not want to go.
  await Promise.all(
    Object.entries(endings).map(async ([name, end]) => {
      using launcher = stubborn(dir, `launcher-${name}`);
      const polite = stdioServer(dir, `polite-${name}`, { tools: [tool("t")] });
      await using host = await startHost({
        config: { mcpServers: { launcher: launcher.entry, polite: polite.entry } },
      });
      expect(await host.toolNames()).toEqual(["launcher__do", "polite__t"]);
      const pids = [...pidsOf(launcher), ...pidsOf(polite), ...childrenOf(host.pid).map(({ pid }) => pid)];
      expect(alive(pids), name).toHaveLength(5);
      const started = performance.now();
      end(host);
      await until(() => host.exited, { what: `the exit after ${name}` });
      expect(performance.now() - started, name).toBeLessThan(10_000);
      await gone(pids, 2000);
      const { code, signal } = await host.exit;
      expect(signal, name).toBeNull();
      expect(code, name).toBe(0);
      expect(host.strays, name).toEqual([]);

      // In order, and with time: the end of input, then SIGTERM, then the end.
      const [eof] = event(launcher, "eof");
      const [term] = event(launcher, "SIGTERM");
      expect(term!.at - eof!.at, name).toBeGreaterThan(300);
      expect(event(polite, "eof"), name).toHaveLength(1);
      expect(event(polite, "SIGTERM"), name).toEqual([]);
    }),
  );
});

test("a host that is SIGKILLed, closes all pipes at once or stops reading, with answers pending, leaves no process and no load", async () => {
  // F13, F16
  await using dir = await tempDir();
  const start = async (name: string) => {
    const server = stdioServer(dir, name, { tools: [tool("do")] });
    const deaf = stubborn(dir, `${name}-deaf`);
    return {
      server,
      deaf,
      config: { timeouts: { drainMs: 1000 }, mcpServers: { server: server.entry, deaf: deaf.entry } },
    };
  };
  const ask = async (host: Host, server: StdioServer) => {
    const call = (steps: object[]) => void host.request("tools/call", { name: "server__do", arguments: { steps } });
    for (let i = 0; i < 5; i++) call([{ wait: 100 }, { fill: 2_000_000 }]);
    for (let i = 0; i < 5; i++) call([{ log: { level: "error", data: "x" } }, { silent: true }]);
    await until(() => server.received("tools/call").length === 10, { what: "all calls at the server" });
  };
  /** Watches the orphan until it is gone. */
  const lonely = async (pid: number, pids: number[]) => {
    const before = cpuSeconds(pid) ?? 0;
    let used = before;
    await until(
      () => {
        used = cpuSeconds(pid) ?? used;
        return alive([pid]).length === 0;
      },
      { what: "the end of Switchyard", within: 10_000, every: 100 },
    );
    await gone(pids, 2000);
    expect(used - before, "seconds of CPU on its own").toBeLessThanOrEqual(2);
  };

  const pipes = async () => {
    const { server, deaf, config } = await start("pipes");
    using _deaf = deaf;
    await using host = await startHost({ config });
    await host.toolNames();
    await ask(host, server);
    for (const stream of [host.child.stdin!, host.child.stdout!, host.child.stderr!]) stream.destroy();
    await lonely(host.pid, [...pidsOf(server), ...pidsOf(deaf)]);
    expect((await host.exit).signal).toBeNull();
  };

  // A host with pipes of its own to Switchyard, which go when it is killed.
  const relay = `
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, process.argv.slice(1), { stdio: "pipe" });
    process.stdin.pipe(child.stdin);
    child.stdout.pipe(process.stdout);
    process.stderr.write("PID " + child.pid + "\\n");`;
  const shot = async () => {
    const { server, deaf, config } = await start("killed");
    using _deaf = deaf;
    const args = ["-e", relay, BIN, "serve", "--config", configFile(dir, config, "killed.json")];
    await using host = await startPeer(process.execPath, args, { env: { HOME: dir.path } });
    await host.toolNames();
    await ask(host, server);
    const pid = Number(/PID (\d+)/.exec(host.stderr)![1]);
    process.kill(host.pid, "SIGKILL");
    await lonely(pid, [...pidsOf(server), ...pidsOf(deaf)]);
  };

  // One that lives on with the pipes open, but reads no more: it has said that it is done, and waits for our end.
  const unread = async () => {
    const { server, deaf, config } = await start("unread");
    using _deaf = deaf;
    await using host = await startHost({ config });
    await host.toolNames();
    host.pause();
    for (let i = 0; i < 10; i++) {
      void host.request("tools/call", { name: "server__do", arguments: { steps: [{ fill: 3_000_000 }] } });
    }
    await until(() => server.received("tools/call").length >= 3, { what: "calls at the server" });
    host.child.stdin!.end();
    await lonely(host.pid, [...pidsOf(server), ...pidsOf(deaf)]);
  };
  const results = await Promise.allSettled([pipes(), shot(), unread()]);
  expect(results.map((result) => (result.status === "rejected" ? String(result.reason) : "gone"))).toEqual(
    results.map(() => "gone"),
  );
});

test("requests in flight may finish for drainMs, what comes later is not begun, what takes longer is cut, and a host that insists is heeded", async () => {
  // spec R83, F15, F16, interface timeouts.drainMs
  await using dir = await tempDir();
  const start = async (name: string, drainMs: number) => {
    const server = stdioServer(dir, name, { tools: [tool("do"), tool("late")] });
    const host = await startHost({ config: { timeouts: { drainMs }, mcpServers: { s: server.entry } } });
    await host.toolNames();
    const call = (steps: object[]) => host.request("tools/call", { name: "s__do", arguments: { steps } });
    return { server, host, call };
  };
  const arrived = (server: StdioServer, count: number) =>
    until(() => server.received("tools/call").length === count, { what: "the call at the server" });

  const eof = async () => {
    const { server, host, call } = await start("eof", 5000);
    await using _host = host;
    // The last one is only just written when the input ends.
    const replies = [call([{ wait: 800 }]), call([{ fill: 3_000_000 }]), call([{ wait: 50 }])];
    host.child.stdin!.end();
    for (const reply of await Promise.all(replies)) expect(reply.error).toBeUndefined();
    expect(await host.exit).toEqual({ code: 0, signal: null });
    expect(event(server, "eof")).toHaveLength(1);
    expect(event(server, "SIGTERM")).toEqual([]);
    expect(event(server, "eof")[0]!.at).toBeGreaterThanOrEqual(server.received("tools/call").at(-1)!.at);
  };

  const signal = async () => {
    const { server, host, call } = await start("signal", 5000);
    await using _host = host;
    const slow = call([{ wait: 1200 }]);
    await arrived(server, 1);
    const records = host.logs.length;
    process.kill(host.pid, "SIGTERM");
    await until(() => host.logs.length > records, { what: "a word about the end" });
    const late = host.request("tools/call", { name: "s__late", arguments: {} });
    expect((await slow).error).toBeUndefined();
    expect(await host.exit).toEqual({ code: 0, signal: null });
    const refused = await late.catch(() => undefined);
    if (refused) expect(refused.error).toMatchObject({ data: { source: "switchyard" } });
    expect(server.received("tools/call")).toHaveLength(1);
  };

  const tooLong = async () => {
    const { server, host, call } = await start("tooLong", 300);
    await using _host = host;
    const never = call([{ silent: true }]);
    await arrived(server, 1);
    const started = performance.now();
    host.child.stdin!.end();
    expect(await host.exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - started).toBeGreaterThan(290);
    expect(performance.now() - started).toBeLessThan(4000);
    // An answer, if it gets one, is an honest one.
    const reply = await never.catch(() => undefined);
    if (reply) expect(reply.error).toMatchObject({ data: { source: "switchyard" } });
    expect(alive(server.starts())).toEqual([]);
  };
  // The SDK's client gives 2 s after the end of input, sends SIGTERM, and kills 2 s later: a host that insists is heeded
  // at once, or what is below Switchyard survives it.
  const impatient = async () => {
    using server = stubborn(dir, "impatient");
    await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
    await host.toolNames();
    void host.request("tools/call", { name: "s__do", arguments: { steps: [{ silent: true }] } });
    await arrived(server, 1);
    const records = host.logs.length;
    host.child.stdin!.end();
    await until(() => host.logs.length > records, { what: "a word about the end" });
    const insisted = performance.now();
    process.kill(host.pid, "SIGTERM");
    await until(() => host.exited, { what: "the exit" });
    expect(performance.now() - insisted, "ms from SIGTERM to the exit").toBeLessThan(2000);
    await gone(pidsOf(server), 1000);
  };
  const results = await Promise.allSettled([eof(), signal(), tooLong(), impatient()]);
  expect(results.map((result) => (result.status === "rejected" ? String(result.reason) : "as promised"))).toEqual(
    results.map(() => "as promised"),
  );
});

test("a server that needs the end of its input to clean up gets it first, and time", async () => {
  // F17, R83
  await using dir = await tempDir();
  const far = stdioServer(dir, "far", { tools: [tool("t")] });
  const { command, args } = far.entry;
  // Like `docker run -i`: the far end is stopped by the near one, after the end of input, and that takes a moment.
  const script = `"$0" "$@"; sleep 0.6; echo clean > ${dir.file("far-end")}`;
  const entry = { command: "sh", args: ["-c", script, command, ...args] };
  await using host = await startHost({ config: { mcpServers: { far: entry } } });
  expect(await host.toolNames()).toEqual(["far__t"]);
  expect(await host.close()).toEqual({ code: 0, signal: null });
  expect(readFileSync(dir.file("far-end"), "utf8")).toBe("clean\n");
  expect(event(far, "SIGTERM")).toEqual([]);
});

test("HTTP sessions are ended with DELETE, and no refusal or silence of a server holds up the end", async () => {
  // R74, spec §1.17
  await using plain = await startHttpServer({ tools: [tool("t")] });
  const on = (answer: "hang" | { status: number }) => ({
    intercept: ({ method }: { method: string }) => (method === "DELETE" ? answer : undefined),
  });
  await using unable = await startHttpServer({ tools: [tool("t")] }, on({ status: 405 }));
  await using mute = await startHttpServer({ tools: [tool("t")] }, on("hang"));
  await using stateless = await startHttpServer({ tools: [tool("t")] }, { sessions: false });
  await using old = await startHttpServer({ tools: [tool("t")] }, { legacySse: true });
  const servers = { plain, unable, mute, stateless, old };
  const entries = Object.entries(servers).map(([name, { url }]) => [name, httpServer(url)] as const);
  await using host = await startHost({ config: { mcpServers: Object.fromEntries(entries) } });
  expect(await host.toolNames()).toHaveLength(5);
  const [session] = plain.sessions;
  const [hanging] = mute.sessions;
  expect(await host.close(10_000)).toEqual({ code: 0, signal: null });
  const deletes = (server: typeof plain) => server.requests.filter(({ method }) => method === "DELETE");
  expect(deletes(plain).map(({ headers }) => headers["mcp-session-id"])).toEqual([session]);
  expect(deletes(mute).map(({ headers }) => headers["mcp-session-id"])).toEqual([hanging]);
  expect(deletes(unable)).toHaveLength(1);
  expect(deletes(stateless)).toEqual([]);
  expect(plain.sessions).toEqual([]);
  await until(() => old.streams === 0, { what: "the end of the SSE stream" });
});

test("an input that ends at once, with servers in every stage of starting, is no reason to stay", async () => {
  // F16, F11
  await using dir = await tempDir();
  const slow = stdioServer(dir, "slow", { tools: [tool("t")], startDelayMs: 20_000 });
  const mute = stdioServer(dir, "mute", { mute: ["initialize"] });
  const quits = stdioServer(dir, "quits", { onStart: [{ exit: 1 }] });
  await using hole = await startHttpServer({}, { intercept: () => "hang" });
  const config = {
    timeouts: { drainMs: 500 },
    mcpServers: {
      slow: slow.entry,
      mute: mute.entry,
      quits: quits.entry,
      missing: { command: "switchyard-no-such-command" },
      hole: httpServer(hole.url),
      oldHole: httpServer(hole.url, { type: "sse" }),
    },
  };
  const early = async () => {
    await using host = await startHost({ config, initialize: false });
    expect(await host.close(10_000)).toEqual({ code: 0, signal: null });
  };
  const later = async () => {
    await using host = await startHost({ config, initialize: false });
    void host.request("initialize", { protocolVersion: "2025-11-25", capabilities: {} });
    await until(() => mute.received("initialize").length === 1 && hole.received("initialize").length > 0, {
      what: "handshakes without an answer",
    });
    expect(await host.close(10_000)).toEqual({ code: 0, signal: null });
  };
  await Promise.all([early(), later()]);
  expect(alive([slow, mute, quits].flatMap((server) => server.starts()))).toEqual([]);
});
