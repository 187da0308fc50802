/** Promise: to the host we are one ordinary server, from the first message on. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const client = { clientInfo: { name: "h", version: "1" } };

test("before initialize only ping is answered, a second initialize is an error, and nothing goes to the host too early", async () => {
  await using dir = await tempDir();
  const eager = stdioServer(dir, "eager", {
    tools: [tool("do")],
    onInitialized: [
      { set: { tools: [tool("do"), tool("later")] } },
      { changed: "tools" },
      { log: { level: "error", data: "early" } },
      { ask: [{ method: "roots/list" }], wait: false },
      { stderr: "asked already\n" },
    ],
    capabilities: { tools: { listChanged: true }, logging: {} },
  });
  await using host = await startHost({
    config: { mcpServers: { eager: eager.entry } },
    initialize: false,
    capabilities: { roots: {} },
  });
  // §1.2: anything but ping is an error that carries its id, a notification is nothing.
  expect((await host.request("ping")).result).toEqual({});
  for (const method of ["tools/list", "tools/call", "resources/read", "logging/setLevel", "no/such"]) {
    const reply = await host.request(method, { name: "eager__do" });
    expect(reply.error, method).toBeDefined();
    expect(reply.error!.code, method).toBeLessThanOrEqual(-32600);
  }
  host.notify("notifications/initialized");
  host.notify("notifications/cancelled", { requestId: 1 });
  // A malformed initialize is refused and does not count.
  for (const params of ["{}", '{"protocolVersion":7,"capabilities":{},"clientInfo":{}}', "[]", "5"]) {
    expect((await host.request("initialize", params)).error?.code, params).toBeLessThanOrEqual(-32600);
  }

  const opened = await host.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { roots: {} },
    ...client,
  });
  // R198: the identity is ours.
  expect(opened.result!["serverInfo"]).toMatchObject({ name: expect.stringMatching(/switchyard/i), version });
  expect(opened.result!["protocolVersion"]).toBe("2025-11-25");

  // Between initialize and initialized: ping works, and no request or notification goes to the host.
  await until(() => host.stderr.includes("asked already"), { what: "the server's questions" });
  for (let i = 0; i < 3; i++) expect((await host.request("ping")).result).toEqual({});
  expect(host.requests).toEqual([]);
  expect(host.notifications).toEqual([]);
  host.answer("roots/list", () => ({ roots: [{ uri: "file:///mine" }] }));
  host.notify("notifications/initialized");
  await until(() => eager.received("").length === 1, { what: "the answer to roots/list" });
  expect(host.requests).toHaveLength(1);
  expect(eager.received("")[0]!.message.result).toEqual({ roots: [{ uri: "file:///mine" }] });

  const second = await host.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, ...client });
  expect(second.error?.code).toBe(-32600);
  expect(await host.toolNames()).toEqual(["eager__do", "eager__later"]);
  expect(eager.received("initialize")).toHaveLength(1);
  expect(eager.received("notifications/initialized")).toHaveLength(1);
});

test("a supported revision is answered with itself, any other with the newest, and each leg has its own", async () => {
  // R20, I2, I3
  await using dir = await tempDir();
  const old = stdioServer(dir, "old", { tools: [tool("t")], versions: ["2024-11-05"] });
  const young = stdioServer(dir, "young", { tools: [tool("t")], versions: ["2025-11-25"] });
  const alien = stdioServer(dir, "alien", { tools: [tool("t")], versions: ["1999-01-01"] });
  const config = { mcpServers: { old: old.entry, alien: alien.entry, young: young.entry } };
  const asked = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2099-01-01"];
  for (const protocolVersion of asked) {
    await using host = await startHost({ config: { mcpServers: {} }, protocolVersion });
    const expected = asked.indexOf(protocolVersion) < 4 ? protocolVersion : "2025-11-25";
    expect(host.initializeResult["protocolVersion"], protocolVersion).toBe(expected);
    expect(await host.toolNames()).toEqual([]);
  }
  await using host = await startHost({ config, protocolVersion: "2025-06-18" });
  expect(host.initializeResult["protocolVersion"]).toBe("2025-06-18");
  expect(await host.toolNames()).toEqual(["old__t", "young__t"]);
  expect(await host.callText("old__t")).toBe("old:t");
  expect(await host.callText("young__t")).toBe("young:t");
  for (const server of [old, young]) {
    const params = server.received("initialize").at(-1)!.message.params!;
    expect(params["protocolVersion"]).toBe("2025-11-25");
    expect(params["clientInfo"]).toMatchObject({ name: expect.stringMatching(/switchyard/i), version });
  }
  // A server that insists on what nobody knows is left out, by name.
  expect(alien.received("notifications/initialized")).toEqual([]);
  expect(host.logs.some((record) => JSON.stringify(record).includes("1999-01-01"))).toBe(true);
});

test("capabilities are the union towards the host and what the host declared towards each server", async () => {
  await using dir = await tempDir();
  const plain = stdioServer(dir, "plain", { tools: [tool("t")], capabilities: { tools: {} } });
  {
    // B8, R23: only what works is advertised, and everything else is -32601.
    await using host = await startHost({ config: { mcpServers: { plain: plain.entry } } });
    const advertised = host.initializeResult["capabilities"] as Record<string, Record<string, unknown>>;
    expect(advertised["tools"]).toEqual({ listChanged: true });
    for (const key of ["prompts", "resources"]) {
      if (advertised[key]) expect(advertised[key], key).toEqual({ listChanged: true });
    }
    for (const key of ["logging", "completions", "tasks", "experimental"])
      expect(advertised, key).not.toHaveProperty(key);
    expect(await host.listAll("prompts/list", "prompts")).toEqual([]);
    expect(await host.listAll("resources/list", "resources")).toEqual([]);
    expect(await host.listAll("resources/templates/list", "resourceTemplates")).toEqual([]);
    const unknown = [
      "completion/complete",
      "logging/setLevel",
      "resources/subscribe",
      "tasks/list",
      "tasks/get",
      "vendor/thing",
      "server/discover",
      "subscriptions/listen",
      "sampling/createMessage",
      "roots/list",
      "notifications/initialized",
      "rpc.discover",
      "",
      "__proto__",
      "constructor",
    ];
    for (const method of unknown) {
      // R25 and unknown methods: refused by us, with the request's id.
      expect((await host.request(method, { uri: "x://y", level: "info" })).error?.code, method).toBe(-32601);
    }
    const reached = plain.received().map(({ message }) => message.method);
    for (const method of unknown) if (method !== "notifications/initialized") expect(reached).not.toContain(method);
    // D4: a host that declared nothing is not made to look like one that did.
    expect(plain.received("initialize")[0]!.message.params!["capabilities"]).toEqual({});
  }

  const a = stdioServer(dir, "a", {
    tools: [tool("t")],
    capabilities: { tools: {}, logging: {}, experimental: { x: {} } },
  });
  const b = stdioServer(dir, "b", {
    prompts: [{ name: "p" }],
    resources: [{ uri: "b://1", name: "1" }],
    capabilities: { prompts: {}, resources: { subscribe: true }, completions: {}, tasks: { list: {} } },
  });
  const declared = {
    roots: { listChanged: true },
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} },
    experimental: { mine: {} },
    tasks: { requests: {} },
    extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
  };
  await using host = await startHost({ config: { mcpServers: { a: a.entry, b: b.entry } }, capabilities: declared });
  // §4.1, R197
  const advertised = host.initializeResult["capabilities"] as Record<string, unknown>;
  expect(advertised).toMatchObject({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  });
  for (const key of ["tasks", "experimental"]) expect(advertised, key).not.toHaveProperty(key);
  const { roots, sampling, elicitation, extensions } = declared;
  for (const server of [a, b]) {
    const got = server.received("initialize")[0]!.message.params!["capabilities"];
    expect(got).toEqual({ roots, sampling, elicitation, extensions });
  }
  expect((await host.request("logging/setLevel", { level: "warning" })).result).toEqual({});
  // R168
  expect((await host.request("logging/setLevel", { level: "loud" })).error?.code).toBe(-32602);
  expect((await host.request("logging/setLevel", {})).error?.code).toBe(-32602);
  await until(() => a.received("logging/setLevel").length === 1, { what: "the level at a" });
  expect(b.received("logging/setLevel")).toEqual([]);
  expect((await host.request("resources/subscribe", { uri: "b://1" })).result).toEqual({});
});

test("instructions of one server are passed verbatim, those of several under their names and within caps", async () => {
  // H6, R199, §4.8
  await using dir = await tempDir();
  const words = 'Use `t` first.\n\n# Mine\n"ü" \u2028 \\ end\n';
  const a = stdioServer(dir, "a", { tools: [tool("t")], instructions: words });
  const silent = stdioServer(dir, "silent", { tools: [tool("t")] });
  const b = stdioServer(dir, "b", { tools: [tool("t")], instructions: "B says hello" });
  const chatty = stdioServer(dir, "chatty", { tools: [tool("t")], instructions: `start ${"🦊".repeat(20_000)} end` });
  {
    await using host = await startHost({ config: { mcpServers: { a: a.entry } } });
    expect(host.initializeResult["instructions"]).toBe(words);
  }
  await using host = await startHost({
    config: { mcpServers: { b: b.entry, silent: silent.entry, chatty: chatty.entry, a: a.entry } },
  });
  const text = host.initializeResult["instructions"] as string;
  expect(text).toContain(words.trim());
  const order = ["b", "chatty", "a"].map((key) => text.search(new RegExp(`^#+ .*\\b${key}\\b`, "m")));
  for (const at of order) expect(at).toBeGreaterThanOrEqual(0);
  expect([...order].sort((x, y) => x - y)).toEqual(order);
  expect(text.indexOf("B says hello")).toBeGreaterThan(order[0]!);
  expect(text.indexOf("B says hello")).toBeLessThan(order[1]!);
  expect(text.search(/^#+ .*silent/m)).toBe(-1);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024 + 200);
  expect(text).toContain("start 🦊");
  expect(text).not.toContain("🦊 end");
  expect(text).not.toMatch(/\uFFFD|[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
});

test("pings are answered by us on both sides while a call is running", async () => {
  // R135, §1.3
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { s: server.entry } } });
  const steps = [{ ask: [{ method: "ping" }, { method: "ping", id: "p" }] }, { answers: true }];
  const running = host.request(
    "tools/call",
    { name: "s__do", arguments: { steps: [{ untilCancelled: true }] } },
    { id: 1 },
  );
  expect((await host.request("ping")).result).toEqual({});
  expect(JSON.parse(await host.callText("s__do", { steps })).map((text: string) => JSON.parse(text))).toEqual([
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: "p", result: {} },
  ]);
  expect(host.requests).toEqual([]);
  expect(server.received("ping")).toEqual([]);
  host.cancel(1);
  await until(() => server.received("notifications/cancelled").length === 1, { what: "the cancellation" });
  running.catch(() => {});
});
