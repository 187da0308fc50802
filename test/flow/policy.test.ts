/** Promise: the policy decides what may be seen and done, by item, arguments, caller and rate, and the record says why. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { configFile, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const BIN = fileURLToPath(new URL("../../bin/switchyard.js", import.meta.url));

function records(file: string): Record<string, unknown>[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The examples of interface.md, as they stand there. */
const DOCUMENTED = {
  default: "deny",
  rules: [
    { effect: "allow", servers: ["files"], tools: ["read_*", "list_*"] },
    {
      effect: "deny",
      tools: ["*"],
      when: "tool.annotations.destructiveHint == true",
      reason: "destructive tools are off",
    },
    { effect: "deny", servers: ["db"], tools: ["query"], when: "args.sql.matches('(?i)drop|delete')" },
    { effect: "allow", clients: ["ci-*"], servers: ["*"], resources: ["docs://**"] },
  ],
};

describe("the documented policy", () => {
  test("does what it says: by name, annotation, argument and client, and the record has the rule", async () => {
    await using dir = await tempDir();
    const files = stdioServer(dir, "files", {
      tools: [tool("read_a"), tool("list_a", { annotations: { destructiveHint: true } }), tool("write_a")],
      resources: [{ uri: "docs://a", name: "a" }],
    });
    const db = stdioServer(dir, "db", { tools: [tool("query"), tool("drop")] });
    const audit = dir.file("audit.jsonl");
    const allowQuery = { effect: "allow", servers: ["db"], tools: ["query"] };
    const config = {
      mcpServers: { files: files.entry, db: db.entry },
      policy: { ...DOCUMENTED, rules: [...DOCUMENTED.rules, allowQuery] },
      audit: { file: audit },
    };
    await using host = await startHost({ config, clientInfo: { name: "ci-7", version: "1" } });
    expect(await host.toolNames()).toEqual(["files__read_a", "db__query"]);
    expect((await host.request("resources/read", { uri: "docs://a" })).result).toBeDefined();

    expect((await host.request("tools/call", { name: "files__list_a" })).error).toEqual({
      code: -32602,
      message: "Unknown tool: files__list_a",
      data: { source: "switchyard", code: "UNKNOWN_ITEM" },
    });
    const refused = await host.request("tools/call", {
      name: "db__query",
      arguments: { sql: "select 1; DROP table x" },
    });
    expect(refused.error).toEqual({
      code: -32602,
      message: "Refused by policy: tool db__query may not be used with these arguments",
      data: { source: "switchyard", code: "POLICY_DENIED" },
    });
    const doubled = '{"name":"db__query","arguments":{"sql":"drop","sql":"select 1"}}';
    expect((await host.request("tools/call", doubled)).error?.code).toBe(-32602);
    expect((await host.request("tools/call", { name: "db__query" })).error?.code).toBe(-32602);
    await host.call("db__query", { sql: "select 1" });
    expect(db.received("tools/call").map(({ raw }) => raw.includes("select 1"))).toEqual([true]);
    await host.close();

    const calls = records(audit).filter(({ method }) => method === "tools/call");
    expect(calls.map(({ outcome, decision }) => [outcome, decision])).toEqual([
      ["denied", { effect: "deny", rule: "rules[1]", reason: "destructive tools are off" }],
      ["denied", { effect: "deny", rule: "rules[2]" }],
      [
        "denied",
        {
          effect: "deny",
          rule: "rules[2]",
          reason: 'its condition cannot be judged: of the arguments: the member "sql" stands twice',
        },
      ],
      [
        "denied",
        {
          effect: "deny",
          rule: "rules[2]",
          reason: 'its condition cannot be judged: there is no member "sql" (at character 5)',
        },
      ],
      ["ok", { effect: "allow", rule: "rules[4]" }],
    ]);
  });

  test("stops the start with exit code 2 where a condition is wrong, and names file, line, key and place", async () => {
    await using dir = await tempDir();
    const policy = { rules: [{ effect: "deny", tools: ["*"], when: "tool.annotation.destructiveHint" }] };
    const file = configFile(dir, { mcpServers: { a: stdioServer(dir, "a").entry }, policy });
    const failure = await promisify(execFile)(process.execPath, [BIN, "serve", "--config", file]).then(
      () => undefined,
      (error: { code: number; stderr: string }) => error,
    );
    expect(failure?.code).toBe(2);
    expect(failure?.stderr).toMatch(
      /switchyard\.json:\d+: policy\.rules\[0\]\.when: there is no member "annotation" \(character 5\)\. Did you mean "annotations"\?/,
    );
  });
});

