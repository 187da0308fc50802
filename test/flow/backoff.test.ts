/**
 * Promise: a server in trouble is tried again ever more rarely, one that wants a login is left alone, and one that only
 * lacks what is optional is healthy. Minutes pass in seconds here: Switchyard's timers run faster.
 */
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { type HttpAnswer, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

/** Preloaded into Switchyard, not into its servers: its timers run `factor` times as fast. */
function fastTimers(factor: number): { NODE_OPTIONS: string } {
  const code = `
    import timers from "node:timers";
    import { syncBuiltinESMExports } from "node:module";
    for (const name of ["setTimeout", "setInterval"]) {
      const real = timers[name];
      timers[name] = globalThis[name] = (done, ms = 0, ...more) => real(done, ms / ${factor}, ...more);
    }
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** Limits that are meant in real time. */
const realTime = (factor: number) => ({
  connectMs: 15_000 * factor,
  startupMs: 5000 * factor,
  drainMs: 2000 * factor,
});

test("attempts follow an exponential back-off with jitter and a ceiling; a 401 is not dialled again", async () => {
  // F6, F2, F3, R86
  await using dir = await tempDir();
  const factor = 60;
  let healthy = false;
  const refuse = (): HttpAnswer | undefined =>
    healthy ? undefined : { status: 500, headers: { "content-type": "text/plain" }, body: "out of order" };
  await using refusing = await startHttpServer({ name: "refusing", tools: [tool("t")] }, { intercept: refuse });
  await using twin = await startHttpServer({}, { intercept: refuse });
  await using login = await startHttpServer({}, { token: "somebody-elses" });
  const quits = stdioServer(dir, "quits", { onStart: [{ exit: 1 }] });
  // Shakes hands and tells its tools each time, and then dies before the host needed it.
  const brief = stdioServer(dir, "brief", { tools: [tool("t")], onInitialized: [{ wait: 100 }, { exit: 1 }] });
  // The same over HTTP+SSE: the stream is cut right after the list was answered.
  await using drops = await startHttpServer(
    { tools: [tool("t")], onInitialized: [{ wait: 30 }, { cut: true }] },
    { legacySse: true },
  );
  const clock = stdioServer(dir, "clock", { tools: [tool("do")] });
  await using host = await startHost({
    env: fastTimers(factor),
    config: {
      timeouts: realTime(factor),
      mcpServers: {
        drops: httpServer(drops.url, { type: "sse" }),
        refusing: httpServer(refusing.url, { type: "http" }),
        twin: httpServer(twin.url, { type: "http" }),
        login: httpServer(login.url, { headers: { Authorization: "Bearer mine-is-old" } }),
        quits: quits.entry,
        brief: brief.entry,
        clock: clock.entry,
      },
    },
  });
  const attempts = refusing.requests;
  await until(() => attempts.length >= 12, { what: "twelve attempts", within: 15_000, every: 50 });
  const gapsMs = attempts.slice(1).map(({ at }, i) => at - attempts[i]!.at);
  const told = (server: string) =>
    host.logs
      .filter((record) => record["server"] === server && record["stage"] !== undefined)
      .map((record) => Object.entries(record).find(([key]) => /retry/i.test(key))?.[1] as number);

  const minute = attempts.filter(({ at }) => at - attempts[0]!.at < 60_000 / factor).length;
  expect(minute, "attempts in the first minute").toBeLessThanOrEqual(12);
  const announced = told("refusing").slice(0, 12);
  for (let i = 2; i < 6; i++) expect(announced[i]!, `pause ${i}`).toBeGreaterThan(announced[i - 2]! * 1.01);
  const [low, high] = [Math.min(...announced.slice(-3)), Math.max(...announced.slice(-3))];
  expect(high / low, "the last pauses: no longer growing").toBeLessThanOrEqual(2.1);
  expect(high, "the ceiling").toBeLessThanOrEqual(300_000);
  expect(low / announced[0]!).toBeGreaterThan(10);
  expect(new Set(told("twin").slice(0, 6)), "jitter").not.toEqual(new Set(announced.slice(0, 6)));
  // What was announced is what happened; only a slow machine makes it longer.
  for (const [i, gapMs] of gapsMs.slice(0, 11).entries()) {
    expect(gapMs, `gap ${i}`).toBeGreaterThan((announced[i]! / factor) * 0.95);
    expect(gapMs, `gap ${i}`).toBeLessThan(announced[i]! / factor + 1500);
  }
  for (const server of [quits, brief]) {
    const pauses = told(server.name).filter((ms) => ms > 0);
    expect.soft(server.starts().length, server.name).toBeLessThanOrEqual(16);
    // At most one new start without a pause, and the pauses grow.
    expect.soft(pauses.length, `${server.name}: pauses`).toBeGreaterThanOrEqual(server.starts().length - 2);
    expect.soft(Math.max(...pauses), `${server.name}: the longest pause`).toBeGreaterThan(4000);
  }
  // Over the network that would be a storm.
  expect.soft(drops.received("initialize").length, "handshakes with drops").toBeLessThanOrEqual(16);

  // Four minutes and more: the one that wants a login was asked once (and perhaps once more for the old transport).
  expect(login.requests.length).toBeLessThanOrEqual(2);
  const parked = host.logs.filter((record) => record["server"] === "login" && record["stage"] !== undefined);
  expect(parked).toHaveLength(1);
  expect(parked[0]!["stage"]).toBe("auth");
  expect(JSON.stringify(parked[0])).toMatch(/401.*login|login.*401/);
  expect(host.stderr).not.toContain("mine-is-old");
  expect(told("login")).toEqual([undefined]);

  // It was never given up.
  healthy = true;
  await until(async () => (await host.toolNames()).includes("refusing__t"), {
    what: "the recovered server's tool",
    within: 10_000,
    every: 50,
  });
  expect(await host.callText("refusing__t")).toBe("refusing:t");
  expect(clock.starts()).toHaveLength(1);
});

test("a GET stream that is not there and a ping that is not answered are no trouble: no storm, no restart", async () => {
  // F7, F8
  await using dir = await tempDir();
  const factor = 120;
  const html: HttpAnswer = { status: 200, headers: { "content-type": "text/html" }, body: "<html>hello</html>" };
  const empty: HttpAnswer = { status: 200, headers: { "content-type": "text/event-stream" }, body: "" };
  const gets: Record<string, HttpAnswer> = {
    none: { status: 405, headers: { allow: "POST" } },
    lost: { status: 404 },
    bad: { status: 400, body: "what?" },
    html,
  };
  const ping = { code: -32601, message: "Method not found: ping" };
  const tools = [tool("t")];
  const servers = await Promise.all(
    Object.entries(gets).map(([name, get]) => startHttpServer({ name, tools, errors: { ping } }, { get })),
  );
  // Its stream ends at once each time: it may be opened again, but ever more rarely.
  servers.push(await startHttpServer({ name: "short", tools, mute: ["ping"] }, { get: empty }));
  await using _servers = { [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((s) => s.close()))) };
  const refuses = stdioServer(dir, "refuses", { tools, errors: { ping } });
  const ignores = stdioServer(dir, "ignores", { tools, mute: ["ping"] });
  const clock = stdioServer(dir, "clock", { tools: [tool("do")] });
  const names = [...Object.keys(gets), "short"];
  await using host = await startHost({
    env: fastTimers(factor),
    config: {
      timeouts: realTime(factor),
      mcpServers: {
        ...Object.fromEntries(names.map((name, i) => [name, httpServer(servers[i]!.url)])),
        refuses: refuses.entry,
        ignores: ignores.entry,
        clock: clock.entry,
      },
    },
  });
  expect(await host.toolNames()).toHaveLength(names.length + 3);
  // Four minutes, by its clock.
  await host.call("clock__do", { steps: [{ wait: 2000 }] });
  for (const [i, name] of names.entries()) {
    const count = servers[i]!.requests.filter(({ method }) => method === "GET").length;
    expect(count, `GETs at ${name}`).toBeLessThanOrEqual(name === "short" ? 20 : 2);
  }
  for (const name of [...names, "refuses", "ignores"]) expect(await host.callText(`${name}__t`)).toBe(`${name}:t`);
  for (const server of servers) expect(server.received("initialize")).toHaveLength(1);
  for (const server of [refuses, ignores]) expect(server.starts()).toHaveLength(1);
  expect(host.notified("notifications/tools/list_changed")).toEqual([]);
  // Nothing of it is worth an error, or more than a word.
  const loud = host.logs.filter((record) => names.includes(`${record["server"]}`) && record["level"] === "error");
  expect(loud).toEqual([]);
});
