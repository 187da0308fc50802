/**
 * The two clocks of one request: silence (renewed by progress) and total (never renewed). None by default: a proxy must
 * not be the shortest clock. Source: interface.md `timeouts`, spec.md §1.6.
 */
import type { Timeouts } from "../config/types.ts";
import { Fault } from "../errors.ts";

export interface Clock {
  /** Progress came. */
  renew(): void;
  /** The server waits for the host's answer: that is not silence. Held as often as it is let go. */
  hold(): void;
  letGo(): void;
  stop(): void;
}

export type Limit = { readonly key: "requestMs" | "totalMs"; readonly ms: number };

/** Undefined where neither clock is set: the usual case costs no timer. */
export function startClock(timeouts: Timeouts, expired: (limit: Limit) => void): Clock | undefined {
  const { requestMs, totalMs, resetOnProgress } = timeouts;
  if (requestMs === 0 && totalMs === 0) return undefined;
  const listen = (): NodeJS.Timeout | undefined =>
    requestMs === 0 ? undefined : setTimeout(expired, requestMs, { key: "requestMs", ms: requestMs });
  let silent = listen();
  let held = 0;
  const total = totalMs === 0 ? undefined : setTimeout(expired, totalMs, { key: "totalMs", ms: totalMs });
  return {
    renew: () => {
      if (resetOnProgress && held === 0) silent?.refresh();
    },
    hold: () => {
      held += 1;
      clearTimeout(silent);
    },
    letGo: () => {
      held -= 1;
      if (held === 0) silent = listen();
    },
    stop: () => {
      held = Number.POSITIVE_INFINITY;
      clearTimeout(silent);
      clearTimeout(total);
    },
  };
}

export function lateFault(server: string, method: string, { key, ms }: Limit): Fault {
  const what = key === "requestMs" ? "was silent for" : "took longer than";
  const text = `server "${server}" ${what} ${ms} ms on ${method} (timeouts.${key}); the request was cancelled`;
  return new Fault("DEADLINE_EXCEEDED", text, { server, data: { limit: key, ms } });
}
