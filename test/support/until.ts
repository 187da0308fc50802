/** Waiting for a condition instead of sleeping. */
import { setTimeout as delay } from "node:timers/promises";

/** Polls until `condition` gives something truthy, and returns that. Throws after `within` ms, naming `what`. */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { within?: number; what: string; every?: number },
): Promise<T> {
  const within = options.within ?? 10_000;
  const end = performance.now() + within;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not within ${within} ms: ${options.what}`);
    await delay(options.every ?? 10);
  }
}
