/**
 * Conditions of rules, said to be wrong when the file is loaded. What a condition means is decided in one place, the
 * policy's. Loads the CEL library if some rule has one: reach this by `await import()`.
 */
import { ConditionError } from "../pipeline/policy/condition.ts";
import { conditionOf } from "../pipeline/policy/conditions.ts";
import { nearest } from "./nearest.ts";
import type { Problem } from "./problem.ts";
import type { PolicyRule } from "./types.ts";

export function conditionProblems(rules: readonly PolicyRule[]): Problem[] {
  return rules.flatMap((rule, index) => {
    try {
      conditionOf(rule);
      return [];
    } catch (error) {
      if (!(error instanceof ConditionError)) throw error;
      const { message, position, unknown } = error;
      const near = unknown && nearest(unknown.word, unknown.known);
      const known = unknown && `Known here: ${unknown.known.join(", ")}.`;
      return [
        {
          path: ["policy", "rules", index, "when"],
          reason: `${message}${position === undefined ? "" : ` (character ${position})`}`,
          remedy: near === undefined ? (known ?? "Correct the condition.") : `Did you mean "${near}"?`,
        },
      ];
    }
  });
}
