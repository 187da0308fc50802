/**
 * The two clocks of one request: silence (renewed by progress) and total (never renewed). None by default: a proxy must
 * not be the shortest clock. Source: interface.md `timeouts`, spec.md §1.6.
 */
import type { Timeouts } from "../config/types.ts";

export interface Clock {
  renew(): void;
  stop(): void;
}

export type Limit = { readonly key: "requestMs" | "totalMs"; readonly ms: number };

/** Undefined where neither clock is set: the usual case costs no timer. */
export function startClock(timeouts: Timeouts, expired: (limit: Limit) => void): Clock | undefined {
  const { requestMs, totalMs, resetOnProgress } = timeouts;
  if (requestMs === 0 && totalMs === 0) return undefined;
  const silent = requestMs === 0 ? undefined : setTimeout(expired, requestMs, { key: "requestMs", ms: requestMs });
  const total = totalMs === 0 ? undefined : setTimeout(expired, totalMs, { key: "totalMs", ms: totalMs });
  return {
    renew: () => {
      if (resetOnProgress) silent?.refresh();
    },
    stop: () => {
      clearTimeout(silent);
      clearTimeout(total);
    },
  };
}
