import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../../src/config/types.ts";
import { ConfigError, unknownItem } from "../../src/errors.ts";
import type { Answer, ItemKind, Judged } from "../../src/exchange.ts";
import { compilePolicy, policyLayer, visible } from "../../src/pipeline/policy/policy.ts";
import { answer, caller, exchange, resolved, server } from "./support.ts";

const me = { client: "claude-code", principal: undefined };

function policyOf(rules: readonly PolicyRule[], byDefault: "allow" | "deny" = "allow", servers = [server("files")]) {
  return compilePolicy({ policy: { default: byDefault, rules }, servers });
}
const tool = (original: string, of = "files") => ({ server: of, kind: "tool", original }) as const;

describe("rules", () => {
  test("without rules the default decides", () => {
    expect(policyOf([], "allow").decide(tool("x"), me)).toEqual({ effect: "allow", rule: "default" });
    expect(policyOf([], "deny").decide(tool("x"), me)).toEqual({ effect: "deny", rule: "default" });
  });

  test("the decision names the first rule in the file that made it, and its reason", () => {
    const policy = policyOf([
      { effect: "allow", tools: ["*"] },
      { effect: "deny", tools: ["drop_*"], reason: "no drops" },
      { effect: "deny", tools: ["drop_table"] },
    ]);
    expect(policy.decide(tool("drop_table"), me)).toEqual({ effect: "deny", rule: "rules[1]", reason: "no drops" });
    expect(policy.decide(tool("read"), me)).toEqual({ effect: "allow", rule: "rules[0]" });
  });

  test("a rule matches only items of a kind that it names", () => {
    const policy = policyOf([{ effect: "deny", prompts: ["*"] }]);
    expect(policy.decide(tool("x"), me).effect).toBe("allow");
    expect(policy.decide({ server: "files", kind: "resource", original: "docs://x" }, me).effect).toBe("allow");
    expect(policy.decide({ server: "files", kind: "prompt", original: "x" }, me).effect).toBe("deny");
  });

  test("servers and clients narrow a rule", () => {
    const servers = [server("files"), server("db")];
    const policy = policyOf([{ effect: "allow", clients: ["ci-*"], servers: ["d?"], tools: ["*"] }], "deny", servers);
    expect(policy.decide(tool("q", "db"), { client: "ci-7", principal: undefined }).effect).toBe("allow");
    expect(policy.decide(tool("q", "db"), me).effect).toBe("deny");
    expect(policy.decide(tool("q", "files"), { client: "ci-7", principal: undefined }).effect).toBe("deny");
  });

  test("names differ by case, white space and look-alikes", () => {
    const policy = policyOf([{ effect: "allow", tools: ["read"] }], "deny");
    for (const name of ["Read", "read ", " read", "re\u0430d", "read\u200b", "read\n"]) {
      expect(policy.decide(tool(name), me).effect).toBe("deny");
    }
  });

  test("a rule that names no kind is a mistake of the configuration", () => {
    expect(() => policyOf([{ effect: "deny", servers: ["*"] }])).toThrow(/policy\.rules\[0\] names no tools/);
  });

  test("a condition that cannot be meant is refused, not left out", () => {
    expect(() => policyOf([{ effect: "allow", tools: ["*"], when: "tru" }])).toThrow(ConfigError);
  });

  test("an item of a server that is not configured is denied", () => {
    expect(policyOf([], "allow").decide(tool("x", "gone"), me).effect).toBe("deny");
  });
});

