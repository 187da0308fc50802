/**
 * The file as a Config, once: read, expand, check, complete. A mistake inside one entry of `mcpServers` takes that entry
 * out (`broken`); any other one is a ConfigError. `find.ts` says which file; `switchyard serve` and the other commands
 * start here, and so does a reload.
 */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../errors.ts";
import { contradictions, type Entry, resolveEntry, type Surroundings, withoutEffect } from "./entry.ts";
import { expandAll } from "./expand.ts";
import { assignPrefixes, safePrefix } from "./prefix.ts";
import { type Problem, sentence } from "./problem.ts";
import { secretsOfEntry } from "./secrets.ts";
import { readSource, type Source } from "./source.ts";
import { loadTop, policyWarnings, type Top } from "./top.ts";
import type { BrokenServer, Config, ServerConfig } from "./types.ts";

const at = "mcpServers";

interface Draft {
  readonly name: string;
  readonly rank: number;
  readonly disabled: boolean;
  /** undefined: see problems. */
  readonly entry: Entry | undefined;
  /** As written, also where the entry is broken: it keeps its place among the names. */
  readonly prefix: string | undefined;
  readonly problems: readonly Problem[];
  readonly secrets: readonly string[];
}

function isSameFile(one: string, other: string): boolean {
  const a = statSync(one, { throwIfNoEntry: false });
  const b = statSync(other, { throwIfNoEntry: false });
  return one === other || (a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev);
}

/**
 * @param file path of the file, absolute or relative to the working directory
 * @param env where `${NAME}` is looked up
 * @throws ConfigError for a mistake outside the entries, one sentence a line
 */
export async function loadConfig(file: string, env: NodeJS.ProcessEnv): Promise<Config> {
  const path = resolve(file);
  const source = readSource(path);
  const say = (problem: Problem) => sentence(path, source.line(problem.path), problem);
  const sayAll = (problems: readonly Problem[]) =>
    problems
      .map((problem) => ({ line: source.line(problem.path) ?? 0, text: say(problem) }))
      .sort((a, b) => a.line - b.line)
      .map(({ text }) => text);
  const around = { folder: dirname(path), env, platform: process.platform };

  const top = await loadTop(source, around);
  if ("problems" in top) throw new ConfigError(sayAll(top.problems).join("\n"));
  if (top.audit !== undefined && isSameFile(top.audit.file, path)) {
    const remedy = "Name another file: records would be appended to the configuration.";
    throw new ConfigError(say({ path: ["audit", "file"], reason: "is this configuration file itself", remedy }));
  }
  const drafts = await draftEntries(source, env);
  const { secrets, warnings: topWarnings, maxResultBytes, pin, ...rest } = top;
  const inherited = { ...around, timeouts: top.timeouts, maxResultBytes, pin };
  const { servers, broken, warnings } = finish(drafts, top, inherited, sayAll);
  return {
    ...rest,
    file: path,
    servers,
    disabled: drafts.filter(({ disabled }) => disabled).map(({ name }) => name),
    broken,
    warnings: [...warnings, ...sayAll([...topWarnings, ...policyWarnings(top.policy, drafts)])],
    secrets: [...new Set([...secrets, ...drafts.flatMap((draft) => draft.secrets)])],
  };
}

async function draftEntries(source: Source, env: NodeJS.ProcessEnv): Promise<Draft[]> {
  const [{ check }, { entrySchema }] = await Promise.all([import("./issues.ts"), import("./schema.ts")]);
  const entries = (source.value as Record<string, Record<string, unknown>>)[at]!;
  return source
    .keys([at])
    .filter((name) => Object.hasOwn(entries, name))
    .map((name, rank) => {
      const path = [at, name];
      const expansion = expandAll(entries[name], env, path);
      const checked = check(entrySchema, expansion.value, path);
      const doubled = source.problems.filter((problem) => problem.path[0] === at && problem.path[1] === name);
      const raw = (typeof entries[name] === "object" ? entries[name] : null) as Record<string, unknown> | null;
      const disabled = raw?.["disabled"] === true;
      // The variables of an entry that is switched off need not be there.
      const expanded = expansion.problems.filter((problem) => !disabled || !expansion.unset.has(problem));
      // What could not be expanded is wrong in other ways too; one sentence is enough.
      const failed = new Set(expansion.problems.map((problem) => problem.path.join("\0")));
      const found = "problems" in checked ? checked.problems : contradictions(checked.data, path);
      const secrets = [...expansion.secrets, ...secretsOfEntry(expansion.value)].filter((text) => text !== "");
      return {
        name,
        rank,
        disabled,
        entry: "data" in checked ? checked.data : undefined,
        prefix: typeof raw?.["prefix"] === "string" ? raw["prefix"] : undefined,
        problems: [...doubled, ...expanded, ...found.filter((problem) => !failed.has(problem.path.join("\0")))],
        secrets: [...new Set(secrets)],
      };
    });
}

function finish(
  drafts: readonly Draft[],
  { names }: Top,
  around: Surroundings,
  sayAll: (problems: readonly Problem[]) => string[],
): { servers: ServerConfig[]; broken: BrokenServer[]; warnings: string[] } {
  const servers: ServerConfig[] = [];
  const broken: BrokenServer[] = [];
  const warnings: string[] = [];
  const valid = (draft: Draft) => !draft.disabled && draft.problems.length === 0;
  const prefixes = assignPrefixes(
    drafts.map((draft) => ({ name: draft.name, explicit: draft.entry?.prefix ?? draft.prefix, active: valid(draft) })),
  );
  drafts.forEach((draft, index) => {
    const { name, rank, entry } = draft;
    const path = [at, name];
    const answer = prefixes[index]!;
    const problems = [...draft.problems];
    if ("takenBy" in answer) {
      problems.push({
        path: [...path, "prefix"],
        reason: `the same prefix as that of ${JSON.stringify(answer.takenBy)}`,
        remedy: "Choose another one.",
      });
    }
    if (draft.disabled) {
      warnings.push(...sayAll(problems));
    } else if (problems.length > 0 || entry === undefined || !("prefix" in answer)) {
      broken.push({ name, problems: sayAll(problems) });
    } else {
      const { prefix } = answer;
      warnings.push(...sayAll([...withoutEffect(entry, path), ...prefixWarnings(entry, path, prefix, names)]));
      servers.push(resolveEntry(name, rank, entry, prefix, draft.secrets, around));
    }
  });
  return { servers, broken, warnings };
}

function prefixWarnings(entry: Entry, path: string[], prefix: string, names: Config["names"]): Problem[] {
  const warnings: Problem[] = [];
  const at = [...path, "prefix"];
  if (entry.prefix !== undefined && entry.prefix !== "" && safePrefix(entry.prefix) !== entry.prefix) {
    const reason = `holds characters that hosts refuse, and is used as "${prefix}"`;
    warnings.push({ path: at, reason, remedy: "Write it with A-Z a-z 0-9 _ - only." });
  }
  const left = names.maxLength - names.hostPrefix - prefix.length - names.separator.length;
  if (left < 12) {
    const reason = `"${prefix}" leaves ${Math.max(left, 0)} characters for a name, so that most names will be cut`;
    warnings.push({ path: at, reason, remedy: 'Give the entry a shorter "prefix".' });
  }
  return warnings;
}
