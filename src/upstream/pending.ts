/**
 * Requests we sent to one server and that wait for its answer: the one owner of that map. Ids are a counter of the
 * connection and are never used twice; the id is also the progress token we give the server.
 */
import type { Fault } from "../errors.ts";
import type { Frame } from "../wire/frame.ts";
import type { Clock } from "./clock.ts";

export interface Waiting {
  readonly id: number;
  readonly method: string;
  /** Which HTTP session or process it was sent on; a later one cannot answer it. */
  readonly generation: number;
  resolve(answer: Frame): void;
  reject(reason: Fault | Error): void;
  readonly progress: ((notification: Frame) => void) | undefined;
  readonly clock: Clock | undefined;
  /** Called once when it is taken out, however it ended. */
  readonly ended: (() => void) | undefined;
  /** Takes back the cancellation listener. */
  unlisten: (() => void) | undefined;
}

export class Pending {
  readonly #waiting = new Map<number, Waiting>();
  /** Tokens of requests that were answered by a task: token → the request that now waits for the task's result. */
  readonly #carried = new Map<number, number>();
  #lastId = 0;

  get size(): number {
    return this.#waiting.size;
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  add(waiting: Waiting): void {
    this.#waiting.set(waiting.id, waiting);
  }

  /** Takes a request out; undefined if it was answered, cancelled or never sent: a late answer is swallowed that way. */
  take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    if (this.#carried.size > 0) for (const [token, by] of this.#carried) if (by === id) this.#carried.delete(token);
    waiting.clock?.stop();
    waiting.unlisten?.();
    waiting.ended?.();
    return waiting;
  }

  /** A task's progress keeps the token of the call that made it (spec.md §1.5): it now belongs to request `id`. */
  carry(token: number, id: number): void {
    if (this.#waiting.has(id)) this.#carried.set(token, id);
  }

  /** A progress notification for one of ours. False if its token belongs to no request in flight. */
  progress(token: number, notification: Frame): boolean {
    const waiting = this.#waiting.get(token) ?? this.#waiting.get(this.#carried.get(token) ?? -1);
    if (waiting === undefined) return false;
    waiting.clock?.renew();
    waiting.progress?.(notification);
    return true;
  }

  /** Ends every request, in the order in which they were sent. */
  endAll(reason: (waiting: Waiting) => Fault | Error): void {
    for (const id of [...this.#waiting.keys()]) {
      const waiting = this.take(id);
      waiting?.reject(reason(waiting));
    }
  }
}
