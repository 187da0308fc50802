/**
 * Rules and filters as data: what of the configuration can match what, compiled once. `policy.ts` evaluates them.
 * A condition (`when`), a principal or a limit of a rule belongs here as one more member.
 */
import type { Filter, PolicyRule, ServerConfig } from "../../config/types.ts";
import { ConfigError } from "../../errors.ts";
import type { Decision, ItemKind } from "../../exchange.ts";
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
  readonly items: Readonly<Record<ItemKind, GlobList | undefined>>;
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

/** Does the rule reach this item? Clients are judged before (see `policy.ts`). */
export function reaches(rule: CompiledRule, server: string, kind: ItemKind, name: Spelled): boolean {
  const list = rule.items[kind];
  if (list === undefined) return false;
  const matches = rule.decision.effect === "deny" ? mayMatch : surelyMatches;
  return (rule.servers === undefined || matches(rule.servers, { raw: server, plain: [] })) && matches(list, name);
}

/** @throws ConfigError */
export function compileRule(rule: PolicyRule, index: number): CompiledRule {
  const where = `rules[${index}]`;
  if (rule.tools === undefined && rule.prompts === undefined && rule.resources === undefined) {
    throw new ConfigError(
      `policy.${where} names no tools, prompts or resources, so it would match nothing. Add at least one, e.g. "tools": ["*"].`,
    );
  }
  // Leaving a condition out of an allow rule would open what it guards.
  if (rule.when !== undefined) {
    throw new ConfigError(
      `policy.${where}.when: conditions are not supported in this version. Remove the rule or its "when".`,
    );
  }
  const list = (key: "servers" | "clients" | "tools" | "prompts" | "resources") =>
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
    items: { tool: list("tools"), prompt: list("prompts"), resource: list("resources") },
  };
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
