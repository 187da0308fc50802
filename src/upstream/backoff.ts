/** How long to wait before the next attempt to reach a server: exponential, with jitter and a ceiling. */

const FIRST_MS = 500;
const CEILING_MS = 60_000;

/** `failures`: attempts in a row that failed, 1 and more. Between half and all of the step, so that many do not march in step. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const step = Math.min(CEILING_MS, FIRST_MS * 2 ** Math.min(failures - 1, 16));
  return Math.round(step / 2 + (step / 2) * random());
}