describe("lists", () => {
  test("have no hidden item on any page, under any cursor", async () => {
    await using dir = await tempDir();
    const names = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? `open${i}` : `secret${i}`));
    const a = stdioServer(dir, "a", {
      tools: names.map((name) => tool(name)),
      resources: names.map((name) => ({ uri: `r://${name}`, name })),
      pageSize: 4,
    });
    const rules = [{ effect: "deny", tools: ["secret*"], resources: ["r://secret*"] }];
    await using host = await startHost({
      config: { mcpServers: { a: a.entry }, policy: { rules }, page: { items: 3 } },
    });
    const open = names.filter((name) => name.startsWith("open"));
    expect(await host.toolNames()).toEqual(open.map((name) => `a__${name}`));
    expect((await host.listAll("resources/list", "resources")).map(({ name }) => name)).toEqual(open);
    expect(host.raw.join("\n")).not.toContain("secret");
  });

  test("are announced to have changed only where what is visible has", async () => {
    await using dir = await tempDir();
    const hidden = tool("hidden", { annotations: { destructiveHint: true } });
    const a = stdioServer(dir, "a", { tools: [tool("do"), tool("open"), hidden] });
    const rules = [{ effect: "deny", tools: ["*"], when: "tool.annotations.destructiveHint == true" }];
    await using host = await startHost({ config: { mcpServers: { a: a.entry }, policy: { rules } } });
    expect(await host.toolNames()).toEqual(["a__do", "a__open"]);
    const change = (...tools: object[]) =>
      host.call("a__do", { steps: [{ set: { tools: [tool("do"), ...tools] } }, { changed: "tools" }] });
    const walks = () => a.received("tools/list").length;

    let before = walks();
    await change(tool("open"), { ...hidden, description: "another" }, { ...hidden, name: "hidden2" });
    await until(() => walks() > before, { what: "the list is asked for" });
    before = walks();
    // A change that shows comes after the one that must not: if it were announced, there would be two.
    await change(tool("open"), { ...hidden, annotations: {} });
    await host.notification("notifications/tools/list_changed");
    expect(await host.toolNames()).toEqual(["a__do", "a__open", "a__hidden"]);
    await change(tool("open"), { ...hidden, annotations: { destructiveHint: true } });
    await host.notification("notifications/tools/list_changed", 2);
    expect(await host.toolNames()).toEqual(["a__do", "a__open"]);
    expect(host.notified("notifications/tools/list_changed")).toHaveLength(2);
  });

  test("of an earlier start are judged for the host that is there now", async () => {
    await using dir = await tempDir();
    await using home = await tempDir();
    const a = stdioServer(dir, "a", { tools: [tool("open"), tool("mine")] });
    const rules = [{ effect: "deny", tools: ["mine"], when: "client.name != 'owner'" }];
    const config = { mcpServers: { a: a.entry }, policy: { rules }, timeouts: { startupMs: 20_000 } };
    {
      await using host = await startHost({ config, home: home.path, clientInfo: { name: "owner", version: "1" } });
      expect(await host.toolNames()).toEqual(["a__open", "a__mine"]);
      await host.close();
    }
    a.rewrite({ tools: [tool("open"), tool("mine")], startDelayMs: 3_000 });
    const soon = { ...config, timeouts: { startupMs: 50 } };
    await using host = await startHost({ config: soon, home: home.path, clientInfo: { name: "guest", version: "1" } });
    expect(await host.toolNames()).toEqual(["a__open"]);
  });
});

test("of a template, what the server has not is answered like what is hidden; without a rule its own words pass", async () => {
  await using dir = await tempDir();
  const missing = { error: { code: -32002, message: "No such document", data: { uri: "docs://p/none", hint: 7 } } };
  const a = stdioServer(dir, "a", {
    templates: [{ uriTemplate: "docs://p/{id}", name: "t" }],
    on: { "resource:docs://p/none": [missing] },
  });
  const read = async (policy: object): Promise<unknown[]> => {
    await using host = await startHost({ config: { mcpServers: { a: a.entry }, policy } });
    await host.listAll("resources/templates/list", "resourceTemplates");
    const replies = [];
    for (const id of ["none", "secret"]) replies.push(await host.request("resources/read", { uri: `docs://p/${id}` }));
    return replies.map(({ error }) => error);
  };
  const notFound = (uri: string) => ({
    code: -32002,
    message: `Resource not found: ${uri}`,
    data: { uri, source: "switchyard", code: "RESOURCE_NOT_FOUND" },
  });
  const rules = [{ effect: "deny", resources: ["docs://p/secret"] }];
  expect(await read({ rules })).toEqual([notFound("docs://p/none"), notFound("docs://p/secret")]);
  expect(await read({})).toEqual([missing.error, undefined]);
  expect(a.received("resources/read").filter(({ raw }) => raw.includes("secret"))).toHaveLength(1);
});

