/** Promise: a host hears that a list changed once, soon, and only if what it sees changed; what MCP does not know passes. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";

type List = "tools" | "prompts" | "resources";
const changed = (list: List) => `notifications/${list}/list_changed`;
const count = (host: Host, list: List) => host.notified(changed(list)).length;
/** What is promised is 200 ms; the rest is for a busy machine. */
const SOON_MS = 1000;

const script = {
  tools: [tool("do"), tool("old"), tool("secret")],
  prompts: [{ name: "p" }],
  resources: [{ uri: "x://r", name: "r" }],
  templates: [{ uriTemplate: "t://{id}", name: "t" }],
};

test("a burst of list changes is told a few times at most, soon, and the list that follows is fresh", async () => {
  // C1, R178, spec §3.4
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", script);
  const b = stdioServer(dir, "b", { ...script, resources: [{ uri: "y://r", name: "r" }], templates: [] });
  await using host = await startHost({
    config: { mcpServers: { a: { ...a.entry, tools: { deny: ["secret*"] } }, b: b.entry } },
  });
  expect(host.initializeResult["capabilities"]).toMatchObject({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true },
  });
  const before = await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  await host.listAll("resources/list", "resources");
  await host.listAll("resources/templates/list", "resourceTemplates");

  // Announced, but nothing changed; or changed, but not for this host.
  await host.call("a__do", {
    steps: [
      { changed: "tools", times: 20 },
      { changed: "resources", times: 3 },
    ],
  });
  await host.call("a__do", {
    steps: [{ set: { tools: [...script.tools, tool("secret2")] } }, { changed: "tools", times: 3 }],
  });

  // Of two servers at once.
  const set = (name: string) => [
    { set: { tools: [...script.tools, tool(name)] } },
    { changed: "tools", times: 20 },
    { set: { prompts: [{ name: "p" }, { name }] } },
    { changed: "prompts", times: 20 },
  ];
  await Promise.all([host.call("a__do", { steps: set("new-a") }), host.call("b__do", { steps: set("new-b") })]);
  const done = performance.now();
  const told = await host.notification(changed("tools"));
  expect(told.at - done).toBeLessThan(SOON_MS);
  expect((await host.notification(changed("prompts"))).at - done).toBeLessThan(SOON_MS);
  expect(told.params).toEqual({});
  await until(async () => (await host.toolNames()).length === before.length + 2, { what: "both new tools" });
  expect(await host.toolNames()).toEqual(expect.arrayContaining([...before, "a__new-a", "b__new-b"]));
  expect(await host.toolNames()).not.toContain("a__secret2");
  expect((await host.listAll("prompts/list", "prompts")).map(({ name }) => name)).toEqual(
    expect.arrayContaining(["a__new-a", "b__new-b"]),
  );
  expect((await host.request("tools/call", { name: "b__new-b" })).error).toBeUndefined();

  // Templates have no notification of their own.
  await host.call("a__do", { steps: [{ set: { templates: [] } }, { changed: "resources" }] });
  await host.notification(changed("resources"));
  expect(await host.listAll("resources/templates/list", "resourceTemplates")).toEqual([]);

  // A list that shrinks, and is fresh at the very moment that it is told.
  const soFar = count(host, "tools");
  await host.call("b__do", { steps: [{ set: { tools: [tool("do")] } }, { changed: "tools" }] });
  await host.notification(changed("tools"), soFar + 1);
  expect(await host.toolNames()).not.toContain("b__new-b");

  // By now all that was owed has come: the bursts were few, the idle announcements none.
  expect(soFar).toBeLessThanOrEqual(3);
  expect(count(host, "tools")).toBe(soFar + 1);
  expect(count(host, "prompts")).toBeLessThanOrEqual(3);
  expect(count(host, "resources")).toBe(1);
  expect(host.strays).toEqual([]);
});

