// Numbers and chance: quantiles, ratios by round, a seeded order, how busy the machine is.
import { cpus } from "node:os";

/** @param {readonly number[]} values @param {number} share 0 to 1 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

export function median(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median of the ratios of each round: what disturbed a round disturbed both sides of it. */
export function ratioByRound(values, base) {
  if (values === undefined || base === undefined) return Number.NaN;
  return median(values.map((value, round) => value / base[round]));
}

/** A generator of numbers in [0, 1) that is the same for the same seed (a 32-bit xorshift). */
export function seeded(seed) {
  let state = (seed ^ 0x9e3779b9) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x1_0000_0000;
  };
}

export function shuffled(list, random) {
  const result = [...list];
  for (let end = result.length - 1; end > 0; end--) {
    const pick = Math.floor(random() * (end + 1));
    [result[end], result[pick]] = [result[pick], result[end]];
  }
  return result;
}

function cpuTimes() {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    for (const spent of Object.values(times)) all += spent;
  }
  return { idle, all };
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** How often a quiet moment was waited for, and how often there was none. */
export const quietness = { asked: 0, missed: 0 };

/** Waits, for two seconds at most, until less than a third of the machine is busy over a tenth of a second. */
export async function quietMoment() {
  quietness.asked++;
  const deadline = performance.now() + 2000;
  for (;;) {
    const before = cpuTimes();
    await pause(100);
    const after = cpuTimes();
    const busy = 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
    if (busy < 0.33) return;
    if (performance.now() > deadline) {
      quietness.missed++;
      return;
    }
  }
}
