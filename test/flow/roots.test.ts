/** Promise: a server's roots are the host's, or those of the configuration, and a host that does not answer stops nobody. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const CHANGED = "notifications/roots/list_changed";
const ASK = { steps: [{ ask: [{ method: "roots/list" }] }, { answers: true }] };

test("a change of the host's roots reaches the servers that were told of it, and each asks anew", async () => {
  // D2, C3, R157
  await using dir = await tempDir();
  const script = {
    tools: [tool("do")],
    on: { [`method:${CHANGED}`]: [{ ask: [{ method: "roots/list", id: "again" }] }] },
  };
  const one = stdioServer(dir, "one", script);
  const two = stdioServer(dir, "two", script);
  await using host = await startHost({
    config: { mcpServers: { one: one.entry, two: two.entry } },
    capabilities: { roots: { listChanged: true } },
  });
  let roots = { roots: [{ uri: "file:///old" }] };
  host.answer("roots/list", () => roots);
  expect(await host.callText("one__do", ASK)).toContain("file:///old");
  roots = { roots: [{ uri: "file:///new" }] };
  host.notify(CHANGED, { _meta: { v: 1 } });
  for (const server of [one, two]) {
    await until(() => server.received("").some(({ raw }) => raw.includes('"again"') && raw.includes("file:///new")), {
      what: "the new roots at the server",
    });
    expect(server.received(CHANGED).map(({ message }) => message.params)).toEqual([{ _meta: { v: 1 } }]);
  }
  expect(host.notifications).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("a host that did not declare listChanged changes no roots", async () => {
  // R157, spec §1.2
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do"), tool("echo")] });
  await using host = await startHost({
    config: { mcpServers: { one: one.entry }, roots: [{ uri: "file:///static" }] },
    capabilities: { roots: {} },
  });
  host.answer("roots/list", () => ({ roots: [{ uri: "file:///host" }] }));
  host.notify(CHANGED);
  // The host's own roots count, not the static ones.
  expect(await host.callText("one__do", ASK)).toContain("file:///host");
  expect(one.received(CHANGED)).toEqual([]);
});

test("static roots stand in for a host without roots, which is not asked", async () => {
  // interface.md roots, spec §4.14
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do")] });
  const roots = [{ uri: "file:///srv/docs", name: "docs" }, { uri: "file:///srv/more" }];
  await using host = await startHost({ config: { mcpServers: { one: one.entry }, roots } });
  const [answer] = JSON.parse(await host.callText("one__do", ASK)) as string[];
  expect(JSON.parse(answer!)).toMatchObject({ result: { roots } });
  expect(one.received("initialize")[0]!.message.params!["capabilities"]).toEqual({ roots: {} });
  expect(host.requests).toEqual([]);
});

test("a host that never answers roots/list holds up neither the server for ever nor anybody else", async () => {
  // D2
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do"), tool("echo")] });
  const two = stdioServer(dir, "two", { tools: [tool("echo")] });
  const factor = 25;
  // Timers in Switchyard (not in its servers) run faster, so that "a short deadline" is one for this test as well.
  const code = `
    import timers from "node:timers";
    import { syncBuiltinESMExports } from "node:module";
    const real = timers.setTimeout;
    timers.setTimeout = globalThis.setTimeout = (done, ms = 0, ...more) => real(done, ms / ${factor}, ...more);
    syncBuiltinESMExports();`;
  await using host = await startHost({
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` },
    config: {
      mcpServers: { one: one.entry, two: two.entry },
      timeouts: { connectMs: 20_000 * factor, startupMs: 20_000 * factor },
    },
    capabilities: { roots: {} },
  });
  host.answer("roots/list", () => new Promise(() => {}));
  const asking = host.callText("one__do", ASK);
  await until(() => host.requests.length === 1, { what: "the question" });
  await Promise.all(["one__echo", "two__echo"].map((name) => host.call(name)));
  // Ten seconds of Switchyard's clock, and what a busy machine needs.
  const [answer] = JSON.parse(await asking) as string[];
  expect(JSON.parse(answer!)).toMatchObject({ error: { code: expect.any(Number), message: expect.any(String) } });
  // The host is told that nobody waits any more.
  const withdrawn = await host.notification("notifications/cancelled");
  expect(withdrawn.params["requestId"]).toBe(host.requests[0]!.id);
});
