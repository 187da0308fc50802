/** Why an item is decided on as it is: every filter and rule that reaches it, and what each says. For people. */
import type { RateLimit } from "../../config/types.ts";
import type { Decision, PolicyItem } from "../../exchange.ts";
import type { Frame } from "../../wire/frame.ts";
import { argumentsOf } from "./cel-values.ts";
import { matchesOf, readsArguments, truthOf } from "./judge.ts";
import type { Filters, PolicyCaller } from "./policy.ts";
import {
  type CompiledFilter,
  type CompiledRule,
  mayMatch,
  reachesCaller,
  type Spelled,
  spelled,
  surelyMatches,
} from "./rules.ts";
import { Subject } from "./subject.ts";

export interface Explanation {
  readonly decision: Decision;
  readonly matched: readonly RuleReport[];
}

export interface RuleReport {
  /** Where it is written. */
  readonly rule: string;
  readonly effect: Decision["effect"];
  /**
   * "holds", or why not: "other callers" are meant, its condition is "false", it "depends on the arguments" and there are
   * none, or it "cannot be judged", which denies.
   */
  readonly says: "holds" | "other callers" | "false" | "depends on the arguments" | "cannot be judged";
  readonly when?: string;
  /** Why it cannot be judged, or what the rule gives as its reason. */
  readonly reason?: string;
  readonly limit?: RateLimit;
}

export interface ExplainOptions {
  readonly item: PolicyItem;
  readonly caller: PolicyCaller;
  readonly request: Frame | undefined;
  readonly rules: readonly CompiledRule[];
  /** Undefined for a server that is not configured. */
  readonly filters: Filters | undefined;
  readonly decision: Decision;
}

export function explanation({ item, caller, request, rules, filters, decision }: ExplainOptions): Explanation {
  const name = spelled(item.kind, item.original);
  const matched = filters === undefined ? [] : filterReports(filters[item.kind], name);
  const subject = new Subject(item.server, caller, item);
  const unread = request === undefined ? undefined : readArguments(subject, request);
  for (const { rule } of matchesOf(rules, item.server, item.kind, name)) {
    matched.push(report(rule, sayingOf(rule, caller, subject, item, request !== undefined, unread)));
  }
  return { decision, matched };
}

/** Why they cannot be read, if so. */
function readArguments(subject: Subject, request: Frame): string | undefined {
  try {
    subject.args = argumentsOf(request);
    return undefined;
  } catch (error) {
    return `of the arguments: ${(error as Error).message}`;
  }
}

type Saying = Pick<RuleReport, "says" | "reason">;

function sayingOf(
  rule: CompiledRule,
  caller: PolicyCaller,
  subject: Subject,
  item: PolicyItem,
  isCall: boolean,
  unread: string | undefined,
): Saying {
  if (!reachesCaller(rule, caller.client, caller.principal)) return { says: "other callers" };
  if (readsArguments(rule) && !isCall) return { says: "depends on the arguments" };
  if (readsArguments(rule) && unread !== undefined) return { says: "cannot be judged", reason: unread };
  const truth = truthOf(rule, subject, item);
  if (typeof truth === "string") return { says: "cannot be judged", reason: truth };
  return { says: truth ? "holds" : "false" };
}

function report({ where, decision, condition, limit }: CompiledRule, saying: Saying): RuleReport {
  const reason = saying.reason ?? decision.reason;
  return {
    rule: where,
    effect: decision.effect,
    says: saying.says,
    ...(condition === undefined ? {} : { when: condition.source }),
    ...(reason === undefined ? {} : { reason }),
    ...(limit === undefined ? {} : { limit: withoutPlace(limit) }),
  };
}

function withoutPlace({ calls, perMs, burst }: RateLimit): RateLimit {
  return { calls, perMs, ...(burst === undefined ? {} : { burst }) };
}

function filterReports({ allow, deny, denied, notAllowed }: CompiledFilter, name: Spelled): RuleReport[] {
  const reports: RuleReport[] = [];
  if (mayMatch(deny, name)) reports.push({ rule: denied.rule, effect: "deny", says: "holds" });
  if (allow !== undefined) {
    const effect = surelyMatches(allow, name) ? "allow" : "deny";
    reports.push({ rule: notAllowed.rule, effect, says: "holds" });
  }
  return reports;
}
