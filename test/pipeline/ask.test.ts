/** The effect "ask" among the others, with the spellings by which a URI could slip past a question. */
import { expect, test } from "vitest";
import type { PolicyRule } from "../../src/config/types.ts";
import { compilePolicy } from "../../src/pipeline/policy/policy.ts";
import { server } from "./support.ts";

const me = { client: "claude-code", version: "1", principal: undefined };

function effectOf(rules: readonly PolicyRule[], byDefault: "allow" | "deny", original: string) {
  const kind = original.includes("://") ? ("resource" as const) : ("tool" as const);
  const policy = compilePolicy({ policy: { default: byDefault, rules }, servers: [server("files")] });
  return policy.decide({ server: "files", kind, original }, me).effect;
}

test.each([
  [["deny", "ask", "allow"], "allow", "deny"],
  [["ask", "allow"], "deny", "ask"],
  [["allow", "ask"], "allow", "ask"],
  [["ask"], "deny", "ask"],
  [["allow"], "deny", "allow"],
  [[], "deny", "deny"],
] as const)("of %j with default %s: %s", (effects, byDefault, expected) => {
  const rules = effects.map((effect) => ({ effect, tools: ["x"] }));
  expect(effectOf(rules, byDefault, "x")).toBe(expected);
  expect(effectOf(rules.toReversed(), byDefault, "x")).toBe(expected);
});

test("a URI that may be one the user is to be asked about is asked about where it would pass, and denied where it would not", () => {
  const rules: PolicyRule[] = [{ effect: "ask", resources: ["file:///secret/**"] }];
  for (const spelling of ["file:///public/../secret/x", "file:///%73ecret/x", "FILE:///secret/x"]) {
    expect(effectOf(rules, "allow", spelling)).toBe("ask");
    expect(effectOf(rules, "deny", spelling)).toBe("deny");
    expect(effectOf([...rules, { effect: "allow", resources: ["**"] }], "deny", spelling)).toBe("ask");
  }
  // Written as a secret, but it is none: the rule does not surely mean it.
  expect(effectOf(rules, "deny", "file:///secret/../public/x")).toBe("deny");
  expect(effectOf(rules, "deny", "file:///secret/x")).toBe("ask");
});

test("the entry's own lists hold besides: what they hide nobody is asked about", () => {
  const hidden = server("files", { tools: { allow: undefined, deny: ["drop"] } });
  const policy = compilePolicy({
    policy: { default: "allow", rules: [{ effect: "ask", tools: ["*"] }] },
    servers: [hidden],
  });
  expect(policy.decide({ server: "files", kind: "tool", original: "drop" }, me).effect).toBe("deny");
  expect(policy.decide({ server: "files", kind: "tool", original: "read" }, me).effect).toBe("ask");
});

test("an ask rule that matches nothing is reported: a guard that was mistyped guards nothing", () => {
  const policy = compilePolicy({
    policy: { default: "allow", rules: [{ effect: "ask", tools: ["writ_*"] }] },
    servers: [server("files")],
  });
  expect(policy.unused([{ server: "files", kind: "tool", original: "write_file" }]).join()).toContain("writ_*");
});
