/**
 * Second step of loading: `${NAME}`, `${NAME:-default}` and `$$` in every string, keys excepted. One pass from left to
 * right: what a variable holds is never looked at again.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is spoken of.
import type { KeyPath, Problem } from "./problem.ts";

export interface Expansion {
  readonly value: unknown;
  /** Values of the variables that were used, but for those that are no secret (HOME and the like). */
  readonly secrets: readonly string[];
  readonly problems: readonly Problem[];
  /** The problems that are nothing but a variable that is not set. */
  readonly unset: ReadonlySet<Problem>;
}

const reference = /\$\$|\$\{([^}]*)(\}?)/g;
const body = /^([A-Za-z_][A-Za-z0-9_]*(?:\(x86\))?)(?::-(.*))?$/s;

/** Variables whose value is a place or a habit, not a secret: hiding it would only make paths in messages unreadable. */
const open =
  /^(HOME|USER|LOGNAME|USERNAME|USERPROFILE|HOMEPATH|HOMEDRIVE|PATH|PATHEXT|PWD|OLDPWD|SHELL|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_\w+|TZ|TERM|EDITOR|HOSTNAME|COMPUTERNAME|APPDATA|LOCALAPPDATA|PROGRAMFILES(\(X86\))?|PROGRAMDATA|SYSTEMROOT|SYSTEMDRIVE|XDG_\w+|NODE_ENV|LOG_LEVEL)$/i;

/** Whether a variable of this name holds something that may be shown. */
export function isOpenName(name: string): boolean {
  return open.test(name);
}

/** Expands every string in `value`, which is the part of the file at `path`. The input is not changed. */
export function expandAll(value: unknown, env: NodeJS.ProcessEnv, path: KeyPath): Expansion {
  const secrets: string[] = [];
  const problems: Problem[] = [];
  const unset = new Set<Problem>();
  const walk = (part: unknown, at: KeyPath): unknown => {
    if (typeof part === "string") return expandText(part, at);
    if (Array.isArray(part)) return part.map((item, index) => walk(item, [...at, index]));
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, walk(item, [...at, key])]));
  };
  const expandText = (text: string, at: KeyPath): string =>
    text.replace(reference, (whole: string, inner: string | undefined, close: string | undefined) => {
      if (inner === undefined) return "$";
      const [, name, fallback] = (close === "" ? null : body.exec(inner)) ?? [];
      if (name === undefined || fallback?.includes("${")) {
        problems.push({ path: at, ...malformed(inner, close === "", fallback) });
        return whole;
      }
      const found = env[name];
      // Set and empty is set: only a variable that is not there takes the default (field report L3).
      if (typeof found === "string") {
        if (!isOpenName(name)) secrets.push(found);
        return found;
      }
      if (fallback !== undefined) return fallback.replaceAll("$$", "$");
      const problem: Problem = {
        path: at,
        reason: `the environment variable ${name} is not set and has no default`,
        remedy: `Set ${name} where switchyard is started, or write \${${name}:-default}.`,
      };
      problems.push(problem);
      unset.add(problem);
      return whole;
    });
  return { value: walk(value, path), secrets, problems, unset };
}

function malformed(inner: string, unclosed: boolean, fallback: string | undefined): Omit<Problem, "path"> {
  if (unclosed) return { reason: '"${" without "}"', remedy: "Close it, or write $$ for a dollar sign." };
  if (fallback !== undefined) {
    return { reason: "a default cannot hold another variable", remedy: "Write a plain text after :-." };
  }
  const host = /^(input|env|command|config|workspaceFolder|userHome)\b/.exec(inner)?.[1];
  if (host === "env") {
    return { reason: "${env:NAME} is written differently here", remedy: "Write ${NAME}." };
  }
  if (host !== undefined) {
    return {
      reason: `\${${host}…} is understood by some hosts only`,
      remedy: "Set an environment variable and write ${NAME}.",
    };
  }
  return { reason: '"${…}" does not hold a variable\'s name', remedy: "Write ${NAME}, or $$ for a dollar sign." };
}
