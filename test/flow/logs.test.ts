/** Promise: a host gets the log messages of the level it asked for, and sees which server each is from. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";

const MESSAGE = "notifications/message";
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LOGGING = { capabilities: { tools: {}, logging: {} } };

test("messages are filtered by the host's level, name their server, and come in order before the answer", async () => {
  // C10, R166, R168, R169, spec §4.9
  await using dir = await tempDir();
  const script = { tools: [tool("do"), tool("echo")] };
  const a = stdioServer(dir, "a", { ...script, ...LOGGING });
  const plain = stdioServer(dir, "plain", script);
  const sulky = stdioServer(dir, "sulky", {
    ...script,
    ...LOGGING,
    errors: { "logging/setLevel": { code: -32603, message: "not today" } },
  });
  await using host = await startHost({
    config: { mcpServers: { a: a.entry, plain: plain.entry, sulky: sulky.entry } },
  });
  expect(host.initializeResult["capabilities"]).toMatchObject({ logging: {} });
  const all = LEVELS.map((level) => ({ level, data: level }));
  const levelsOf = (from: number) =>
    host.notified(MESSAGE).flatMap(({ params, index }) => (index >= from ? [params["level"]] : []));

  // Never set: the server decides. Nobody has been asked for a level.
  let from = host.raw.length;
  const reply = await host.request("tools/call", { name: "a__do", arguments: { steps: [{ log: all }] } });
  expect(levelsOf(from)).toEqual(LEVELS);
  expect(host.notified(MESSAGE).at(-1)!.index).toBeLessThan(host.raw.indexOf(reply.raw));
  expect(a.received("logging/setLevel")).toEqual([]);

  // One that has no logging is not asked, one that refuses does not spoil it.
  expect((await host.request("logging/setLevel", { level: "warning" })).result).toEqual({});
  for (const name of ["a", "plain", "sulky"]) await host.call(`${name}__echo`);
  expect(a.received("logging/setLevel").map(({ message }) => message.params)).toEqual([{ level: "warning" }]);
  expect(sulky.received("logging/setLevel")).toHaveLength(1);
  expect(plain.received("logging/setLevel")).toEqual([]);
  // The host's level holds, whatever a server sends.
  for (const name of ["a", "plain", "sulky"]) {
    from = host.raw.length;
    await host.call(`${name}__do`, { steps: [{ log: all }] });
    expect(levelsOf(from)).toEqual(LEVELS.slice(3));
  }

  // Data of any kind and further members stay as they are; the logger says which server it is.
  const data = '{"n":1.0,"big":9223372036854775808,"logger":"x","level":"debug"}';
  from = host.raw.length;
  await host.call("a__do", {
    steps: [
      {
        raw: `{"jsonrpc":"2.0","method":"${MESSAGE}","params":{"level":"error","logger":"db\\"ü/","data":${data},"_meta":{"v":1.0}}}`,
      },
      { raw: `{"jsonrpc":"2.0","method":"${MESSAGE}","params":{"level":"error","data":null}}` },
      { raw: `{"jsonrpc":"2.0","method":"${MESSAGE}","params":{"data":[1.0],"level":"alert","logger":""}}` },
    ],
  });
  const came = host.notified(MESSAGE).filter(({ index }) => index >= from);
  expect(came.map(({ params }) => params["logger"])).toEqual(['a/db"ü/', "a", expect.stringMatching(/^a\/?$/)]);
  expect(rawAt(came[0]!.raw, "params", "data")).toBe(data);
  expect(rawAt(came[0]!.raw, "params", "_meta")).toBe('{"v":1.0}');
  expect(rawAt(came[1]!.raw, "params", "data")).toBe("null");
  expect(rawAt(came[2]!.raw, "params", "data")).toBe("[1.0]");

  // What is no level changes nothing.
  const bad = ["{}", '{"level":"loud"}', '{"level":3}', '{"level":null}', '{"level":"WARNING"}', "[]"];
  for (const params of [...bad, undefined]) {
    expect((await host.request("logging/setLevel", params)).error?.code).toBe(-32602);
  }
  await host.call("a__echo");
  expect(a.received("logging/setLevel")).toHaveLength(1);

  // It can be raised and lowered again.
  await host.request("logging/setLevel", { level: "emergency" });
  await host.request("logging/setLevel", { level: "debug" });
  from = host.raw.length;
  await host.call("plain__do", { steps: [{ log: all }] });
  expect(levelsOf(from)).toEqual(LEVELS);
  await host.call("a__echo");
  expect(a.received("logging/setLevel").map(({ message }) => message.params!["level"])).toEqual([
    "warning",
    "emergency",
    "debug",
  ]);
  expect(host.strays).toEqual([]);
});

test("a server that is ready later, or again, is told the level too", async () => {
  // C9, C10
  await using dir = await tempDir();
  const early = stdioServer(dir, "early", { tools: [tool("echo"), tool("do")], ...LOGGING });
  const late = stdioServer(dir, "late", { tools: [tool("do")], startDelayMs: 700, ...LOGGING });
  await using host = await startHost({
    config: { mcpServers: { early: early.entry, late: late.entry }, timeouts: { startupMs: 50 } },
  });
  // It takes until the early one is there for logging to be on offer; the late one is still starting then or not.
  const asked = await host.request("logging/setLevel", { level: "error" });
  expect(asked.result).toEqual({});
  const levels = (server: typeof late) =>
    server.received("logging/setLevel").map(({ message }) => message.params!["level"]);
  await until(() => levels(late).length > 0 && levels(early).length > 0, { what: "the level at both servers" });
  expect(levels(late)).toEqual(["error"]);

  // It comes back without the level of its past life.
  void host.request("tools/call", { name: "early__do", arguments: { steps: [{ exit: 1 }] } });
  await until(() => early.starts().length === 2 && levels(early).length === 2, { what: "the level after the restart" });
  expect(levels(early)).toEqual(["error", "error"]);
  const second = early.received().filter(({ pid }) => pid === early.starts()[1]);
  expect(second.map(({ message }) => message.method).indexOf("logging/setLevel")).toBeGreaterThan(
    second.map(({ message }) => message.method).indexOf("notifications/initialized"),
  );
  await host.call("early__do", {
    steps: [
      {
        log: [
          { level: "info", data: 1 },
          { level: "error", data: 2 },
        ],
      },
    ],
  });
  expect(host.notified(MESSAGE).map(({ params }) => params["data"])).toEqual([2]);
});