test("a limit refuses what is too much and says when to try again; other tools stay free, and the record has it", async () => {
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("query"), tool("other")] });
  const audit = dir.file("audit.jsonl");
  const rules = [{ effect: "allow", tools: ["query"], limit: { calls: 5, perMs: 10_000 } }];
  await using host = await startHost({
    config: { mcpServers: { a: a.entry }, policy: { rules }, audit: { file: audit } },
  });
  const replies = [];
  for (let i = 0; i < 8; i++) replies.push(await host.request("tools/call", { name: "a__query" }));
  expect(replies.map(({ error }) => error?.code)).toEqual([...Array(5).fill(undefined), -32603, -32603, -32603]);
  const { message, data } = replies[7]!.error!;
  const { retryAfterMs } = data as { retryAfterMs: number };
  expect(data).toMatchObject({ source: "switchyard", code: "RATE_LIMITED", limit: { calls: 5, perMs: 10_000 } });
  expect(retryAfterMs).toBeGreaterThan(5_000);
  expect(retryAfterMs).toBeLessThanOrEqual(10_000);
  expect(message).toMatch(/^a__query may be used 5 times in 10 s\. Nothing was sent\. Try again in \d/);
  await host.call("a__other");
  expect(a.received("tools/call")).toHaveLength(6);
  await host.close();
  const denied = records(audit).filter(({ outcome }) => outcome === "denied");
  expect(denied.map(({ decision }) => decision)).toEqual(Array(3).fill({ effect: "deny", rule: "rules[0].limit" }));
});

