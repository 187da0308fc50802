/** Promise: what a rule with effect "ask" reaches goes out only when the host's user has accepted it, and nobody makes an answer up. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { type Host, type HostOptions, RpcError, startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const FORMS = { elicitation: { form: {} } };

const ASK = { effect: "ask", servers: ["one"], tools: ["write*"], reason: "writing is for people to decide" };

/** One server, a policy, an audit file, and a host whose user can be asked unless it says otherwise. */
async function start(
  dir: TempDir,
  rules: object[] = [ASK],
  more: Partial<HostOptions> & { entry?: object; default?: string } = {},
) {
  const { entry, default: byDefault, ...options } = more;
  const one = stdioServer(dir, "one", {
    tools: [tool("write"), tool("write_more"), tool("read")],
    prompts: [{ name: "tell" }],
    resources: [{ uri: "docs://a", name: "a" }],
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  });
  const config = {
    mcpServers: { one: { ...one.entry, ...entry } },
    policy: { default: byDefault ?? "allow", rules },
    audit: { file: dir.file("audit.jsonl") },
  };
  const host = await startHost({ config, capabilities: FORMS, ...options });
  await host.toolNames();
  return { one, host };
}

const records = (dir: TempDir, method = "tools/call") =>
  readFileSync(dir.file("audit.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown> & { decision?: object })
    .filter((record) => record["method"] === method);

/** A user who takes the time. */
function thinking(host: Host): { answer(result: object): void } {
  let answer: (result: object) => void = () => {};
  const answered = new Promise<object>((resolve) => {
    answer = resolve;
  });
  host.answer("elicitation/create", () => answered);
  return { answer: (result) => answer(result) };
}

const asked = (host: Host) => host.requests.filter(({ method }) => method === "elicitation/create");

test("the user sees server, tool and arguments before anything is sent; accepted, the call goes out as it came", async () => {
  await using dir = await tempDir();
  const { one, host } = await start(dir);
  await using _ = host;
  host.answer("elicitation/create", () => {
    expect(one.received("tools/call")).toHaveLength(0);
    return { action: "accept", content: { remember: false } };
  });
  const args = '{"path":"/etc/\\u0070asswd","big":9223372036854775809,"n":1.0}';
  const reply = await host.request("tools/call", `{"name":"one__write","arguments":${args}}`);
  expect(reply.result).toBeDefined();
  expect(one.received("tools/call")[0]!.raw).toContain(`"arguments":${args}`);
  const [question] = asked(host);
  const message = question!.params["message"] as string;
  expect(message).toContain('server: "one"');
  expect(message).toContain('tool: "write"');
  // Decoded: a person reads what the server will read.
  expect(message).toContain('"path": "/etc/passwd"');
  expect(message).toContain('"big": 9223372036854775809');
  expect(message).toContain("writing is for people to decide");
  expect(question!.params["mode"] ?? "form").toBe("form");
  expect(question!.params["requestedSchema"]).toMatchObject({
    type: "object",
    properties: { remember: { type: "boolean", default: false } },
  });
  expect(records(dir)[0]).toMatchObject({
    outcome: "ok",
    decision: { effect: "ask", rule: "rules[0]", reason: "approved" },
  });
  // Our own question is part of the call's record; it is none of the server's.
  expect(records(dir, "elicitation/create")).toHaveLength(0);
});

test.each(["decline", "cancel"])(
  "%s refuses the call: an error that says so, nothing sent, and a record of it",
  async (action) => {
    await using dir = await tempDir();
    const { one, host } = await start(dir);
    await using _ = host;
    host.answer("elicitation/create", () => ({ action }));
    const reply = await host.request("tools/call", { name: "one__write", arguments: {} });
    expect(reply.error).toMatchObject({ data: { source: "switchyard", code: "NOT_APPROVED" } });
    expect(reply.error!.message).toMatch(action === "decline" ? /declined/ : /without an answer/);
    expect(one.received("tools/call")).toHaveLength(0);
    expect(records(dir)[0]).toMatchObject({
      outcome: "denied",
      decision: { effect: "ask", rule: "rules[0]", reason: action === "decline" ? "declined" : "cancelled" },
    });
    // Nothing is remembered of a refusal: the next call is asked for again.
    host.answer("elicitation/create", () => ({ action: "accept" }));
    expect((await host.request("tools/call", { name: "one__write", arguments: {} })).result).toBeDefined();
  },
);

test("an approval is remembered for the session on request, for that rule and item alone", async () => {
  await using dir = await tempDir();
  const { host } = await start(dir);
  await using _ = host;
  host.answer("elicitation/create", () => ({ action: "accept", content: { remember: true } }));
  await host.call("one__write", { a: 1 });
  await host.call("one__write", { a: 2 });
  expect(asked(host)).toHaveLength(1);
  await host.call("one__write_more");
  expect(asked(host)).toHaveLength(2);
  expect(records(dir).map(({ decision }) => (decision as { reason: string }).reason)).toEqual([
    "approved",
    "approved (remembered)",
    "approved",
  ]);
});

test("anything but a yes of the user is none: errors, other words, a true that is a text", async () => {
  await using dir = await tempDir();
  const { one, host } = await start(dir);
  await using _ = host;
  for (const answer of [{ action: "yes" }, {}, { action: ["accept"] }, { content: { action: "accept" } }]) {
    host.answer("elicitation/create", () => answer);
    const reply = await host.request("tools/call", { name: "one__write" });
    expect(reply.error).toMatchObject({ data: { code: "APPROVAL_UNAVAILABLE" } });
  }
  host.answer("elicitation/create", () => {
    throw new RpcError(-32601, "no such window");
  });
  const reply = await host.request("tools/call", { name: "one__write" });
  expect(reply.error!.message).toContain("no such window");
  expect(one.received("tools/call")).toHaveLength(0);
  for (const record of records(dir))
    expect(record).toMatchObject({ decision: { effect: "ask", reason: "not possible" } });
  // A "remember" that is not a plain true is none either.
  host.answer("elicitation/create", () => ({ action: "accept", content: { remember: "true" } }));
  const before = asked(host).length;
  await host.call("one__write");
  await host.call("one__write");
  expect(asked(host)).toHaveLength(before + 2);
});

test.each([
  ["none", {}],
  ["URLs alone", { elicitation: { url: {} } }],
])("a host that declared %s is refused with the reason, and is not asked", async (_, capabilities) => {
  await using dir = await tempDir();
  const { one, host } = await start(dir, [ASK], { capabilities });
  await using __ = host;
  const reply = await host.request("tools/call", { name: "one__write" });
  expect(reply.error).toMatchObject({ data: { code: "APPROVAL_UNAVAILABLE" } });
  expect(reply.error!.message).toContain("did not declare elicitation in form mode");
  expect(one.received("tools/call")).toHaveLength(0);
  expect(asked(host)).toHaveLength(0);
  expect(records(dir)[0]).toMatchObject({ outcome: "denied", decision: { effect: "ask", reason: "not possible" } });
  // What no rule asks about is as before.
  await host.call("one__read");
});

test("a cancelled call takes its question back, and a late yes sends nothing", async () => {
  await using dir = await tempDir();
  const { one, host } = await start(dir);
  await using _ = host;
  const user = thinking(host);
  void host.request("tools/call", { name: "one__write" }, { id: "w" });
  const question = await until(() => asked(host)[0], { what: "the question" });
  host.cancel("w", "changed my mind");
  const withdrawn = await host.notification("notifications/cancelled");
  expect(withdrawn.params["requestId"]).toBe(question!.id);
  user.answer({ action: "accept", content: { remember: true } });
  await host.call("one__read");
  expect(one.received("tools/call").map(({ message }) => message.params!["name"])).toEqual(["read"]);
  expect(records(dir)[0]).toMatchObject({ outcome: "cancelled", decision: { effect: "ask", reason: "not answered" } });
});

test("deny goes before ask, ask before allow, and allow before the default", async () => {
  await using dir = await tempDir();
  const rules = [
    { effect: "allow", tools: ["write", "read"] },
    { effect: "ask", tools: ["write*"] },
    { effect: "deny", tools: ["write_more"] },
  ];
  const { host } = await start(dir, rules, { default: "deny" });
  await using _ = host;
  // What is asked about is listed, what is denied is not.
  expect((await host.toolNames()).sort()).toEqual(["one__read", "one__write"]);
  host.answer("elicitation/create", () => ({ action: "accept" }));
  await host.call("one__read");
  expect(asked(host)).toHaveLength(0);
  await host.call("one__write");
  expect(asked(host)).toHaveLength(1);
  const denied = await host.request("tools/call", { name: "one__write_more" });
  expect(denied.error).toMatchObject({ code: -32602, message: "Unknown tool: one__write_more" });
  expect(asked(host)).toHaveLength(1);
});

test("while a person thinks, no turn at the server is taken", async () => {
  await using dir = await tempDir();
  const { host } = await start(dir, [ASK], { entry: { concurrency: 1 } });
  await using _ = host;
  const user = thinking(host);
  const waiting = host.request("tools/call", { name: "one__write" });
  await until(() => asked(host).length > 0, { what: "the question" });
  await host.call("one__read");
  user.answer({ action: "accept" });
  expect((await waiting).result).toBeDefined();
});

test("nothing in a name or an argument can forge the question: line breaks, directions, tags, length", async () => {
  await using dir = await tempDir();
  const { host } = await start(dir);
  await using _ = host;
  host.answer("elicitation/create", () => ({ action: "decline" }));
  const evil = 'x"\nserver: "trusted"\u202Egnp.exe\u200B\u{E0041}\u0007';
  await host.request("tools/call", {
    name: "one__write",
    arguments: { note: evil, long: "a".repeat(100_000), last: "seen" },
  });
  const message = asked(host)[0]!.params["message"] as string;
  expect(message.length).toBeLessThan(3_500);
  expect(message.split("\n").filter((line) => line.startsWith("server:"))).toEqual(['server: "one"']);
  expect(message).not.toMatch(/[\u202E\u200B\u0007]|\u{E0041}/u);
  expect(message).toContain("\\u{202E}");
  // One long text does not push the others out of sight, and what is cut is said.
  expect(message).toMatch(/\[cut: 99840 more characters\]/);
  expect(message).toContain('"last": "seen"');
});

test("prompts and resources are asked for like tools; completions are not asked for, and not sent", async () => {
  await using dir = await tempDir();
  const rules = [{ effect: "ask", prompts: ["*"], resources: ["docs://**"] }];
  const { one, host } = await start(dir, rules);
  await using _ = host;
  const ref = { type: "ref/prompt", name: "one__tell" };
  const completion = await host.request("completion/complete", { ref, argument: { name: "a", value: "x" } });
  expect(completion.error).toMatchObject({ data: { code: "APPROVAL_UNAVAILABLE" } });
  host.answer("elicitation/create", () => ({ action: "decline" }));
  expect((await host.request("prompts/get", { name: "one__tell" })).error).toMatchObject({
    data: { code: "NOT_APPROVED" },
  });
  expect((await host.request("resources/read", { uri: "docs://a" })).error).toMatchObject({
    data: { code: "NOT_APPROVED" },
  });
  expect(
    asked(host).map(({ params }) => /(prompt|resource): "(.*)"/.exec(params["message"] as string)?.slice(1)),
  ).toEqual([
    ["prompt", "tell"],
    ["resource", "docs://a"],
  ]);
  expect(one.received("prompts/get")).toHaveLength(0);
  expect(one.received("resources/read")).toHaveLength(0);
});