describe("filters of an entry", () => {
  const servers = [
    server("files", { tools: { allow: ["read_*", "list"], deny: ["read_secret"] } }),
    server("db", { tools: { allow: undefined, deny: ["drop_*"] } }),
  ];
  test.each([
    ["files", "read_x", "allow", "default"],
    ["files", "list", "allow", "default"],
    ["files", "read_secret", "deny", "mcpServers.files.tools.deny"],
    ["files", "write", "deny", "mcpServers.files.tools.allow"],
    ["db", "drop_table", "deny", "mcpServers.db.tools.deny"],
    ["db", "read_secret", "allow", "default"],
  ])("%s, %s: %s by %s", (of, name, effect, rule) => {
    expect(policyOf([], "allow", servers).decide(tool(name, of), me)).toEqual({ effect, rule });
  });

  test("an allow list without entries allows nothing, and does not touch other kinds", () => {
    const policy = policyOf([], "allow", [server("files", { tools: { allow: [], deny: [] } })]);
    expect(policy.decide(tool("x"), me).effect).toBe("deny");
    expect(policy.decide({ server: "files", kind: "prompt", original: "x" }, me).effect).toBe("allow");
  });

  test("a rule cannot open what a filter closes, and a filter does not open what rules close", () => {
    const open = policyOf([{ effect: "allow", tools: ["*"] }], "deny", servers);
    expect(open.decide(tool("write"), me).rule).toBe("mcpServers.files.tools.allow");
    expect(policyOf([], "deny", servers).decide(tool("list"), me)).toEqual({ effect: "deny", rule: "default" });
  });
});

describe("URIs", () => {
  const resource = (original: string) => ({ server: "files", kind: "resource", original }) as const;
  test.each([
    "file:///secret/x",
    "file:///pub/../secret/x",
    "file:///%73ecret/x",
    "FILE:///secret/x",
    "file:////secret/x",
    "file:///secret/./x",
    "file:///secret/../secret/x",
  ])("a deny entry holds for every spelling: %s", (uri) => {
    const policy = policyOf([{ effect: "deny", resources: ["file:///secret/**"] }]);
    expect(policy.decide(resource(uri), me).effect).toBe("deny");
  });

  test.each([
    ["docs://public/a", "allow"],
    ["docs://public/a%20b", "allow"],
    ["docs://public/../secret", "deny"],
    ["docs://public/%2e%2e/secret", "deny"],
    ["docs://public\\..\\secret", "deny"],
    ["docs://secret", "deny"],
  ])("an allow entry holds only if every spelling matches: %s %s", (uri, effect) => {
    const policy = policyOf([{ effect: "allow", resources: ["docs://public/**"] }], "deny");
    expect(policy.decide(resource(uri), me).effect).toBe(effect);
  });

  test("globs may be written with escapes, like the URIs", () => {
    const policy = policyOf([{ effect: "allow", resources: ["file:///my%20docs/**"] }], "deny");
    expect(policy.decide(resource("file:///my%20docs/a"), me).effect).toBe("allow");
  });
});

describe("what must hold for all policies", () => {
  const name = fc.constantFrom("read_a", "read_b", "write_a", "drop/x", "docs://a/b", "docs://c");
  const glob = fc.constantFrom("*", "read_*", "*_a", "drop*", "{read,write}_a", "docs://**", "docs://*");
  const globs = fc.array(glob, { minLength: 1, maxLength: 2 });
  const rule: fc.Arbitrary<PolicyRule> = fc.record(
    {
      effect: fc.constantFrom("allow", "deny"),
      tools: globs,
      prompts: globs,
      resources: globs,
      servers: fc.constantFrom(["files"], ["d*"]),
      clients: fc.constantFrom(["claude-*"], ["ci"]),
    },
    { requiredKeys: ["effect", "tools"] },
  );
  const item = fc.record({
    server: fc.constantFrom("files", "db"),
    kind: fc.constantFrom<ItemKind>("tool", "prompt", "resource"),
    original: name,
  });
  const servers = [server("files"), server("db", { tools: { allow: ["read_*"], deny: [] } })];
  const byDefault = fc.constantFrom<"allow" | "deny">("allow", "deny");

  test("the order of rules has no meaning", () => {
    fc.assert(
      fc.property(fc.array(rule), item, byDefault, fc.nat(), (rules, one, fallback, turn) => {
        const at = rules.length === 0 ? 0 : turn % rules.length;
        const turned = [...rules.slice(at), ...rules.slice(0, at)].reverse();
        const effect = policyOf(rules, fallback, servers).decide(one, me).effect;
        expect(policyOf(turned, fallback, servers).decide(one, me).effect).toBe(effect);
      }),
    );
  });

  test("deny wins: one more deny rule never opens anything, one more allow rule never opens what a rule denies", () => {
    fc.assert(
      fc.property(fc.array(rule), rule, item, byDefault, (rules, more, one, fallback) => {
        const before = policyOf(rules, fallback, servers).decide(one, me);
        const after = policyOf([...rules, more], fallback, servers).decide(one, me);
        if (before.effect === "deny" && (more.effect === "deny" || before.rule !== "default")) {
          expect(after.effect).toBe("deny");
        }
      }),
    );
  });

  test("asked again it says the same, also after many others", () => {
    const policy = policyOf([{ effect: "deny", tools: ["t1*"], clients: ["claude-*"] }]);
    const first = Array.from({ length: 50 }, (_, i) => policy.decide(tool(`t${i}`), me));
    for (let i = 0; i < 25_000; i++) policy.decide(tool(`other${i}`), { client: `client${i}`, principal: undefined });
    expect(Array.from({ length: 50 }, (_, i) => policy.decide(tool(`t${i}`), me))).toEqual(first);
  });
});

