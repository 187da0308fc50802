/** Promise: a list has everything of every server, once, in a fixed order; no bad server or definition takes anything away. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

test("all pages of all servers arrive, and no bad list, cursor or definition takes the others along", async () => {
  await using dir = await tempDir();
  const paged = stdioServer(dir, "paged", {
    tools: range(101).map((i) => tool(`t${i}`)),
    prompts: range(101).map((i) => ({ name: `p${i}` })),
    resources: range(101).map((i) => ({ uri: `r://${i}`, name: `r${i}` })),
    templates: range(101).map((i) => ({ uriTemplate: `x${i}://{id}`, name: `x${i}` })),
    pageSize: 50,
  });
  const cursors = ["", "c%2F1==", 'ü "\\ 🦊\u2028', "0"];
  const odd = stdioServer(dir, "odd", {
    pages: {
      tools: [undefined, ...cursors].map((cursor, i) => ({
        items: [tool(`o${i}`)],
        ...(cursor === undefined ? {} : { cursor }),
        ...(cursors[i] === undefined ? {} : { next: cursors[i] }),
      })),
    },
  });
  const stuck = stdioServer(dir, "stuck", {
    pages: {
      tools: [
        { items: [tool("s1")], next: "again" },
        { items: [tool("s2")], cursor: "again", next: "again" },
      ],
    },
  });
  const circle = stdioServer(dir, "circle", {
    pages: {
      tools: [
        { items: [tool("c1")], next: "a" },
        { items: [tool("c2")], cursor: "a", next: "b" },
        { items: [tool("c3")], cursor: "b", next: "a" },
      ],
    },
  });
  const bad = stdioServer(dir, "bad", {
    tools: [
      tool("good1"),
      '{"name":"odd1","inputSchema":{"type":"string"}}',
      '{"name":"odd2"}',
      '{"name":"odd3","inputSchema":{"type":"int"}}',
      "null",
      "42",
      '"text"',
      "[]",
      '{"inputSchema":{"type":"object"}}',
      '{"name":5,"inputSchema":{"type":"object"}}',
      tool("good1", { description: "a second of this name" }),
      tool("good2"),
    ],
    resources: ["{}", '{"uri":7,"name":"x"}', { uri: "bad://fine", name: "fine" }],
    prompts: ["{}", { name: "fine" }],
  });
  const lying = stdioServer(dir, "lying", {
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    tools: [tool("l")],
  });
  const failing = stdioServer(dir, "failing", {
    tools: [tool("f")],
    errors: { "tools/list": { code: -32603, message: "database is locked" } },
  });
  const shapeless = stdioServer(dir, "shapeless", {
    capabilities: { tools: {} },
    on: { "method:tools/list": [{ result: '{"tools":{"name":"x"}}' }] },
  });
  const nothing = stdioServer(dir, "nothing");
  const last = stdioServer(dir, "last", { tools: [tool("z")] });
  const servers = { paged, odd, stuck, circle, bad, lying, failing, shapeless, nothing, last };
  const config = { mcpServers: Object.fromEntries(Object.entries(servers).map(([key, { entry }]) => [key, entry])) };
  await using host = await startHost({ config });

  // B2, A11, R89: everything is there, in the order of the file and of the servers.
  const names = await host.toolNames();
  const of = (key: string) =>
    names.filter((name) => name.startsWith(`${key}__`)).map((name) => name.slice(key.length + 2));
  expect(of("paged")).toEqual(range(101).map((i) => `t${i}`));
  expect(await host.callText("paged__t100")).toBe("paged:t100");
  const prompts = (await host.listAll("prompts/list", "prompts")).map(({ name }) => name);
  expect(prompts).toEqual([...range(101).map((i) => `paged__p${i}`), "bad__fine"]);
  const resources = (await host.listAll("resources/list", "resources")).map(({ uri }) => uri);
  expect(resources).toEqual([...range(101).map((i) => `r://${i}`), "bad://fine"]);
  const templates = (await host.listAll("resources/templates/list", "resourceTemplates")).map(
    (item) => item["uriTemplate"],
  );
  expect(templates).toEqual(range(101).map((i) => `x${i}://{id}`));

  // B1, R94: cursors go back byte for byte, the empty one too.
  expect(of("odd")).toEqual(range(5).map((i) => `o${i}`));
  const sent = odd.received("tools/list").map(({ message }) => message.params?.["cursor"]);
  expect(sent.slice(0, 5)).toEqual([undefined, ...cursors]);

  // B3, R94: a cursor that comes again ends the walk, with a warning that names the server.
  expect(of("stuck")).toEqual(["s1", "s2"]);
  expect(of("circle")).toEqual(["c1", "c2", "c3"]);
  expect(stuck.received("tools/list").length).toBeLessThanOrEqual(4);
  expect(circle.received("tools/list").length).toBeLessThanOrEqual(6);
  const warned = (server: string) =>
    host.logs
      .filter((record) => Number(record["level"]) >= 40 || /warn|error/.test(String(record["level"])))
      .filter((record) => JSON.stringify(record).includes(server));
  for (const server of ["stuck", "circle", "bad", "failing", "shapeless"]) {
    expect(warned(server).length, `a warning that names ${server}`).toBeGreaterThan(0);
  }

  // B4: what has no name cannot be listed, all else is, a name only once.
  const listed = of("bad");
  expect(listed).toEqual(expect.arrayContaining(["good1", "good2"]));
  for (const name of listed) expect(["good1", "odd1", "odd2", "odd3", "good2"]).toContain(name);
  expect(new Set(listed).size).toBe(listed.length);
  // What is left out for its schema is named, with the reason.
  for (const odd of ["odd1", "odd2", "odd3"]) {
    const named = warned("bad").some((record) => JSON.stringify(record).includes(odd));
    expect(listed.includes(odd) || named, odd).toBe(true);
  }
  expect(await host.callText("bad__good2")).toBe("bad:good2");

  // B9, R95: -32601 to an advertised list is an empty list; a failing one is missing; all stay connected.
  expect(of("lying")).toEqual(["l"]);
  expect(await host.callText("lying__l")).toBe("lying:l");
  expect(of("failing")).toEqual([]);
  expect(of("last")).toEqual(["z"]);
  expect(of("nothing")).toEqual([]);
  // A method group that was not advertised is never asked for.
  expect(nothing.received().map(({ message }) => message.method)).not.toContain("tools/list");
  expect(last.received().map(({ message }) => message.method)).not.toContain("prompts/list");
  for (const server of Object.values(servers)) expect(server.starts()).toHaveLength(1);
});

test("a listing that fails once does not empty the list, and what changed is there after the recovery", async () => {
  // B5
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("do"), tool("old")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  expect(await host.toolNames()).toEqual(["s__do", "s__old"]);
  await host.call("s__do", {
    steps: [
      { set: { tools: [tool("do"), tool("old"), tool("new")] } },
      { fail: { "tools/list": { code: -32603, message: "warming up", times: 1 } } },
      { changed: "tools" },
    ],
  });
  await until(
    async () => {
      const names = await host.toolNames();
      expect(names.slice(0, 2)).toEqual(["s__do", "s__old"]);
      return names.includes("s__new");
    },
    { what: "the new tool", within: 20_000, every: 50 },
  );
  expect(server.received("tools/list").length).toBeGreaterThanOrEqual(3);
  await host.notification("notifications/tools/list_changed");
  expect(await host.callText("s__new")).toBe("s:new");
  expect(server.starts()).toHaveLength(1);
});

test("neither a mute nor a late server delays the others; the late one is announced once", async () => {
  // B6, B7
  await using dir = await tempDir();
  const mute = stdioServer(dir, "mute", { tools: [tool("m")], mute: ["tools/list"] });
  const deaf = stdioServer(dir, "deaf", { mute: ["initialize"] });
  const late = stdioServer(dir, "late", { tools: [tool("l")], startDelayMs: 2500 });
  const ok = ["a", "b", "c"].map((name) => stdioServer(dir, name, { tools: [tool("t")] }));
  const config = {
    timeouts: { startupMs: 700, connectMs: 8000 },
    mcpServers: {
      a: ok[0]!.entry,
      mute: mute.entry,
      late: late.entry,
      b: ok[1]!.entry,
      deaf: deaf.entry,
      c: ok[2]!.entry,
    },
  };
  const started = performance.now();
  await using host = await startHost({ config });
  expect(host.initializeResult["capabilities"]).toMatchObject({ tools: { listChanged: true } });
  expect(await host.toolNames()).toEqual(["a__t", "b__t", "c__t"]);
  expect(performance.now() - started, "start, handshake and first list").toBeLessThan(4000);
  const again = performance.now();
  await host.toolNames();
  expect(performance.now() - again, "the second list").toBeLessThan(250);
  expect(await host.callText("c__t")).toBe("c:t");
  await host.notification("notifications/tools/list_changed");
  expect(await host.toolNames()).toEqual(["a__t", "late__l", "b__t", "c__t"]);
  expect(await host.callText("late__l")).toBe("late:l");
  expect(host.notified("notifications/tools/list_changed")).toHaveLength(1);
});
