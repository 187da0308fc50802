/** Conditions of rules: what they read, what errors come to, and that hostile input ends within a bound and denies. */
import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../../src/config/types.ts";
import type { Decision, PolicyItem } from "../../src/exchange.ts";
import { compilePolicy, type PolicyCaller } from "../../src/pipeline/policy/policy.ts";
import { frame, server } from "./support.ts";

const me: PolicyCaller = { client: "claude-code", version: "2.1", principal: undefined };
const servers = [server("files"), server("db")];

function policyOf(rules: readonly PolicyRule[], byDefault: "allow" | "deny" = "allow") {
  return compilePolicy({ policy: { default: byDefault, rules }, servers });
}
function tool(original: string, definition: object = {}, of = "files"): PolicyItem {
  return { server: of, kind: "tool", original, definition: () => ({ name: original, ...definition }) };
}
/** `args`: an object, or JSON text as it is sent. */
function call(args: unknown) {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return frame(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":${text}}}`);
}
const denies = (when: string): PolicyRule[] => [{ effect: "deny", tools: ["*"], when }];
const judged = (when: string, args: unknown, caller = me): Decision =>
  policyOf(denies(when)).decideCall(tool("x"), caller, call(args));

describe("the examples of interface.md", () => {
  const policy = policyOf(
    [
      { effect: "allow", servers: ["files"], tools: ["read_*", "list_*"] },
      {
        effect: "deny",
        tools: ["*"],
        when: "tool.annotations.destructiveHint == true",
        reason: "destructive tools are off",
      },
      { effect: "deny", servers: ["db"], tools: ["query"], when: "args.sql.matches('(?i)drop|delete')" },
      { effect: "allow", servers: ["db"], tools: ["query"] },
      { effect: "allow", clients: ["ci-*"], servers: ["*"], resources: ["docs://**"] },
    ],
    "deny",
  );

  test("a tool that says it destroys is denied, for the reason that the rule gives", () => {
    const item = tool("read_all", { annotations: { destructiveHint: true } });
    const decision = { effect: "deny", rule: "rules[1]", reason: "destructive tools are off" };
    expect(policy.decide(item, me)).toEqual(decision);
    expect(policy.decideCall(item, me, call({}))).toEqual(decision);
  });

  test.each<[string, object]>([
    ["no annotations", {}],
    ["other annotations", { annotations: { readOnlyHint: true } }],
    ["annotations that are null", { annotations: null }],
    ["annotations that are no object", { annotations: "destructive" }],
    ["a hint that is false", { annotations: { destructiveHint: false } }],
    ["a hint that is null", { annotations: { destructiveHint: null } }],
  ])("a tool with %s is not denied by it", (_, definition) => {
    expect(policy.decide(tool("read_all", definition), me)).toEqual({ effect: "allow", rule: "rules[0]" });
  });

  test("arguments are judged on calls, and the item stays in the list", () => {
    const query = tool("query", {}, "db");
    expect(policy.decide(query, me)).toEqual({ effect: "allow", rule: "rules[3]" });
    expect(policy.decideCall(query, me, call({ sql: "select 1" }))).toEqual({ effect: "allow", rule: "rules[3]" });
    expect(policy.decideCall(query, me, call({ sql: "DROP table users" }))).toEqual({
      effect: "deny",
      rule: "rules[2]",
    });
  });

  test("an argument that is missing or of another kind is an error, and denies", () => {
    const query = tool("query", {}, "db");
    for (const args of [{}, { sql: 1 }, { sql: null }, { SQL: "select 1" }]) {
      const { effect, rule, reason } = policy.decideCall(query, me, call(args));
      expect([effect, rule]).toEqual(["deny", "rules[2]"]);
      expect(reason).toContain("its condition cannot be judged: ");
    }
  });
});

describe("what a condition reads", () => {
  test.each<[string, unknown, "allow" | "deny"]>([
    ["server == 'files'", {}, "deny"],
    ["server == 'db'", {}, "allow"],
    ["client.name == 'claude-code' && client.version.startsWith('2.')", {}, "deny"],
    ["principal == ''", {}, "deny"],
    ["tool.name == 'x'", {}, "deny"],
    ["has(tool.title) || has(tool.annotations) || has(tool._meta)", {}, "allow"],
    ["tool.title == '' && tool.description == '' && size(tool._meta) == 0", {}, "deny"],
    ["has(args.a)", { a: null }, "deny"],
    ["has(args.a)", {}, "allow"],
    ["has(args.a.b)", { a: { b: false } }, "deny"],
    ["'a' in args && args.a == null", { a: null }, "deny"],
    ["args.n == 9007199254740993", '{"n":9007199254740993}', "deny"],
    ["args.n == 9007199254740993", '{"n":9007199254740992}', "allow"],
    ["args.n % 2 == 0", { n: 4 }, "deny"],
    ["args.n == 1.0 && args.n < 1.5", { n: 1 }, "deny"],
    ["args.list.exists(x, x == 'b') && args.list[0] == 'a'", { list: ["a", "b"] }, "deny"],
    ["args['__proto__'].a == 1", '{"__proto__":{"a":1}}', "deny"],
    ["has(args.constructor) || has(args.toString)", {}, "allow"],
    ["args.constructor == 'x'", '{"constructor":"x"}', "deny"],
    ["args == {'a': [1, {'b': null}]}", { a: [1, { b: null }] }, "deny"],
    ["size(args) == 0", {}, "deny"],
    ["args.s.size() == 1", { s: "😀" }, "deny"],
    ["args.s.matches('^(a+)+$')", { s: "aaab" }, "allow"],
  ])("%s with %j", (when, args, effect) => {
    const decision = judged(when, args);
    expect(decision.reason).toBeUndefined();
    expect(decision.effect).toBe(effect);
  });

  test("a call without arguments has none", () => {
    const bare = frame({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "x" } });
    expect(policyOf(denies("size(args) == 0")).decideCall(tool("x"), me, bare).effect).toBe("deny");
  });

  test("what a server says of an item is read leniently: what is not there is null", () => {
    const item = tool("x", { _meta: { risk: { level: 3 } }, annotations: { audience: ["user"] } });
    const holds = (when: string) => policyOf(denies(when)).decide(item, me);
    expect(holds("tool._meta.risk.level > 2 && 'user' in tool.annotations.audience")).toMatchObject({ effect: "deny" });
    expect(holds("tool._meta.other == null && tool._meta.risk.owner == null").effect).toBe("deny");
    expect(holds("has(tool._meta.other) || has(tool._meta.other.x)").effect).toBe("allow");
    expect(holds("tool.annotations.readOnlyHint != true").effect).toBe("deny");
    // It is no condition: neither true nor false.
    expect(holds("tool.annotations.readOnlyHint").reason).toContain("neither true nor false");
  });

  test("prompts and resources are read like tools", () => {
    const policy = policyOf([
      { effect: "deny", prompts: ["*"], when: "prompt.description.contains('internal') && args.x == '1'" },
      {
        effect: "deny",
        resources: ["**"],
        when: "resource.mimeType == 'text/secret' || resource.uri.endsWith('.key')",
      },
    ]);
    const prompt: PolicyItem = {
      server: "files",
      kind: "prompt",
      original: "p",
      definition: () => ({ description: "internal use" }),
    };
    expect(policy.decide(prompt, me).effect).toBe("allow");
    expect(policy.decideCall(prompt, me, call({ x: "1" })).effect).toBe("deny");
    const resource = (original: string, mimeType?: string): PolicyItem => ({
      server: "files",
      kind: "resource",
      original,
      definition: () => ({ mimeType }),
    });
    expect(policy.decide(resource("file:///a"), me).effect).toBe("allow");
    expect(policy.decide(resource("file:///a", "text/secret"), me).effect).toBe("deny");
    expect(policy.decide(resource("file:///a.key"), me).effect).toBe("deny");
  });

  test("a resource of which nothing is known is denied by a rule that asks more than its URI", () => {
    const bare: PolicyItem = { server: "files", kind: "resource", original: "file:///a" };
    const rule = (when: string): PolicyRule[] => [{ effect: "deny", resources: ["**"], when }];
    expect(policyOf(rule("resource.annotations.priority == 1")).decide(bare, me)).toEqual({
      effect: "deny",
      rule: "rules[0]",
      reason: "its condition cannot be judged: what its server says of it is not known",
    });
    expect(policyOf(rule("resource.uri == 'file:///b'")).decide(bare, me).effect).toBe("allow");
  });

  test("a definition that changed is judged anew, and one caller's decision is not another's", () => {
    const policy = policyOf([
      { effect: "deny", tools: ["*"], when: "tool.annotations.destructiveHint == true && client.name == 'a'" },
    ]);
    const a = { ...me, client: "a" };
    const quiet = tool("x");
    const loud = tool("x", { annotations: { destructiveHint: true } });
    for (let i = 0; i < 3; i++) {
      expect(policy.decide(quiet, a).effect).toBe("allow");
      expect(policy.decide(loud, a).effect).toBe("deny");
      expect(policy.decide(loud, me).effect).toBe("allow");
    }
  });
});

