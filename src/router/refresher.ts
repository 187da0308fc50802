/**
 * When a list is asked for again without anybody wanting it: soon after the server said that it changed, and after a
 * failure. Owns the timers. A host that asks for the list does not wait for them.
 */
import type { Walk } from "./walk.ts";

/** A burst of notifications within this time is one. */
const SOON_MS = 50;
const SOON_MAX_MS = 30_000;
/** After so many announcements in vain in a row, looks are at least this far apart; after many, ever further. */
const FEW_IDLE = 3;
const IDLE_GAP_MS = 200;
const MANY_IDLE = 20;
/** Longer than walk.ts refuses to ask again. */
const RETRY_FIRST_MS = 1100;
const RETRY_MAX_MS = 60_000;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  readonly due: number;
}

export class Refresher {
  readonly #waiting = new Map<Walk, Waiting>();
  /** The server announced a change, and the list was not had since. */
  readonly #announced = new WeakSet<Walk>();
  /** Announcements in a row after which the list was as before. */
  readonly #idle = new WeakMap<Walk, number>();
  readonly #failures = new WeakMap<Walk, number>();

  /** The server said that the list changed. */
  announced(walk: Walk): void {
    this.#announced.add(walk);
    this.#after(walk, this.#patience(walk));
  }

  /**
   * A server that announces changes in vain is still believed within 200 ms; one that does nothing else, as a server does
   * that announces a change whenever it is asked for its list, is asked ever more seldom.
   */
  #patience(walk: Walk): number {
    const idle = this.#idle.get(walk) ?? 0;
    if (idle < FEW_IDLE) return SOON_MS;
    return Math.min(SOON_MAX_MS, IDLE_GAP_MS * 2 ** Math.max(0, idle - MANY_IDLE));
  }

  /** The server is there anew. */
  arrived(walk: Walk): void {
    this.#idle.delete(walk);
    this.#failures.delete(walk);
    this.#after(walk, SOON_MS);
  }

  failed(walk: Walk): void {
    const failures = this.#failures.get(walk) ?? 0;
    this.#failures.set(walk, failures + 1);
    this.#after(walk, Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** failures));
  }

  /** The list was had, and whether it differs from before. */
  had(walk: Walk, changed: boolean): void {
    this.#failures.delete(walk);
    if (changed) this.#idle.delete(walk);
    else if (this.#announced.has(walk)) this.#idle.set(walk, (this.#idle.get(walk) ?? 0) + 1);
    this.#announced.delete(walk);
  }

  forget(walk: Walk): void {
    clearTimeout(this.#waiting.get(walk)?.timer);
    this.#waiting.delete(walk);
  }

  close(): void {
    for (const walk of [...this.#waiting.keys()]) this.forget(walk);
  }

  #after(walk: Walk, ms: number): void {
    const due = performance.now() + ms;
    const waiting = this.#waiting.get(walk);
    if (waiting !== undefined && waiting.due <= due) return;
    clearTimeout(waiting?.timer);
    const timer = setTimeout(() => {
      this.#waiting.delete(walk);
      walk.ask();
    }, ms);
    // Nothing here keeps a process alive whose host has left.
    timer.unref();
    this.#waiting.set(walk, { timer, due });
  }
}
