/** The condition of a rule: compiled when the file is loaded, and found again when the policy is made from it. */
import type { PolicyRule } from "../../config/types.ts";
import type { Variable } from "./cel-kinds.ts";
import { type Condition, ConditionError, compileCondition } from "./condition.ts";

const compiled = new WeakMap<PolicyRule, Condition>();

/** What is there to be read for everything that a rule names. */
const COMMON: readonly Variable[] = ["server", "client", "principal"];
const THERE: Readonly<Record<"tools" | "prompts" | "resources" | "questions", readonly Variable[]>> = {
  tools: [...COMMON, "tool", "args"],
  prompts: [...COMMON, "prompt", "args"],
  resources: [...COMMON, "resource"],
  questions: COMMON,
};
const NAMED = ["tools", "prompts", "resources", "questions"] as const;

/** Undefined for a rule without `when`. @throws ConditionError */
export function conditionOf(rule: PolicyRule): Condition | undefined {
  if (rule.when === undefined) return undefined;
  const known = compiled.get(rule);
  if (known !== undefined) return known;
  const condition = compileCondition(rule.when);
  const named = NAMED.filter((key) => rule[key] !== undefined);
  for (const variable of condition.reads) {
    const without = named.find((key) => !THERE[key].includes(variable));
    if (without === undefined) continue;
    const others = named.length > 1 ? ", which this rule names too: write a rule for each" : "";
    throw new ConditionError(`"${variable}" is not there for ${without}${others}`);
  }
  compiled.set(rule, condition);
  return condition;
}
