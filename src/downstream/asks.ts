/**
 * Requests that we sent to the host on behalf of servers (sampling, elicitation, roots) and that wait for its answer.
 * One owner for that map. Ids are ours, counted per downstream leg.
 */

import { Fault } from "../errors.ts";
import type { Cancellation } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";

interface Ask {
  resolve(answer: Frame): void;
  reject(fault: Fault): void;
  /** Progress that the host reports on this request, for the server that asked. */
  progress: ((notification: Frame) => void) | undefined;
  release(): void;
}

export class Asks {
  readonly #waiting = new Map<number, Ask>();
  #nextId = 1;

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Registers a request, then lets `send` write it under its new id. `withdraw` tells the host that it is not wanted any
   * more. `deadlineMs` 0 = none: people take their time.
   */
  ask(options: {
    cancellation: Cancellation;
    deadlineMs: number;
    what: string;
    progress: ((notification: Frame) => void) | undefined;
    send(id: number): void;
    withdraw(id: number, reason: string): void;
  }): Promise<Frame> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (reason: string, fault: Fault): void => {
        if (!this.#waiting.delete(id)) return;
        ask.release();
        options.withdraw(id, reason);
        reject(fault);
      };
      const ask: Ask = { resolve, reject, progress: options.progress, release: () => {} };
      this.#waiting.set(id, ask);
      const take = options.cancellation.onCancel((reason) => end(reason, new Fault("CANCELLED", reason)));
      if (options.deadlineMs > 0) {
        timer = setTimeout(() => {
          const text = `the host did not answer ${options.what} within ${options.deadlineMs} ms`;
          end(text, new Fault("DEADLINE_EXCEEDED", text));
        }, options.deadlineMs);
      }
      ask.release = () => {
        clearTimeout(timer);
        take();
      };
      if (this.#waiting.has(id)) options.send(id);
    });
  }

  /** Progress from the host; our ids serve as tokens. */
  progress(id: number, notification: Frame): boolean {
    const ask = this.#waiting.get(id);
    ask?.progress?.(notification);
    return ask !== undefined;
  }

  /** The host's answer. False if nobody waits for it (withdrawn, or never asked). */
  answer(id: number, frame: Frame): boolean {
    const ask = this.#waiting.get(id);
    if (ask === undefined) return false;
    this.#waiting.delete(id);
    ask.release();
    ask.resolve(frame);
    return true;
  }

  /** The host's answer came but cannot be used. */
  fail(id: number, fault: Fault): void {
    const ask = this.#waiting.get(id);
    if (ask === undefined) return;
    this.#waiting.delete(id);
    ask.release();
    ask.reject(fault);
  }

  /** The host is gone: nobody will answer. */
  endAll(reason: string): void {
    for (const [id, ask] of this.#waiting) {
      this.#waiting.delete(id);
      ask.release();
      ask.reject(new Fault("SERVER_CLOSED", reason));
    }
  }
}
