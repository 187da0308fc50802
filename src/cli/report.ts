/** One server's state in words: which, where it stopped, why, what happens next (field report F3). */
import type { ServerReport } from "../client.ts";
import { oneLine } from "./text.ts";

/** "spawn: npx: not found; next try in 2 s". */
export function whyNotReady({ state, stage, reason, nextRetryMs }: ServerReport): string {
  const place = stage === undefined ? "" : `${stage}: `;
  const next = nextRetryMs === undefined ? "" : `; next try in ${seconds(nextRetryMs)}`;
  return `${place}${oneLine(reason ?? state)}${next}`;
}

/** "850 ms", "2.4 s". */
export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
