/**
 * Rules and filters as data: what of the configuration can match what, compiled once. `judge.ts` evaluates them.
 */
import type { Filter, PolicyRule, QuestionKind, ServerConfig } from "../../config/types.ts";
import { ConfigError } from "../../errors.ts";
import type { Decision, ItemKind, LimitOf } from "../../exchange.ts";
import type { Condition } from "./condition.ts";
import { ConditionError } from "./condition.ts";
import { conditionOf } from "./conditions.ts";
import { compileGlob, type Glob, type GlobStyle } from "./glob.ts";
import { decodeEscapes, plainSpellings } from "./spelling.ts";

/** The key of a rule and of an entry for each kind of item. */
export const KEYS = { tool: "tools", prompt: "prompts", resource: "resources" } as const;
export const KINDS = ["tool", "prompt", "resource"] as const satisfies readonly ItemKind[];

/** Globs of one list of one kind. */
export interface GlobList {
  /** Where it is written: "rules[2].tools". */
  readonly where: string;
  readonly globs: readonly Glob[];
  /** Of URIs: the same globs without percent escapes, for plain spellings. */
  readonly plainGlobs: readonly Glob[];
}

export interface CompiledRule {
  readonly decision: Decision;
  readonly where: string;
  readonly servers: GlobList | undefined;
  readonly clients: GlobList | undefined;
  readonly principals: GlobList | undefined;
  readonly items: Readonly<Record<ItemKind, GlobList | undefined>>;
  readonly questions: ReadonlySet<QuestionKind | "*">;
  readonly condition: Condition | undefined;
  readonly limit: LimitOf | undefined;
}

export interface CompiledFilter {
  readonly allow: GlobList | undefined;
  readonly deny: GlobList;
  readonly denied: Decision;
  readonly notAllowed: Decision;
}

/** A name with its other spellings, so that they are made once for all rules. */
export interface Spelled {
  readonly raw: string;
  readonly plain: readonly string[];
}

export function spelled(kind: ItemKind, original: string): Spelled {
  return { raw: original, plain: kind === "resource" ? plainSpellings(original) : [] };
}

/** Some spelling matches, or a name is too long to say that it does not: for what denies. */
export function mayMatch(list: GlobList, name: Spelled): boolean {
  return (
    list.globs.some((glob) => glob.test(name.raw) !== false) ||
    name.plain.some((plain) => list.plainGlobs.some((glob) => glob.test(plain) !== false))
  );
}

/** Every spelling matches for certain: for what allows. */
export function surelyMatches(list: GlobList, name: Spelled): boolean {
  return (
    list.globs.some((glob) => glob.test(name.raw) === true) &&
    name.plain.every((plain) => list.plainGlobs.some((glob) => glob.test(plain) === true))
  );
}

/** Does the rule reach this item? Callers are judged before (`reachesCaller`). */
export function reaches(rule: CompiledRule, server: string, kind: ItemKind, name: Spelled): boolean {
  return rule.decision.effect === "deny"
    ? mayReach(rule, server, kind, name)
    : matched(rule, server, kind, name, surelyMatches);
}

/** As `reaches` of a rule that denies: for what a rule wants to be asked about, too. */
export function mayReach(rule: CompiledRule, server: string, kind: ItemKind, name: Spelled): boolean {
  return matched(rule, server, kind, name, mayMatch);
}

function matched(
  rule: CompiledRule,
  server: string,
  kind: ItemKind,
  name: Spelled,
  matches: (list: GlobList, name: Spelled) => boolean,
): boolean {
  const list = rule.items[kind];
  if (list === undefined) return false;
  return (rule.servers === undefined || matches(rule.servers, word(server))) && matches(list, name);
}

/** A server's question, as the item of a rule that denies. */
export function reachesQuestion(rule: CompiledRule, server: string, question: QuestionKind): boolean {
  if (!rule.questions.has(question) && !rule.questions.has("*")) return false;
  return rule.servers === undefined || mayMatch(rule.servers, word(server));
}

/** Whoever did not authenticate has an empty name, which only a lone star matches. */
export function reachesCaller(rule: CompiledRule, client: string, principal: string | undefined): boolean {
  const matches = rule.decision.effect === "allow" ? surelyMatches : mayMatch;
  return (
    (rule.clients === undefined || matches(rule.clients, word(client))) &&
    (rule.principals === undefined || matches(rule.principals, word(principal ?? "")))
  );
}

function word(raw: string): Spelled {
  return { raw, plain: [] };
}

/** @throws ConfigError */
export function compileRule(rule: PolicyRule, index: number): CompiledRule {
  const where = `rules[${index}]`;
  const wrong = (key: string, text: string) => new ConfigError(`policy.${where}${key} ${text}`);
  if (KINDS.every((kind) => rule[KEYS[kind]] === undefined) && rule.questions === undefined) {
    throw wrong(
      "",
      'names no tools, prompts, resources or questions, so it would match nothing. Add one, e.g. "tools": ["*"].',
    );
  }
  if (rule.questions !== undefined && rule.effect !== "deny") {
    throw wrong(".questions:", "only a deny rule can name questions; they are allowed without one. Remove the key.");
  }
  if (rule.limit !== undefined && rule.effect !== "allow") {
    throw wrong(".limit:", "only an allow rule can have a limit. Remove the key.");
  }
  const list = (key: "servers" | "clients" | "principals" | "tools" | "prompts" | "resources") =>
    rule[key] === undefined ? undefined : globList(rule[key], key === "resources" ? "path" : "flat", `${where}.${key}`);
  return {
    where,
    decision: {
      effect: rule.effect,
      rule: where,
      ...(rule.reason === undefined ? {} : { reason: rule.reason }),
    },
    servers: list("servers"),
    clients: list("clients"),
    principals: list("principals"),
    items: { tool: list("tools"), prompt: list("prompts"), resource: list("resources") },
    questions: new Set(rule.questions),
    condition: conditionAt(rule, where),
    limit: rule.limit === undefined ? undefined : { ...rule.limit, rule: where },
  };
}

function conditionAt(rule: PolicyRule, where: string): Condition | undefined {
  try {
    return conditionOf(rule);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    const at = error.position === undefined ? "" : ` (character ${error.position})`;
    throw new ConfigError(`policy.${where}.when: ${error.message}${at}. Correct the condition.`);
  }
}

/** @throws ConfigError */
export function compileFilter(server: ServerConfig, kind: ItemKind): CompiledFilter {
  const key = KEYS[kind];
  const filter: Filter = server[key];
  const where = `mcpServers.${server.name}.${key}`;
  const style = kind === "resource" ? "path" : "flat";
  return {
    allow: filter.allow === undefined ? undefined : globList(filter.allow, style, `${where}.allow`),
    deny: globList(filter.deny, style, `${where}.deny`),
    denied: { effect: "deny", rule: `${where}.deny` },
    notAllowed: { effect: "deny", rule: `${where}.allow` },
  };
}

function globList(sources: readonly string[], style: GlobStyle, where: string): GlobList {
  const compile = (source: string) =>
    compileGlob(source, style, where.startsWith("rules[") ? `policy.${where}` : where);
  const globs = sources.map(compile);
  const decoded = style === "path" && sources.some((source) => source.includes("%"));
  return { where, globs, plainGlobs: decoded ? [...globs, ...sources.map(decodeEscapes).map(compile)] : globs };
}
