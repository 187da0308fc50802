/** Which records of an audit file are wanted. */
import { globMatcher, globProblem } from "../../config/glob.ts";
import { ConfigError } from "../../errors.ts";
import type { PlacedRecord } from "../../pipeline/audit/line.ts";

export interface FilterOptions {
  server?: string[];
  tool?: string[];
  outcome?: string[];
  since?: string;
}

export interface Filter {
  readonly fits: (record: PlacedRecord) => boolean;
  /** Milliseconds since 1970: nothing before is wanted. */
  readonly sinceMs: number | undefined;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws ConfigError */
export function makeFilter({ server, tool, outcome, since }: FilterOptions, nowMs: number): Filter {
  const servers = globs("--server", server);
  const tools = globs("--tool", tool);
  const sinceMs = since === undefined ? undefined : parseSince(since, nowMs);
  return {
    sinceMs,
    fits(record) {
      if (sinceMs !== undefined && !(Date.parse(record.time) >= sinceMs)) return false;
      if (servers !== undefined && !servers([record["server"]])) return false;
      if (tools !== undefined) {
        if (record["method"] !== "tools/call" || !tools([record["name"], record["publicName"]])) return false;
      }
      return outcome === undefined || outcome.includes(String(record["outcome"]));
    },
  };
}

function globs(option: string, list: readonly string[] | undefined): ((values: unknown[]) => boolean) | undefined {
  if (list === undefined) return undefined;
  const matchers = list.map((glob) => {
    const problem = globProblem(glob, "flat");
    if (problem !== undefined) throw new ConfigError(`${option}: ${problem}`);
    return globMatcher(glob);
  });
  return (values) => values.some((value) => typeof value === "string" && matchers.some((matches) => matches(value)));
}

function parseSince(text: string, nowMs: number): number {
  const parts = [...text.matchAll(/(\d+)([smhd])/g)];
  if (parts.length > 0 && parts.map(([whole]) => whole).join("") === text) {
    return nowMs - parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
  }
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new ConfigError(`--since: "${text}" is no time. Write 2026-11-30T12:00:00Z, or 90s, 15m, 2h, 7d.`);
  }
  return time;
}