describe("how conditions and effects go together", () => {
  test("an allow that reads arguments keeps its item in the list, and lets through what it is true for", () => {
    const policy = policyOf([{ effect: "allow", tools: ["*"], when: "args.env == 'test'" }], "deny");
    expect(policy.decide(tool("x"), me).effect).toBe("allow");
    expect(policy.decideCall(tool("x"), me, call({ env: "test" })).effect).toBe("allow");
    expect(policy.decideCall(tool("x"), me, call({ env: "prod" }))).toEqual({ effect: "deny", rule: "default" });
    expect(policy.decideCall(tool("x"), me, call({})).effect).toBe("deny");
  });

  test("an error in any rule denies, also in one that allows, and whatever others say", () => {
    const policy = policyOf([
      { effect: "allow", tools: ["*"] },
      { effect: "allow", tools: ["*"], when: "args.a.b" },
    ]);
    expect(policy.decideCall(tool("x"), me, call({ a: 1 }))).toMatchObject({ effect: "deny", rule: "rules[1]" });
    expect(policy.decideCall(tool("x"), me, call({ a: { b: true } }))).toEqual({ effect: "allow", rule: "rules[0]" });
  });

  test("an ask holds where its condition is true, and an error in it denies", () => {
    const policy = policyOf([{ effect: "ask", tools: ["*"], when: "args.amount > 100" }]);
    expect(policy.decide(tool("x"), me).effect).toBe("allow");
    expect(policy.decideCall(tool("x"), me, call({ amount: 5 })).effect).toBe("allow");
    expect(policy.decideCall(tool("x"), me, call({ amount: 500 }))).toEqual({ effect: "ask", rule: "rules[0]" });
    expect(policy.decideCall(tool("x"), me, call({ amount: "500" })).effect).toBe("deny");
  });

  test("of several rules the first in the file is named, whether it reads arguments or not", () => {
    const policy = policyOf([
      { effect: "allow", tools: ["*"], when: "args.a == 1", reason: "first" },
      { effect: "allow", tools: ["*"], reason: "second" },
    ]);
    expect(policy.decideCall(tool("x"), me, call({ a: 1 })).reason).toBe("first");
    expect(policy.decideCall(tool("x"), me, call({ a: 2 })).reason).toBe("second");
  });

  test("rules for some clients, principals or servers are evaluated for no others", () => {
    const policy = policyOf([{ effect: "deny", clients: ["ci"], tools: ["*"], when: "args.missing.thing == 1" }]);
    expect(policy.decideCall(tool("x"), me, call({})).effect).toBe("allow");
    const principals = policyOf([{ effect: "allow", principals: ["team-*"], tools: ["*"] }], "deny");
    expect(principals.decide(tool("x"), { ...me, principal: "team-a" }).effect).toBe("allow");
    expect(principals.decide(tool("x"), { ...me, principal: "other" }).effect).toBe("deny");
    expect(principals.decide(tool("x"), me).effect).toBe("deny");
    const all = policyOf([{ effect: "deny", principals: ["*"], tools: ["*"] }]);
    expect(all.decide(tool("x"), me).effect).toBe("deny");
  });

  test("all limits of the rules that allow hold, and no others", () => {
    const policy = policyOf([
      { effect: "allow", tools: ["*"] },
      { effect: "allow", tools: ["x"], limit: { calls: 5, perMs: 1000 } },
      { effect: "allow", tools: ["*"], when: "args.big == true", limit: { calls: 1, perMs: 9000 } },
    ]);
    const limitsOf = (args: object) => policy.decideCall(tool("x"), me, call(args)).limits?.map(({ rule }) => rule);
    expect(limitsOf({ big: false })).toEqual(["rules[1]"]);
    expect(limitsOf({ big: true })).toEqual(["rules[1]", "rules[2]"]);
    expect(policy.decideCall(tool("y"), me, call({ big: false })).limits).toBeUndefined();
  });
});

