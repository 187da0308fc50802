/**
 * The rules that reach an item, and what they come to: any deny wins, else any ask, else any allow, else the default. The
 * order of rules has no meaning; the first in the file is the one that is named. Conditions that read arguments are
 * judged when there are some: a list shows what some call may reach.
 */
import type { Decision, ItemKind, LimitOf, PolicyItem } from "../../exchange.ts";
import type { Bindings } from "./condition.ts";
import { type CompiledRule, mayReach, reaches, type Spelled } from "./rules.ts";

export interface Match {
  readonly rule: CompiledRule;
  /** Place in the file. */
  readonly index: number;
  /** False of a rule that asks: the name may be one that it means. */
  readonly sure: boolean;
}

/** What the rules say that were looked at so far. */
export interface Tally {
  denied: Decision | undefined;
  asking: Match | undefined;
  perhaps: Match | undefined;
  allowing: Match | undefined;
  limits: readonly LimitOf[];
  /** Rules whose conditions read arguments. */
  pending: readonly Match[];
}

/** What a rule's condition says: a string is the reason why it cannot be judged. */
export type Truth = boolean | string;

/** Rules that reach the item by its server and name. */
export function matchesOf(rules: readonly CompiledRule[], server: string, kind: ItemKind, name: Spelled): Match[] {
  return rules.flatMap((rule, index): Match[] => {
    if (reaches(rule, server, kind, name)) return [{ rule, index, sure: true }];
    const perhaps = rule.decision.effect === "ask" && mayReach(rule, server, kind, name);
    return perhaps ? [{ rule, index, sure: false }] : [];
  });
}

/** Without arguments: rules that read them are pending. */
export function tallyOf(matches: readonly Match[], bindings: Bindings, item: PolicyItem | undefined): Tally {
  const tally = empty();
  const pending: Match[] = [];
  tally.pending = pending;
  for (const match of matches) {
    if (readsArguments(match.rule)) pending.push(match);
    else add(tally, match, truthOf(match.rule, bindings, item));
    if (tally.denied !== undefined) break;
  }
  return tally;
}

/** `bindings` has the arguments. */
export function withArguments(tally: Tally, bindings: Bindings, item: PolicyItem): Tally {
  const all = { ...tally, pending: [] };
  for (const match of tally.pending) {
    if (all.denied !== undefined) break;
    add(all, match, truthOf(match.rule, bindings, item));
  }
  return all;
}

/** As a list shows it: what is pending may turn out to allow, and need not deny. */
export function shownBy(tally: Tally): Tally {
  const all = { ...tally, pending: [] };
  for (const match of tally.pending) if (match.rule.decision.effect === "allow") add(all, match, true);
  return all;
}

export function decisionOf({ denied, asking, perhaps, allowing, limits }: Tally, fallback: Decision): Decision {
  if (denied !== undefined) return denied;
  const rest = allowing?.rule.decision ?? fallback;
  // A spelling that only perhaps is the one the user is to be asked about must not get round the question, nor past a deny.
  const doubt = rest.effect === "allow" ? perhaps?.rule.decision : undefined;
  const decision = asking?.rule.decision ?? doubt ?? rest;
  return limits.length === 0 || decision.effect === "deny" ? decision : { ...decision, limits };
}

export function readsArguments({ condition }: CompiledRule): boolean {
  return condition?.reads.has("args") === true;
}

export function truthOf({ condition }: CompiledRule, bindings: Bindings, item: PolicyItem | undefined): Truth {
  if (condition === undefined) return true;
  if (condition.needsDefinition && item?.definition === undefined) return "what its server says of it is not known";
  return condition.evaluate(bindings);
}

export function cannotJudge(rule: CompiledRule, reason: string): Decision {
  return { effect: "deny", rule: rule.where, reason: `its condition cannot be judged: ${reason}` };
}

function empty(): Tally {
  return { denied: undefined, asking: undefined, perhaps: undefined, allowing: undefined, limits: [], pending: [] };
}

function add(tally: Tally, match: Match, truth: Truth): void {
  const { rule, sure } = match;
  if (truth === false) return;
  if (typeof truth === "string") {
    tally.denied ??= cannotJudge(rule, truth);
    return;
  }
  const { effect } = rule.decision;
  if (effect === "deny") tally.denied ??= rule.decision;
  else if (effect === "allow") {
    tally.allowing = first(tally.allowing, match);
    if (rule.limit !== undefined) tally.limits = [...tally.limits, rule.limit];
  } else if (sure) tally.asking = first(tally.asking, match);
  else tally.perhaps = first(tally.perhaps, match);
}

function first(one: Match | undefined, other: Match): Match {
  return one === undefined || other.index < one.index ? other : one;
}
