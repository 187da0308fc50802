/**
 * Rules -> decision. Judged on (server, kind, original name), the caller, and what conditions read; never on a public
 * name, so a rename or a prefix cannot open a door. Pure: the same item, caller and arguments always get the same
 * decision, so what does not depend on arguments is kept.
 */
import type { PolicyConfig, QuestionKind, ServerConfig } from "../../config/types.ts";
import type { Decision, ItemKind, PolicyItem } from "../../exchange.ts";
import type { Frame } from "../../wire/frame.ts";
import { TreeFault } from "../../wire/tree.ts";
import { argumentsOf } from "./cel-values.ts";
import { type Explanation, explanation } from "./explain.ts";
import {
  cannotJudge,
  decisionOf,
  type Match,
  matchesOf,
  shownBy,
  type Tally,
  tallyOf,
  truthOf,
  withArguments,
} from "./judge.ts";
import {
  type CompiledFilter,
  type CompiledRule,
  compileFilter,
  compileRule,
  mayMatch,
  reachesCaller,
  reachesQuestion,
  spelled,
  surelyMatches,
} from "./rules.ts";
import { Subject } from "./subject.ts";
import { type Known, unusedFilters, unusedRules } from "./unused.ts";

export { policyLayer } from "./layer.ts";

/** Who asks, as far as rules can tell callers apart. */
export interface PolicyCaller {
  /** The name that the client gave itself: a convenience for rules, no authentication. */
  readonly client: string;
  readonly version?: string;
  readonly principal: string | undefined;
}

export interface Policy {
  /** As lists show it: a condition on arguments neither hides an item nor denies it. */
  decide(item: PolicyItem, caller: PolicyCaller): Decision;
  /** A call with these arguments. */
  decideCall(item: PolicyItem, caller: PolicyCaller, request: Frame): Decision;
  /** May the server ask the host? Allowed unless a rule denies; `default` is about items. */
  decideQuestion(server: string, question: QuestionKind, caller: PolicyCaller): Decision;
  /** Some rule tells callers apart. */
  readonly perCaller: boolean;
  /** Whether some resource of the server could be denied to somebody. */
  mayHideResources(server: string): boolean;
  /** Every rule and filter that reaches the item, and what it says; `request`: a call, if there is one. */
  explain(item: PolicyItem, caller: PolicyCaller, request: Frame | undefined): Explanation;
  /**
   * What of the configuration has no effect on these items, one sentence each: allow entries that match none of them,
   * and servers of a rule that are not in the file. `items` are all items of all servers, hidden ones too; nothing is
   * said of what is not `known`.
   */
  unused(items: readonly PolicyItem[], known?: Known): string[];
}

/** Kept decisions, and callers, before all are forgotten: a host may ask for any number of URIs. */
const MAX_DECISIONS = 20_000;
const MAX_CALLERS = 1_000;
/** Longer names are judged anew each time, so that what is kept stays small. */
const MAX_KEPT_NAME = 1_024;
const OPEN: Decision = { effect: "allow", rule: "default" };

export type Filters = Readonly<Record<ItemKind, CompiledFilter>>;

/** What is known of one item for one caller. */
interface Judgement {
  readonly matches: readonly Match[];
  /** The item as it was when the rest was found out; undefined where no condition is in it. */
  readonly item: PolicyItem | undefined;
  readonly shown: Decision;
  /** Undefined where arguments change nothing. */
  readonly open: { readonly tally: Tally; readonly subject: Subject } | undefined;
}

/** The rules that are left for one caller, and what they said so far. */
interface CallerPart {
  readonly rules: readonly CompiledRule[];
  readonly kept: Map<string, Record<ItemKind, Map<string, Judgement>>>;
}