describe("questions of servers", () => {
  const policy = policyOf(
    [
      { effect: "deny", questions: ["sampling"], servers: ["db"], reason: "no models for the database" },
      { effect: "deny", questions: ["*"], clients: ["locked-*"] },
      { effect: "deny", questions: ["elicitation"], when: "client.version == '0'" },
    ],
    "deny",
  );

  test("are allowed unless a rule denies them; the default is about items", () => {
    expect(policy.decideQuestion("files", "sampling", me)).toEqual({ effect: "allow", rule: "default" });
    expect(policy.decideQuestion("db", "roots", me).effect).toBe("allow");
  });

  test("are denied by server, client and condition", () => {
    expect(policy.decideQuestion("db", "sampling", me)).toEqual({
      effect: "deny",
      rule: "rules[0]",
      reason: "no models for the database",
    });
    expect(policy.decideQuestion("files", "roots", { ...me, client: "locked-1" }).rule).toBe("rules[1]");
    expect(policy.decideQuestion("files", "elicitation", { ...me, version: "0" }).rule).toBe("rules[2]");
    expect(policy.decideQuestion("files", "elicitation", me).effect).toBe("allow");
  });
});

describe("hostile input ends within a bound and denies", () => {
  const many = (length: number) => Array.from({ length }, (_, i) => `v${i}`);
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const reads = "args.a == 'never'";

  test.each<[string, string, unknown, RegExp]>([
    ["a member twice", reads, '{"a":1,"a":"never"}', /the member "a" stands twice/],
    ["a member twice, escaped", reads, '{"a":1,"\\u0061":"never"}', /stands twice/],
    [
      "a member twice deep inside, where the rule does not look",
      reads,
      '{"a":1,"b":[{"c":{"d":1,"d":2}}]}',
      /stands twice/,
    ],
    ["great depth", reads, deep(100), /nested deeper than 64 levels/],
    ["enormous depth", reads, deep(100_000), /nested deeper than 64 levels/],
    ["many values", reads, { a: many(30_000) }, /more than 20000 values/],
    ["many bytes", reads, { a: "x".repeat(5_000_000) }, /more than 4194304 bytes/],
    ["arguments that are a list", reads, "[1]", /they are not an object/],
    ["arguments that are null", reads, "null", /they are not an object/],
    ["a long text for matches", "args.a.matches('b')", { a: "x".repeat(70_000) }, /matches was given 70000 characters/],
    ["a loop in a loop", "args.a.all(x, args.a.exists(y, y == x))", { a: many(10_000) }, /takes longer/],
    ["a search in a loop", "args.a.filter(x, x in args.a).size() > 0", { a: many(19_000) }, /takes longer/],
    [
      "much text for matches in a loop",
      "args.a.all(x, !args.b.matches('(a+)+$'))",
      { a: many(5_000), b: `${"a".repeat(60_000)}!` },
      /takes longer/,
    ],
    ["a long list that is mapped", "args.a.map(x, x).exists(y, y == 'z')", { a: many(15_000) }, /cannot be judged/],
    ["a number that overflows", "args.n + args.n > 0", '{"n":9223372036854775807}', /cannot be judged/],
    ["a division by zero", "10 / args.n > 0", { n: 0 }, /cannot be judged/],
    ["a text that is no number", "int(args.n) > 0", { n: "1e999999" }, /cannot be judged/],
  ])("%s", (_, when, args, reason) => {
    const policy = policyOf(denies(when));
    const request = call(args);
    const since = performance.now();
    const decision = policy.decideCall(tool("x"), me, request);
    const took = performance.now() - since;
    expect(decision.effect).toBe("deny");
    expect(decision.reason).toMatch(reason);
    expect(took).toBeLessThan(2000);
  });

  test("an error that || swallows is none, but what was not read to the end denies all the same", () => {
    const policy = policyOf(
      [{ effect: "allow", tools: ["*"], when: "args.a.all(x, args.a.all(y, true)) || true" }],
      "deny",
    );
    expect(policy.decideCall(tool("x"), me, call({ a: many(5_000) })).reason).toMatch(/takes longer/);
    expect(policy.decideCall(tool("x"), me, call({})).effect).toBe("allow");
  });

  test.each(["(a+)+$", "(a|a)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)(.*)(.*)(.*)(.*)x", "(a|b)*a(a|b){20}c"])(
    "a regular expression that explodes elsewhere: %s",
    (pattern) => {
      const text = `${"ab".repeat(15_000)}${"a".repeat(30_000)}!`;
      const since = performance.now();
      const decision = judged(`args.s.matches(r'${pattern}')`, { s: text });
      expect(performance.now() - since).toBeLessThan(2000);
      expect(decision.reason).toBeUndefined();
    },
  );

  test("a server's definition without end is no way around: what cannot be read denies", () => {
    let meta: unknown = 1;
    for (let i = 0; i < 5_000; i++) meta = [meta];
    const policy = policyOf(denies("tool._meta.x == 1"));
    expect(policy.decide(tool("x", { _meta: { x: meta } }), me).reason).toContain("nested deeper than 64 levels");
    expect(policy.decide(tool("x", { _meta: { x: many(30_000) } }), me).reason).toContain("more than 20000 values");
  });

  test("no value of the arguments is in the reason", () => {
    for (const when of [
      "int(args.s) > 0",
      "args.s + 1 > 0",
      "args.s.startsWith(args.n)",
      "timestamp(args.s) > timestamp(args.s)",
      "args[args.s] == 1",
    ]) {
      const { reason } = judged(when, { s: "hunter2-secret", n: 7 });
      expect(reason).toContain("cannot be judged");
      expect(reason).not.toContain("hunter2");
    }
  });
});
