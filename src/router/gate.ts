/**
 * How long a list waits for servers. A server that is starting is waited for once, not by every list again; one whose
 * last list is known is not waited for at all while it is away. Whoever comes later is announced by `list_changed`.
 */
import type { Source } from "./lists.ts";
import type { Walk } from "./walk.ts";
import { within } from "./within.ts";

export class Gate {
  /** Since when each server is waited for, while it is not ready. */
  readonly #since = new WeakMap<Source, number>();

  /** `startingMs`: for servers that are starting. `answeringMs`: for a list that a ready server is being asked for. */
  waits(walks: readonly Walk[], startingMs: number, answeringMs: number): Promise<void>[] {
    const deadline = performance.now() + Math.max(startingMs, answeringMs);
    return walks
      .map((walk) => this.#wait(walk, startingMs, answeringMs, deadline))
      .filter((wait) => wait !== undefined);
  }

  #wait(walk: Walk, startingMs: number, answeringMs: number, deadline: number): Promise<void> | undefined {
    const { source } = walk;
    if (!source.ready) return this.#starting(walk, startingMs, answeringMs, deadline);
    this.#since.delete(source);
    const attempt = walk.ask();
    if (attempt === undefined) return undefined;
    const left = Math.min(attempt.startedAt + answeringMs, deadline) - performance.now();
    return left <= 0 ? undefined : within(attempt.done, left);
  }

  #starting(walk: Walk, startingMs: number, answeringMs: number, deadline: number): Promise<void> | undefined {
    const { source, list } = walk;
    if (walk.set !== undefined || source.offers(list.method) === false) return undefined;
    const since = this.#since.get(source) ?? performance.now();
    this.#since.set(source, since);
    const left = since + startingMs - performance.now();
    if (left <= 0) return undefined;
    return within(source.settled(), left).then(() =>
      source.ready ? this.#wait(walk, startingMs, answeringMs, deadline) : undefined,
    );
  }
}
