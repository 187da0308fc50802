/** One valid entry of `mcpServers` as a ServerConfig: what the schema cannot say, defaults, places on this machine. */
import { resolve } from "node:path";
import type * as z from "zod";
import { defaultQueueLimit } from "./defaults.ts";
import { expandHome } from "./find.ts";
import { hostKeys, typeSynonyms } from "./hosts.ts";
import type { KeyPath, Problem } from "./problem.ts";
import type { entrySchema } from "./schema.ts";
import type { Filter, HttpTarget, PinMode, Rename, ServerConfig, StdioTarget, Timeouts } from "./types.ts";

export type Entry = z.output<typeof entrySchema>;

/** Where an entry stands, and what it inherits. */
export interface Surroundings {
  /** Folder of the configuration file. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly timeouts: Timeouts;
  readonly maxResultBytes: number;
  readonly pin: PinMode;
}

/** Mistakes that need more than one key to be seen. */
export function contradictions(entry: Entry, path: KeyPath): Problem[] {
  const problems: Problem[] = [];
  const type = entry.type === undefined ? undefined : typeSynonyms[entry.type];
  const { command, url } = entry;
  if (command !== undefined && url !== undefined) {
    problems.push({ path, reason: 'has both "command" and "url"', remedy: "Keep the one that is meant." });
  } else if (command === undefined && url === undefined) {
    const remedy = 'Add "command" for a program or "url" for an address.';
    problems.push({ path, reason: 'has neither "command" nor "url"', remedy });
  } else if (type !== undefined && (type === "stdio") !== (command !== undefined)) {
    problems.push({
      path: [...path, "type"],
      reason: type === "stdio" ? '"stdio" needs "command", not "url"' : `"${type}" needs "url", not "command"`,
      remedy: "Change the type, or leave it out.",
    });
  }
  if (entry.era === "modern") {
    problems.push({
      path: [...path, "era"],
      reason: "revision 2026-07-28 is not supported by this version yet",
      remedy: 'Write "auto", or leave it out.',
    });
  }
  const shown = new Map<string, string>();
  for (const [original, { name }] of Object.entries(entry.rename ?? {})) {
    const first = name === undefined ? undefined : shown.get(name);
    if (name !== undefined) shown.set(name, first ?? original);
    if (first === undefined) continue;
    problems.push({
      path: [...path, "rename", original, "name"],
      reason: `the same name as that of ${JSON.stringify(first)}`,
      remedy: "Choose another one.",
    });
  }
  return problems;
}

/** What is accepted and does nothing. */
export function withoutEffect(entry: Entry, path: KeyPath): Problem[] {
  const warnings: Problem[] = [];
  const warn = (key: string, remedy: string) =>
    warnings.push({ path: [...path, key], reason: "has no effect here", remedy });
  for (const key of Object.keys(entry)) {
    const instead = Object.hasOwn(hostKeys, key) ? hostKeys[key] : undefined;
    if (instead !== undefined) warn(key, instead === "" ? "It can stay." : `It can stay, but ${instead}.`);
  }
  const foreign = entry.url === undefined ? ["headers"] : ["args", "env", "cwd"];
  for (const key of foreign) {
    if (Object.hasOwn(entry, key))
      warn(key, `It is for entries with "${entry.url === undefined ? "url" : "command"}".`);
  }
  for (const key of ["tools", "prompts", "resources"] as const) {
    if (entry[key]?.allow?.length !== 0) continue;
    const remedy = "Remove the key if all were meant.";
    warnings.push({ path: [...path, key, "allow"], reason: "is an empty list and lets nothing through", remedy });
  }
  return warnings;
}

/** @param entry without contradictions */
export function resolveEntry(
  name: string,
  rank: number,
  entry: Entry,
  prefix: string,
  secrets: readonly string[],
  around: Surroundings,
): ServerConfig {
  return {
    name,
    rank,
    target: targetOf(entry, around),
    prefix,
    tools: filterOf(entry.tools),
    prompts: filterOf(entry.prompts),
    resources: filterOf(entry.resources),
    rename: bare<Rename>(entry.rename),
    era: entry.era ?? "auto",
    isolation: entry.isolation ?? "auto",
    timeouts: { ...around.timeouts, ...entry.timeouts },
    concurrency: entry.concurrency,
    queueLimit: entry.queueLimit ?? defaultQueueLimit,
    maxResultBytes: entry.maxResultBytes ?? around.maxResultBytes,
    pin: entry.pin ?? around.pin,
    secrets,
  };
}

function targetOf(entry: Entry, { folder, env, platform }: Surroundings): StdioTarget | HttpTarget {
  if (entry.command !== undefined) {
    return {
      type: "stdio",
      command: expandHome(entry.command, env, platform),
      args: entry.args ?? [],
      env: bare(entry.env),
      cwd: entry.cwd === undefined ? undefined : resolve(folder, expandHome(entry.cwd, env, platform)),
    };
  }
  const type = entry.type === undefined ? undefined : typeSynonyms[entry.type];
  return {
    type: type === "http" || type === "sse" ? type : "auto",
    url: entry.url!,
    headers: bare(entry.headers),
  };
}

function filterOf(filter: Entry["tools"]): Filter {
  return { allow: filter?.allow, deny: filter?.deny ?? [] };
}

/** Looked up by names that others choose: without a prototype, "constructor" is not in it. */
function bare<T>(record: Readonly<Record<string, T>> | undefined): Readonly<Record<string, T>> {
  return Object.assign(Object.create(null) as Record<string, T>, record);
}
