/**
 * Requests of one server to its client: pings are answered here, questions (sampling, elicitation, roots) are handed on
 * and answered under the server's own id. The one owner of that map.
 */
import { Fault } from "../errors.ts";
import { type Answer, Cancellation } from "../exchange.ts";
import { faultToError } from "../wire/codes.ts";
import type { Frame } from "../wire/frame.ts";
import { idKey } from "../wire/ids.ts";
import { progressRoute } from "../wire/progress.ts";
import { errorFrame, resultFrame, withId } from "../wire/splice.ts";

/** A question under way, as the stack gets it. */
export interface Question {
  readonly frame: Frame;
  readonly cancellation: Cancellation;
  readonly progress: ((notification: Frame) => void) | undefined;
}

/** Questions of one server at once; more than that is not a person answering. */
const LIMIT = 100;

export class Questions {
  readonly #open = new Map<string, Cancellation>();
  readonly #hand: (question: Question) => Promise<Answer>;
  readonly #send: (chunks: readonly Buffer[], kind: "response" | "notification") => void;

  constructor(
    hand: (question: Question) => Promise<Answer>,
    send: (chunks: readonly Buffer[], kind: "response" | "notification") => void,
  ) {
    this.#hand = hand;
    this.#send = send;
  }

  ask(frame: Frame): void {
    const idText = frame.idText!;
    const key = idKey(idText);
    if (frame.method === "ping") return this.#reply(idText, resultFrame({}));
    if (this.#open.has(key)) {
      return this.#refuse(idText, new Fault("INVALID_REQUEST", `a request with id ${idText} is still in flight`));
    }
    if (this.#open.size >= LIMIT) {
      return this.#refuse(idText, new Fault("QUEUE_FULL", `more than ${LIMIT} requests to the host are open`));
    }
    const cancellation = new Cancellation();
    this.#open.set(key, cancellation);
    const progress = progressRoute(frame, (chunks) => {
      if (this.#open.get(key) === cancellation) this.#send(chunks, "notification");
    });
    this.#hand({ frame, cancellation, progress }).then(
      (answer) => this.#settle(key, cancellation, idText, answer),
      (error: unknown) => {
        const fault = error instanceof Fault ? error : new Fault("INTERNAL", "Switchyard failed on this request");
        this.#settle(key, cancellation, idText, errorFrame(faultToError(fault)));
      },
    );
  }

  /** The server takes its own question back. */
  cancelled(requestId: string | undefined, reason: string): void {
    if (requestId !== undefined) this.#open.get(idKey(requestId))?.cancel(reason);
  }

  /** The server is gone: its questions mean nothing any more. */
  endAll(reason: string): void {
    for (const cancellation of this.#open.values()) cancellation.cancel(reason);
    this.#open.clear();
  }

  #settle(key: string, cancellation: Cancellation, idText: string, answer: Answer): void {
    // Cancelled, or asked by a process that is gone: nobody waits, and the id may be in use again.
    if (this.#open.get(key) !== cancellation) return;
    this.#open.delete(key);
    if (!cancellation.cancelled) this.#reply(idText, answer);
  }

  #refuse(idText: string, fault: Fault): void {
    this.#reply(idText, errorFrame(faultToError(fault)));
  }

  #reply(idText: string, answer: Answer): void {
    this.#send(withId(answer, idText), "response");
  }
}
