import { describe, expect, it } from "vitest";
import { load, refusal } from "./support.ts";

const one = { mcpServers: { a: { command: "x" } } };
const withRule = (rule: object) => ({ ...one, policy: { rules: [rule] } });
const withWhen = (when: string, more: object = {}) => withRule({ effect: "deny", tools: ["*"], when, ...more });

describe("a rule of the file", () => {
  it("may have conditions, principals, a limit, questions", async () => {
    const rules = [
      { effect: "allow", tools: ["*"], principals: ["ci-*"], limit: { calls: 5, perMs: 10_000, burst: 2 } },
      { effect: "deny", questions: ["sampling", "*"], servers: ["a"], when: "client.name == 'x'" },
    ];
    expect((await load({ ...one, policy: { rules } })).policy.rules).toEqual(rules);
  });

  it.each<[string, object, string]>([
    [
      "a limit stands on a deny",
      withRule({ effect: "deny", tools: ["*"], limit: { calls: 1, perMs: 1 } }),
      "policy.rules[0].limit: only an allow rule can have a limit",
    ],
    [
      "a limit lets nothing through",
      withRule({ effect: "allow", tools: ["*"], limit: { calls: 0, perMs: 1 } }),
      "policy.rules[0].limit.calls: is too small. Write 1 or more",
    ],
    [
      "a limit has no span",
      withRule({ effect: "allow", tools: ["*"], limit: { calls: 1 } }),
      "policy.rules[0].limit.perMs: the key is missing",
    ],
    [
      "an allow names questions, which are allowed anyway",
      withRule({ effect: "allow", questions: ["roots"] }),
      "policy.rules[0].questions: only a deny rule can name questions",
    ],
    [
      "a question is not known",
      withRule({ effect: "deny", questions: ["samplings"] }),
      'policy.rules[0].questions[0]: is not one of the values that are known. Write "sampling", "elicitation", "roots" or "*"',
    ],
    [
      "a key of a limit is mistyped",
      withRule({ effect: "allow", tools: ["*"], limit: { cals: 1 } }),
      'Did you mean "calls"?',
    ],
  ])("is refused when %s", async (_, content, expected) => {
    expect(await refusal(content)).toContain(expected);
  });
});

describe("a condition of the file", () => {
  it("is refused with key, line, reason, place and remedy", async () => {
    const text = `{ "mcpServers": { "a": { "command": "x" } },
      "policy": { "rules": [
        { "effect": "deny", "tools": ["*"], "when": "server == 'a' && tol.name == 'b'" },
      ] } }`;
    expect(await refusal(text)).toBe(
      'switchyard.json:3: policy.rules[0].when: there is no variable "tol" (character 18). Did you mean "tool"?',
    );
  });

  it.each<[string, string, string]>([
    ["it ends too early", "server ==", 'it is not CEL: "=" cannot stand here (character 8)'],
    ["it holds a stray character", "server ~ 'a'", 'it is not CEL: "~" cannot stand here (character 8)'],
    ["it has no value", " ", "it is not CEL"],
    [
      "a member of a tool is not known",
      "tool.anotations.x == 1",
      'there is no member "anotations" (character 5). Did you mean "annotations"?',
    ],
    [
      "a member of a tool is not known, in brackets",
      "tool['nam'] == 'x'",
      'there is no member "nam" (character 5). Did you mean "name"?',
    ],
    [
      "a function is not known",
      "args.sql.match('x')",
      'there is no function "match" (character 9). Did you mean "matches"?',
    ],
    ["a text has no members", "server.name == 'x'", 'a text has no member "name" (character 7)'],
    [
      "a function does not take that",
      "tool.name.startsWith(1)",
      '"startsWith" does not take a text and a whole number',
    ],
    ["a function takes more", "tool.name.startsWith()", '"startsWith" does not take a text'],
    [
      "an operator does not take that",
      "server + 1 == 'a'",
      '"+" does not take a text and a whole number (character 7)',
    ],
    ["two kinds never equal", "client.version == 2", "a text never equals a whole number (character 16)"],
    ["it is no condition", "tool.name", "it is a text, not true or false"],
    ["an operand of && is no condition", "server == 'a' && client.name", "&& needs true or false, not a text"],
    [
      "a pattern is none",
      "args.x.matches('(a')",
      "the pattern of matches is not a regular expression (RE2) (character 16)",
    ],
    ["a pattern is the caller's", "args.x.matches(args.y)", "the pattern of matches must be a text written here"],
    [
      "a variable is read that prompts have not",
      "tool.name == 'x'",
      '"tool" is not there for prompts, which this rule names too',
    ],
    ["it is very deep", `${"(".repeat(20_000)}true${")".repeat(20_000)}`, "it is nested too deeply"],
    ["it makes a value of an unknown type", "Foo{a: 1} == args.x", 'there is no type "Foo"'],
    ["a loop runs over a text", "server.all(x, x == 'a')", "a text has no elements"],
  ])("is refused when %s", async (reason, when, expected) => {
    const more = reason.includes("prompts") ? { prompts: ["*"] } : {};
    expect(await refusal(withWhen(when, more))).toContain(`policy.rules[0].when: ${expected}`);
  });

  it("is refused when it reads arguments of what has none", async () => {
    const questions = { effect: "deny", questions: ["*"], when: "args.x == 1" };
    expect(await refusal(withRule(questions))).toContain('"args" is not there for questions');
    const resources = { effect: "deny", resources: ["*"], when: "args.x == 1" };
    expect(await refusal(withRule(resources))).toContain('"args" is not there for resources.');
  });

  it.each([
    "tool.annotations.destructiveHint == true",
    "args.sql.matches('(?i)drop|delete')",
    "has(args.path) && (args.path.startsWith('/etc') || args.path.contains('..'))",
    "args.ids.exists(id, id > 10) && size(args.ids) < 100 && !('all' in args.ids)",
    "client.name == 'ci' && principal != '' && server in ['a', 'b'] ? args.n % 2 == 0 : false",
    "args.when < timestamp('2026-01-01T00:00:00Z') || type(args.n) == int || args.list[0] == 1.5",
    "tool._meta['com.example/risk'] == 'high' && args.items.map(x, x.size()).all(n, n < 10)",
    "args.force",
  ])("is taken where it can be meant: %s", async (when) => {
    expect((await load(withWhen(when))).policy.rules[0]?.when).toBe(when);
  });
});
