/**
 * Requests of one server to its client: pings are answered here, questions (sampling, elicitation, roots) are handed on
 * and answered under the server's own id. The one owner of that map.
 */
import { Fault } from "../errors.ts";
import { type Answer, Cancellation } from "../exchange.ts";
import type { Log } from "../log.ts";
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

interface Open {
  readonly cancellation: Cancellation;
  withdrawn: boolean;
}

/** Ids of questions that are known to have come. */
const REMEMBERED = 1000;

/** Questions of one server at once; more than that is not a person answering. */
const LIMIT = 100;

export class Questions {
  readonly #open = new Map<string, Open>();
  readonly #asked = new Set<string>();
  readonly #once: boolean;
  readonly #log: Log;
  readonly #hand: (question: Question) => Promise<Answer>;
  readonly #send: (chunks: readonly Buffer[], kind: "response" | "notification") => void;

  /** `once`: an id that was used before is the same question again (a resumed HTTP stream replays what it had). */
  constructor(
    hand: (question: Question) => Promise<Answer>,
    send: (chunks: readonly Buffer[], kind: "response" | "notification") => void,
    { once, log }: { readonly once: boolean; readonly log: Log },
  ) {
    this.#hand = hand;
    this.#send = send;
    this.#once = once;
    this.#log = log;
  }

  /** `tie` binds a question to the request that it belongs to, and returns what undoes that. */
  ask(frame: Frame, tie: (question: Cancellation) => () => void): void {
    const idText = frame.idText!;
    const key = idKey(idText);
    if (frame.method === "ping") return this.#reply(idText, resultFrame({}));
    // An error under the id of an open question would be taken for its answer: a resumed stream may bring it twice.
    if (this.#open.has(key) || this.#asked.has(key)) {
      return this.#log.debug({ id: idText }, "a question that came twice was dropped");
    }
    if (this.#once) this.#remember(key);
    if (this.#open.size >= LIMIT) {
      return this.#refuse(idText, new Fault("QUEUE_FULL", `more than ${LIMIT} requests to the host are open`));
    }
    const cancellation = new Cancellation();
    const open: Open = { cancellation, withdrawn: false };
    this.#open.set(key, open);
    const untie = tie(cancellation);
    const progress = progressRoute(frame, (chunks) => {
      if (this.#open.get(key) === open) this.#send(chunks, "notification");
    });
    this.#hand({ frame, cancellation, progress })
      .catch((error: unknown) => {
        const fault = error instanceof Fault ? error : new Fault("INTERNAL", "Switchyard failed on this request");
        return errorFrame(faultToError(fault));
      })
      .then((answer) => {
        untie();
        this.#settle(key, open, idText, answer);
      });
  }

  #remember(key: string): void {
    if (this.#asked.size >= REMEMBERED)
      for (const oldest of this.#asked) {
        this.#asked.delete(oldest);
        break;
      }
    this.#asked.add(key);
  }

  /** The server takes its own question back: it gets no answer (spec.md §1.4). */
  cancelled(requestId: string | undefined, reason: string): void {
    const open = requestId === undefined ? undefined : this.#open.get(idKey(requestId));
    if (open === undefined) return;
    open.withdrawn = true;
    open.cancellation.cancel(reason);
  }

  /** The server is gone: its questions mean nothing any more. */
  endAll(reason: string): void {
    const all = [...this.#open.values()];
    this.#open.clear();
    this.#asked.clear();
    for (const { cancellation } of all) cancellation.cancel(reason);
  }

  #settle(key: string, open: Open, idText: string, answer: Answer): void {
    // Asked by a process that is gone: nobody waits, and the id may be in use again.
    if (this.#open.get(key) !== open) return;
    this.#open.delete(key);
    if (!open.withdrawn) this.#reply(idText, answer);
  }

  #refuse(idText: string, fault: Fault): void {
    this.#reply(idText, errorFrame(faultToError(fault)));
  }

  #reply(idText: string, answer: Answer): void {
    this.#send(withId(answer, idText), "response");
  }
}
