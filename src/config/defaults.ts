/**
 * Every default of the configuration file, in one place: `schema.ts` prints them into the JSON Schema, `entry.ts` and
 * `load.ts` fill them in. The numbers are promises of interface.md.
 */
import type { Config, PinMode, Timeouts } from "./types.ts";

export const defaultTimeouts: Timeouts = {
  connectMs: 30_000,
  requestMs: 0,
  totalMs: 0,
  resetOnProgress: true,
  startupMs: 1_500,
  drainMs: 5_000,
};

/** 17 = the length of `mcp__switchyard__`, which Claude Code puts before every tool name. */
export const defaultNames: Config["names"] = { maxLength: 64, hostPrefix: 17, separator: "__" };

/** What must be left of `maxLength` after `hostPrefix`: a hash suffix takes 9, and a name needs something to be told by. */
export const minNameBudget = 16;

export const defaultPage: Config["page"] = { items: 1_000, bytes: 4_194_304 };

export const defaultQueueLimit = 1_000;

/** None. */
export const defaultMaxResultBytes = 0;

export const defaultPin: PinMode = "off";

/** Records between two signed checkpoints of the audit file. */
export const defaultCheckpointEvery = 1_000;

/** setTimeout fires at once for anything longer. */
export const maxMs = 2_147_483_647;

/** Longest span of a rate limit: ten of them, which a burst is counted over, are still a timer. */
export const maxPerMs = Math.floor(maxMs / 10);