test("a server that announced changes in vain before is still heard at once when there is one", async () => {
  // C1, R178
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", script);
  // This one announces a change whenever it is asked: that is no reason to ask it without end.
  const echo = { tools: [tool("echo")] };
  const loop = stdioServer(dir, "loop", {
    ...echo,
    on: { "method:tools/list": [{ changed: "tools" }, { result: echo }] },
  });
  await using host = await startHost({ config: { mcpServers: { a: a.entry, loop: loop.entry } } });
  const started = performance.now();
  await host.toolNames();
  for (let i = 0; i < 5; i++) {
    const asked = a.received("tools/list").length;
    await host.call("a__do", { steps: [{ changed: "tools" }] });
    await until(() => a.received("tools/list").length > asked, { what: "another look at the list" });
  }
  expect(host.notifications).toEqual([]);
  await host.call("a__do", { steps: [{ set: { tools: [...script.tools, tool("new")] } }, { changed: "tools" }] });
  const done = performance.now();
  const told = await host.notification(changed("tools"));
  expect.soft(told.at - done).toBeLessThan(SOON_MS);
  expect(await host.toolNames()).toContain("a__new");
  await host.call("loop__echo");
  expect(loop.received("tools/list").length).toBeLessThan(10 + (performance.now() - started) / 100);
});

test("notifications that MCP does not know pass in both directions as they are, and broken ones harm nobody", async () => {
  // C3, issue 2 "vendor notifications and _meta pass"
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", script);
  const b = stdioServer(dir, "b", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { a: a.entry, b: b.entry } } });
  await host.toolNames();

  const params = '{"n":1.0,"big":9223372036854775808,"a":{"dup":1,"dup":2},"uri":"x:\\/\\/r","_meta":{"v":1e2}}';
  const reply = await host.request("tools/call", {
    name: "a__do",
    arguments: {
      steps: [
        { notify: { method: "notifications/vendor.example/x", params } },
        { notify: { method: "vendor/y" } },
        { result: `{"content":[],"_meta":{"x.y/z":1.0}}` },
      ],
    },
  });
  expect(rawAt(reply.raw, "result", "_meta")).toBe('{"x.y/z":1.0}');
  const [x, y] = host.notifications;
  expect(x!.method).toBe("notifications/vendor.example/x");
  expect(rawAt(x!.raw, "params")).toBe(params);
  expect(y!.raw).toBe('{"jsonrpc":"2.0","method":"vendor/y"}');
  expect(y!.index).toBeLessThan(host.raw.indexOf(reply.raw));

  host.notify("notifications/vendor.example/z", params);
  host.notify("vendor/z");
  await Promise.all(["a__do", "b__do"].map((name) => host.call(name)));
  for (const server of [a, b]) {
    const [z] = server.received("notifications/vendor.example/z");
    expect(rawAt(z!.raw, "params")).toBe(params);
    expect(server.received("vendor/z").map(({ raw }) => raw)).toEqual(['{"jsonrpc":"2.0","method":"vendor/z"}']);
  }

  // Notifications of MCP without what belongs into them.
  const methods = [
    "message",
    "progress",
    "cancelled",
    "resources/updated",
    "tools/list_changed",
    "elicitation/complete",
  ];
  const bodies = [
    "",
    ',"params":[]',
    ',"params":null',
    ',"params":"x"',
    ',"params":{}',
    ',"params":{"level":1,"uri":[],"requestId":{},"progressToken":{}}',
  ];
  const broken = methods.flatMap((method) =>
    bodies.map((body) => ({ raw: `{"jsonrpc":"2.0","method":"notifications/${method}"${body}}` })),
  );
  await host.call("b__do", { steps: broken });
  for (const { raw } of broken) host.send(raw);
  await Promise.all(["a__do", "b__do"].map((name) => host.call(name)));
  expect(a.starts()).toHaveLength(1);
  expect(b.starts()).toHaveLength(1);
  // Nothing that the host says comes back to it, and a server's progress or cancel that fits nothing is no host's business.
  for (const method of ["progress", "cancelled", "resources/updated"]) {
    expect(host.notified(`notifications/${method}`)).toEqual([]);
  }
  expect(host.notifications.filter(({ method }) => method.endsWith("/z"))).toEqual([]);
  // What a host may not be told to do it is not told: its cancels and progress were for requests that do not exist.
  expect(a.received("notifications/cancelled")).toEqual([]);
  expect(a.received("notifications/progress")).toEqual([]);
});
