/**
 * A name that nobody has may be new: the servers that could have it are asked once more, each once a second at most, so
 * that a host that makes names up does not keep them busy.
 */
import { RETRY_MS, type Walk } from "./walk.ts";
import { within } from "./within.ts";

export class Lookup {
  readonly #at = new WeakMap<Walk, number>();

  /** Servers that are still starting are waited for. Resolves when their lists are there, or not to be had. */
  async again(walks: readonly Walk[], patienceMs: number): Promise<void> {
    await Promise.all(walks.map((walk) => this.#ask(walk, patienceMs)));
  }

  /** What is known of the list is what the server says now, or cannot be had. Never asks without a reason. */
  async current(walk: Walk, patienceMs: number): Promise<void> {
    if (!walk.source.ready) await within(walk.source.settled(), patienceMs);
    const attempt = walk.inDoubt ? walk.ask() : undefined;
    if (attempt !== undefined) await within(attempt.done, patienceMs);
  }

  async #ask(walk: Walk, patienceMs: number): Promise<void> {
    if (!walk.source.ready) await within(walk.source.settled(), patienceMs);
    if (!walk.source.ready) return;
    const at = this.#at.get(walk);
    const now = performance.now();
    if (at === undefined || now - at >= RETRY_MS) {
      this.#at.set(walk, now);
      walk.invalidate();
    }
    const attempt = walk.ask();
    if (attempt !== undefined) await within(attempt.done, patienceMs);
  }
}