describe("questions of servers", () => {
  const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
  const asks = [
    { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
    { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object", properties: {} } } },
    { method: "roots/list" },
  ];
  const errorsOf = (text: string) =>
    (JSON.parse(text) as string[]).map(
      (raw) => (JSON.parse(raw) as { error?: { code: number; message: string } }).error,
    );

  test("that a rule forbids are answered, and declared, as if the host could not do that; and recorded", async () => {
    await using dir = await tempDir();
    const steps = { on: { ask: [{ ask: asks }, { answers: true as const }] } };
    const shut = stdioServer(dir, "shut", { tools: [tool("ask")], ...steps });
    const free = stdioServer(dir, "free", { tools: [tool("ask")], ...steps });
    const bare = stdioServer(dir, "bare", { tools: [tool("ask")], ...steps });
    const audit = dir.file("audit.jsonl");
    const mcpServers = { shut: shut.entry, free: free.entry };
    const policy = {
      default: "deny",
      rules: [
        { effect: "allow", tools: ["*"] },
        {
          effect: "deny",
          questions: ["*"],
          servers: ["shut"],
          when: "client.name == 'test-host'",
          reason: "not this one",
        },
      ],
    };
    await using host = await startHost({ config: { mcpServers, policy, audit: { file: audit } }, capabilities });
    host.answer("sampling/createMessage", () => ({
      role: "assistant",
      content: { type: "text", text: "hi" },
      model: "m",
    }));
    host.answer("elicitation/create", () => ({ action: "decline" }));
    host.answer("roots/list", () => ({ roots: [] }));
    const refused = errorsOf(await host.callText("shut__ask"));
    expect(errorsOf(await host.callText("free__ask"))).toEqual([undefined, undefined, undefined]);
    expect(host.requests.map(({ method }) => method)).toEqual(asks.map(({ method }) => method));

    // The words of a host that really did not declare them.
    await using poor = await startHost({ config: { mcpServers: { bare: bare.entry } } });
    expect(refused).toEqual(errorsOf(await poor.callText("bare__ask")));
    expect(refused.map((error) => error?.code)).toEqual([-32601, -32601, -32601]);

    const declared = (server: typeof shut) =>
      (server.received("initialize")[0]!.message.params as { capabilities: object }).capabilities;
    expect(declared(shut)).toEqual({});
    expect(declared(free)).toEqual(capabilities);
    host.notify("notifications/roots/list_changed");
    await until(() => free.received("notifications/roots/list_changed").length === 1, { what: "the free one is told" });
    await host.call("shut__ask");
    expect(shut.received("notifications/roots/list_changed")).toEqual([]);
    await host.close();

    const toHost = records(audit).filter(({ direction, server }) => direction === "toHost" && server === "shut");
    const decision = { effect: "deny", rule: "rules[1]", reason: "not this one" };
    expect(toHost.slice(0, 3).map(({ method, outcome, decision }) => [method, outcome, decision])).toEqual(
      asks.map(({ method }) => [method, "denied", decision]),
    );
  });

  test("about roots are not answered with static roots either, where they are forbidden", async () => {
    await using dir = await tempDir();
    const a = stdioServer(dir, "a", {
      tools: [tool("ask")],
      on: { ask: [{ ask: [{ method: "roots/list" }] }, { answers: true }] },
    });
    const policy = { rules: [{ effect: "deny", questions: ["roots"] }] };
    await using host = await startHost({
      config: { mcpServers: { a: a.entry }, policy, roots: [{ uri: "file:///srv" }] },
    });
    expect(errorsOf(await host.callText("a__ask"))[0]?.code).toBe(-32601);
  });
});

describe("what a person can find out", () => {
  const script = {
    tools: [tool("read_a"), tool("rm", { annotations: { destructiveHint: true } })],
    prompts: [{ name: "p" }],
  };
  const policy = {
    default: "deny",
    rules: [
      { effect: "allow", tools: ["read_*", "raed_*"], limit: { calls: 5, perMs: 10_000 } },
      { effect: "deny", tools: ["*"], when: "tool.annotations.destructiveHint == true", reason: "too dangerous" },
      { effect: "deny", tools: ["read_*"], when: "args.path.startsWith('/etc')" },
    ],
  };

  test("entries that match nothing are in the log once all servers have said what they have", async () => {
    await using dir = await tempDir();
    const a = stdioServer(dir, "a", script);
    const down = { command: process.execPath, args: ["-e", "process.exit(3)"] };
    const config = {
      mcpServers: { a: { ...a.entry, prompts: { allow: ["p", "q"] } }, down: { ...down, tools: { allow: ["x"] } } },
      policy: { rules: [...policy.rules, { effect: "allow", servers: ["a"], tools: ["wriet"] }] },
    };
    await using host = await startHost({ config, logLevel: "warn" });
    const told = () =>
      host.logs.filter(({ msg }) => msg === "an entry of the policy has no effect").map(({ entry }) => entry);
    await until(() => told().length >= 2, { what: "the log names them" });
    // Of a server that is not there nothing is known, so nothing is said of rules that may be for it.
    expect(told()).toEqual([
      'mcpServers.a.prompts.allow: "q" matches no prompt of this server',
      'policy.rules[3].tools: "wriet" matches no tool',
    ]);
  });

  test("explain and list --hidden say which rule, and what the answer would be", async () => {
    await using dir = await tempDir();
    const a = stdioServer(dir, "a", script);
    const file = configFile(dir, { mcpServers: { a: a.entry }, policy });
    const run = async (...argv: string[]): Promise<Record<string, unknown>> => {
      const args = [BIN, ...argv, "--config", file, "--json", "--log-level", "error"];
      const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { stdout: string }) => error);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    expect(await run("explain", "a__rm")).toMatchObject({
      server: "a",
      kind: "tool",
      original: "rm",
      effect: "deny",
      rule: "rules[1]",
      reason: "too dangerous",
      error: { code: -32602, message: "Unknown tool: a__rm" },
    });
    expect(await run("explain", "a__read_a")).toMatchObject({
      effect: "allow",
      rule: "rules[0]",
      dependsOnArguments: true,
      limits: [{ calls: 5, perMs: 10_000, rule: "rules[0]" }],
      matched: [
        { rule: "rules[0]", says: "holds" },
        { rule: "rules[1]", says: "false" },
        { rule: "rules[2]", says: "depends on the arguments" },
      ],
    });
    expect(await run("explain", "a__read_a", "--args", '{"path":"/etc/passwd"}')).toMatchObject({
      effect: "deny",
      rule: "rules[2]",
      error: { code: -32602, message: "Refused by policy: tool a__read_a may not be used with these arguments" },
    });
    expect(await run("explain", "a__raed_a")).toMatchObject({ unknown: true, near: "a__read_a" });
    expect(await run("explain", "rm")).toMatchObject({ unknown: true, near: "a__rm" });
    expect(await run("list", "--hidden")).toMatchObject({
      tools: [],
      hidden: [
        { server: "a", kind: "tool", original: "rm", why: "hidden by policy, rules[1]: too dangerous" },
        { server: "a", kind: "prompt", original: "p", why: "hidden by policy, default" },
      ],
    });
    expect(a.received("tools/call")).toEqual([]);
  });
});
