/** Promise: Switchyard's clocks are those of the configuration and no others, and what they end is cancelled upstream. */
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Reply, startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const cancelledIds = (server: ReturnType<typeof stdioServer>) =>
  server.received("notifications/cancelled").map(({ message }) => message.params!["requestId"]);

/** The error of a timeout names the server and the limit. */
function expectTimeout(reply: Reply, server: string, limitMs: number): void {
  expect(reply.error?.code).toBe(-32603);
  expect(reply.error!.message).toContain(server);
  expect(reply.error!.message).toContain(String(limitMs));
  expect(reply.error!.data).toMatchObject({ source: "switchyard", server });
}

test("silence and total time are limited per server, progress renews the one and not the other, and the server is told", async () => {
  // G2, G3, G4, R134
  await using dir = await tempDir();
  // Where it is cancelled the server answers all the same: that goes nowhere.
  const mute = [{ untilCancelled: true as const }, { result: { content: [] } }];
  const script = {
    tools: [tool("do"), tool("mute"), tool("echo")],
    prompts: [{ name: "p" }],
    resources: [{ uri: "x://r", name: "r" }],
    on: { mute, "prompt:p": mute, "resource:x://r": mute },
  };
  const silent = stdioServer(dir, "quiet-one", script);
  const total = stdioServer(dir, "long-one", { ...script, resources: [], prompts: [] });
  const strict = stdioServer(dir, "strict-one", { tools: [tool("do"), tool("echo")] });
  const patient = stdioServer(dir, "patient-one", { tools: [tool("do")] });
  await using host = await startHost({
    config: {
      timeouts: { requestMs: 450 },
      mcpServers: {
        "quiet-one": silent.entry,
        "long-one": { ...total.entry, timeouts: { requestMs: 0, totalMs: 410 } },
        "strict-one": { ...strict.entry, timeouts: { requestMs: 330, resetOnProgress: false } },
        "patient-one": { ...patient.entry, timeouts: { requestMs: 20_000 } },
      },
    },
  });
  await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  await host.listAll("resources/list", "resources");
  const started = performance.now();
  const timed = async (reply: Promise<Reply>) => ({ reply: await reply, after: performance.now() - started });
  const call = (name: string, steps: object[], token?: string) =>
    timed(host.request("tools/call", { name, arguments: { steps } }, token === undefined ? {} : { token }));

  const [quiet, prompt, resource, renewed, long, strictly, patiently] = await Promise.all([
    call("quiet-one__mute", []),
    timed(host.request("prompts/get", { name: "quiet-one__p" })),
    timed(host.request("resources/read", { uri: "x://r" })),
    call("quiet-one__do", [{ progress: 10, gap: 100 }], "renew"),
    call("long-one__do", [{ progress: 30, gap: 50 }, { wait: 1 }, { result: {} }], "long"),
    call("strict-one__do", [{ progress: 10, gap: 100 }], "strict"),
    call("patient-one__do", [{ wait: 900 }]),
  ]);
  for (const { reply, after } of [quiet, prompt, resource]) {
    expectTimeout(reply, "quiet-one", 450);
    expect(after).toBeGreaterThan(440);
    expect(after).toBeLessThan(3000);
  }
  // Its progress kept it alive for longer than it may be silent.
  expect(renewed.reply.error).toBeUndefined();
  expect(renewed.after).toBeGreaterThan(850);
  expectTimeout(long.reply, "long-one", 410);
  expect(long.after).toBeGreaterThan(400);
  expectTimeout(strictly.reply, "strict-one", 330);
  // The entry's own limit counts, not the top level's.
  expect(patiently.reply.error).toBeUndefined();

  // Each server was told, with its own ids, and of those requests only.
  const idsOf = (server: typeof silent, method: string, nth = 0) => server.received(method)[nth]!.message.id;
  expect(new Set(cancelledIds(silent))).toEqual(
    new Set([idsOf(silent, "tools/call"), idsOf(silent, "prompts/get"), idsOf(silent, "resources/read")]),
  );
  expect(cancelledIds(total)).toEqual([idsOf(total, "tools/call")]);
  expect(cancelledIds(strict)).toEqual([idsOf(strict, "tools/call")]);
  expect(cancelledIds(patient)).toEqual([]);

  // Late answers and late progress are swallowed, and the servers go on working.
  for (const name of ["quiet-one", "long-one", "strict-one"]) await host.call(`${name}__echo`);
  expect(host.strays).toEqual([]);
  const end = host.raw.indexOf(long.reply.raw);
  expect(host.notifications.filter(({ params, index }) => params["progressToken"] === "long" && index > end)).toEqual(
    [],
  );
});

/**
 * Preloaded into Switchyard (and not into its servers): its timers run `factor` times as fast, so that a limit of minutes
 * that nobody configured shows itself within a second.
 */
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

test("without a configured limit a call may take as long as it likes, and a quiet stream stays open", async () => {
  // G1, G3, G5: six minutes and more, by Switchyard's clock
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("do")] });
  await using json = await startHttpServer({ tools: [tool("do")] }, { answer: "json" });
  await using sse = await startHttpServer(
    { tools: [tool("do")], capabilities: { tools: {}, logging: {} } },
    { answer: "sse" },
  );
  const factor = 360;
  await using host = await startHost({
    env: fastTimers(factor),
    config: {
      timeouts: { connectMs: 20_000 * factor, startupMs: 20_000 * factor, drainMs: 2000 * factor },
      mcpServers: { a: a.entry, json: httpServer(json.url), sse: httpServer(sse.url) },
    },
  });
  expect(await host.toolNames()).toHaveLength(3);
  await until(() => sse.streams === 1, { what: "the GET stream" });
  const slow = { steps: [{ wait: 1100 }] };
  const replies = await Promise.all(
    ["a", "json", "sse"].map((name) => host.request("tools/call", { name: `${name}__do`, arguments: slow })),
  );
  for (const reply of replies) expect(reply.error).toBeUndefined();
  await sse.run([{ log: { level: "info", data: "after a long silence" } }]);
  expect((await host.notification("notifications/message")).params["data"]).toBe("after a long silence");
  expect(host.strays).toEqual([]);
});