/** @throws ConfigError for a glob, a condition or a rule that cannot be meant */
export function compilePolicy(config: { policy: PolicyConfig; servers: readonly ServerConfig[] }): Policy {
  const rules = config.policy.rules.map(compileRule);
  const fallback: Decision = { effect: config.policy.default, rule: "default" };
  const servers = new Map<string, Filters>(
    config.servers.map((server) => [
      server.name,
      {
        tool: compileFilter(server, "tool"),
        prompt: compileFilter(server, "prompt"),
        resource: compileFilter(server, "resource"),
      },
    ]),
  );
  const perCaller = rules.some(
    ({ clients, principals, condition }) =>
      clients !== undefined ||
      principals !== undefined ||
      condition?.reads.has("client") === true ||
      condition?.reads.has("principal") === true,
  );
  const everyone: CallerPart = { rules, kept: new Map() };
  const callers = new Map<string, CallerPart>();
  let count = 0;

  function partOf({ client, version, principal }: PolicyCaller): CallerPart {
    if (!perCaller) return everyone;
    const key = `${client}\0${version ?? ""}\0${principal ?? ""}\0${principal === undefined}`;
    const known = callers.get(key);
    if (known !== undefined) return known;
    const part = { rules: rules.filter((rule) => reachesCaller(rule, client, principal)), kept: new Map() };
    if (key.length > MAX_KEPT_NAME) return part;
    if (callers.size >= MAX_CALLERS) callers.clear();
    callers.set(key, part);
    return part;
  }

  /** What hides the item before any rule is asked. */
  function filtered(item: PolicyItem, filters: Filters | undefined): Decision | undefined {
    // Between two configurations an exchange may name a server that has gone: without its filters nothing is certain.
    if (filters === undefined) return { effect: "deny", rule: `mcpServers.${item.server}`, reason: "not configured" };
    const filter = filters[item.kind];
    const name = spelled(item.kind, item.original);
    if (mayMatch(filter.deny, name)) return filter.denied;
    return filter.allow !== undefined && !surelyMatches(filter.allow, name) ? filter.notAllowed : undefined;
  }

  function judge(part: CallerPart, item: PolicyItem, caller: PolicyCaller, known: Judgement | undefined): Judgement {
    const closed = known === undefined ? filtered(item, servers.get(item.server)) : undefined;
    if (closed !== undefined) return { matches: [], item: undefined, shown: closed, open: undefined };
    const name = spelled(item.kind, item.original);
    const matches = known?.matches ?? matchesOf(part.rules, item.server, item.kind, name);
    const subject = new Subject(item.server, caller, item);
    const tally = tallyOf(matches, subject, item);
    const conditional = matches.some(({ rule }) => rule.condition !== undefined);
    const pending = tally.denied === undefined && tally.pending.length > 0;
    return {
      matches,
      item: conditional ? item : undefined,
      shown: decisionOf(shownBy(tally), fallback),
      open: pending ? { tally, subject } : undefined,
    };
  }

  function judgementOf(item: PolicyItem, caller: PolicyCaller): Judgement {
    const part = partOf(caller);
    let ofServer = part.kept.get(item.server);
    const known = ofServer?.[item.kind].get(item.original);
    if (known !== undefined && (known.item === undefined || known.item === item)) return known;
    const judgement = judge(part, item, caller, known);
    if (item.original.length > MAX_KEPT_NAME || !servers.has(item.server)) return judgement;
    if (known === undefined && count++ >= MAX_DECISIONS) {
      count = 1;
      everyone.kept.clear();
      callers.clear();
      part.kept.clear();
      ofServer = undefined;
    }
    if (ofServer === undefined) {
      ofServer = { tool: new Map(), prompt: new Map(), resource: new Map() };
      part.kept.set(item.server, ofServer);
    }
    ofServer[item.kind].set(item.original, judgement);
    return judgement;
  }

  function decideCall(item: PolicyItem, caller: PolicyCaller, request: Frame): Decision {
    const { shown, open } = judgementOf(item, caller);
    if (open === undefined) return shown;
    const { tally, subject } = open;
    try {
      subject.args = argumentsOf(request);
      return decisionOf(withArguments(tally, subject, item), fallback);
    } catch (error) {
      if (!(error instanceof TreeFault)) throw error;
      return cannotJudge(tally.pending[0]!.rule, `of the arguments: ${error.message}`);
    } finally {
      subject.args = undefined;
    }
  }

  return {
    perCaller,
    mayHideResources(server) {
      const filter = servers.get(server)?.resource;
      if (filter === undefined || filter.allow !== undefined || filter.deny.globs.length > 0) return true;
      return fallback.effect === "deny" || rules.some((rule) => mayDeny(rule, server, "resource"));
    },
    decide: (item, caller) => judgementOf(item, caller).shown,
    decideCall,
    decideQuestion(server, question, caller) {
      const subject = new Subject(server, caller, undefined);
      for (const rule of partOf(caller).rules) {
        if (!reachesQuestion(rule, server, question)) continue;
        const truth = truthOf(rule, subject, undefined);
        if (truth === true) return rule.decision;
        if (truth !== false) return cannotJudge(rule, truth);
      }
      return OPEN;
    },
    explain: (item, caller, request) =>
      explanation({
        item,
        caller,
        request,
        rules,
        filters: servers.get(item.server),
        decision: request === undefined ? judgementOf(item, caller).shown : decideCall(item, caller, request),
      }),
    unused: (items, known = () => true) => [
      ...unusedFilters(servers, items, known),
      ...unusedRules(rules, [...servers.keys()], items, known),
    ],
  };
}

/** A condition that cannot be judged denies, whatever the effect. */
function mayDeny(rule: CompiledRule, server: string, kind: ItemKind): boolean {
  if (rule.decision.effect !== "deny" && rule.condition === undefined) return false;
  return (
    rule.items[kind] !== undefined && (rule.servers === undefined || mayMatch(rule.servers, spelled("tool", server)))
  );
}

/** Lists: may the caller see the item? */
export function visible(policy: Policy, item: PolicyItem, caller: PolicyCaller): boolean {
  return policy.decide(item, caller).effect !== "deny";
}
