/**
 * Requests we sent to one server and that wait for its answer: the one owner of that map. Ids are a counter of the
 * connection and are never used twice; the id is also the progress token we give the server.
 */
import type { Fault } from "../errors.ts";
import type { Cancellation } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";
import type { Clock } from "./clock.ts";

export interface Waiting {
  readonly id: number;
  readonly method: string;
  /** A host waits for it; requests of our own have nobody behind them. */
  readonly forHost: boolean;
  resolve(answer: Frame): void;
  reject(reason: Fault | Error): void;
  readonly progress: ((notification: Frame) => void) | undefined;
  /** Its progress token stays good after the answer, until `forget`: a task was made of it. */
  readonly lasting: boolean;
  readonly clock: Clock | undefined;
  /** Questions that the server asked in the course of it. */
  questions: Set<Cancellation> | undefined;
  /** Called once when it is taken out, however it ended. */
  readonly ended: (() => void) | undefined;
  /** Takes back the cancellation listener. */
  unlisten: (() => void) | undefined;
}

export class Pending {
  readonly #waiting = new Map<number, Waiting>();
  /** Tokens of answered requests whose tasks are still running. */
  readonly #lasting = new Map<number, (notification: Frame) => void>();
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
    if (waiting.lasting && waiting.progress !== undefined) this.#lasting.set(id, waiting.progress);
    waiting.clock?.stop();
    waiting.unlisten?.();
    waiting.ended?.();
    return waiting;
  }

  /** The task is over: its token means nothing any more. */
  forget(token: number): void {
    this.#lasting.delete(token);
  }

  /** A progress notification for one of ours. False if its token belongs to nothing under way. */
  progress(token: number, notification: Frame): boolean {
    const waiting = this.#waiting.get(token);
    const route = waiting?.progress ?? this.#lasting.get(token);
    waiting?.clock?.renew();
    route?.(notification);
    return waiting !== undefined || route !== undefined;
  }

  /**
   * The requests that a question of the server may belong to: the one on whose stream it came, else all that a host
   * waits for. One means that it is certain (spec.md §3.6).
   */
  behind(of: number | undefined): Waiting[] {
    const one = of === undefined ? undefined : this.#waiting.get(of);
    return one === undefined ? [...this.#waiting.values()].filter(({ forHost }) => forHost) : [one];
  }

  /** Ends every request, in the order in which they were sent. */
  endAll(reason: (waiting: Waiting) => Fault | Error): void {
    for (const id of [...this.#waiting.keys()]) {
      const waiting = this.take(id);
      waiting?.reject(reason(waiting));
    }
    this.#lasting.clear();
  }
}