describe("unused entries", () => {
  test("allow entries that match nothing are named, with the place where they are written", () => {
    const servers = [server("files", { tools: { allow: ["read", "list_*", "wriet"], deny: ["none"] } })];
    const policy = policyOf(
      [
        { effect: "allow", servers: ["files", "flies"], tools: ["read"], prompts: ["p*"] },
        { effect: "deny", servers: ["dbb"], tools: ["nothing"] },
      ],
      "allow",
      servers,
    );
    expect(policy.unused([tool("read"), tool("list_all")])).toEqual([
      'mcpServers.files.tools.allow: "wriet" matches no tool of this server',
      'policy.rules[0].servers: "flies" matches no enabled server',
      'policy.rules[0].prompts: "p*" matches no prompt',
      'policy.rules[1].servers: "dbb" matches no enabled server',
    ]);
  });
});

describe("the layer", () => {
  const reached: Judged[] = [];
  const next = (judged: Judged): Promise<Answer> => {
    reached.push(judged);
    return Promise.resolve(answer());
  };
  const denying = policyOf([{ effect: "deny", tools: ["drop_table"], reason: "no drops" }]);

  test("what is allowed goes on, with its decision on the trail", async () => {
    const one = resolved(exchange("tools/call", { name: "x" }), tool("read"));
    await policyLayer(denying)(next)(one);
    expect(reached.pop()).toBe(one);
    expect(one.trail.decision).toEqual({ effect: "allow", rule: "default" });
  });

  test.each<ItemKind>(["tool", "prompt", "resource"])(
    "a denied %s is answered exactly like an unknown one",
    async (kind) => {
      const policy = policyOf([], "deny");
      const one = resolved(exchange("tools/call", { name: "x" }), {
        server: "files",
        kind,
        original: "secret-original",
      });
      one.trail.publicName = "shown";
      const fault = await policyLayer(policy)(next)(one).then(
        () => undefined,
        (error: unknown) => error,
      );
      const { message, code, data, server: of, retrySafe } = unknownItem(kind, "shown");
      expect(fault).toMatchObject({ message, code, data, server: of, retrySafe });
      expect(JSON.stringify(fault)).not.toContain("original");
      expect(reached).toEqual([]);
      expect(one.trail.decision).toEqual({ effect: "deny", rule: "default" });
    },
  );

  test("a rename or a prefix cannot open a door: the original name is judged", async () => {
    const one = resolved(exchange("tools/call", { name: "harmless" }), tool("drop_table"));
    one.trail.publicName = "harmless";
    await expect(policyLayer(denying)(next)(one)).rejects.toThrow("Unknown tool: harmless");
    expect(one.trail.decision?.rule).toBe("rules[0]");
  });

  test("lists and questions to the host are let through", async () => {
    for (const target of [{ type: "all" }, { type: "host", server: "files" }] as const) {
      const one = { ...exchange("tools/list", {}), target };
      await policyLayer(policyOf([], "deny"))(next)(one);
      expect(reached.pop()).toBe(one);
      expect(one.trail.decision).toEqual({ effect: "allow", rule: "default" });
    }
  });

  test("lists show exactly what calls may reach", () => {
    for (const name of ["drop_table", "read"]) {
      expect(visible(denying, tool(name), me)).toBe(
        denying.decide(tool(name), { client: caller.client.name, principal: undefined }).effect === "allow",
      );
    }
  });
});
