/**
 * Sending requests over one server's current leg and matching what comes back: ids, progress, cancellation, clocks.
 * Knows nothing of reconnecting: `connection.ts` decides whether a request that failed may be sent again.
 */
import type { Timeouts } from "../config/types.ts";
import { Fault } from "../errors.ts";
import type { Cancellation } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";
import { type Leg, type LegClosed, LegError } from "../wire/leg.ts";
import { lateFault, startClock } from "./clock.ts";
import { Pending, type Waiting } from "./pending.ts";

/** One request to send. */
export interface RequestSpec {
  readonly method: string;
  /** Writes the message under the id; it also serves as progress token. Called again if the request is sent again. */
  compose(id: number): readonly Buffer[];
  readonly cancellation: Cancellation | undefined;
  /** Takes the server's progress notifications. */
  readonly progress?: ((notification: Frame) => void) | undefined;
  /** Undefined: no clock. */
  readonly timeouts: Timeouts | undefined;
  /** Its progress token stays good after the answer, until `forget`: a task may be made of it. */
  readonly lasting?: boolean;
  /** Called when the message is handed to the leg. */
  sent?(id: number): void;
  /** Called when it was answered, failed or cancelled. */
  ended?(): void;
}

export class Requests {
  readonly #server: string;
  readonly #pending = new Pending();

  constructor(server: string) {
    this.#server = server;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /**
   * Resolves with the response frame (a result or the server's own error). Rejects with a LegError if the leg could not
   * take it or lost it, else with a Fault (cancelled, deadline, server gone).
   */
  send(leg: Leg, spec: RequestSpec): Promise<Frame> {
    return new Promise((resolve, reject) => {
      if (spec.cancellation?.cancelled) return reject(new Fault("CANCELLED", spec.cancellation.reason ?? "cancelled"));
      const id = this.#pending.nextId();
      const abort = (reason: string, fault: Fault): void => {
        const waiting = this.#pending.take(id);
        if (waiting === undefined) return;
        this.#tellCancelled(leg, id, reason);
        // What the server asked in the course of it is not wanted any more either.
        if (waiting.questions) for (const question of waiting.questions) question.cancel(reason);
        reject(fault);
      };
      const clock =
        spec.timeouts &&
        startClock(spec.timeouts, (limit) =>
          abort(`timed out after ${limit.ms} ms`, lateFault(this.#server, spec.method, limit)),
        );
      const waiting: Waiting = {
        id,
        method: spec.method,
        forHost: spec.cancellation !== undefined,
        resolve,
        reject,
        progress: spec.progress,
        lasting: spec.lasting === true,
        clock,
        questions: undefined,
        ended: spec.ended,
        unlisten: undefined,
      };
      this.#pending.add(waiting);
      if (spec.cancellation) {
        waiting.unlisten = spec.cancellation.onCancel((reason) => abort(reason, new Fault("CANCELLED", reason)));
      }
      try {
        leg.send({ chunks: spec.compose(id), kind: "request", id, method: spec.method });
      } catch (error) {
        this.#pending.take(id);
        return reject(error);
      }
      spec.sent?.(id);
    });
  }

  /** A response arrived. False if nobody waits for it: it is late, or was never asked for. */
  answer(frame: Frame): boolean {
    const waiting = this.#pending.take(Number(frame.idText));
    if (waiting === undefined) return false;
    const flaw = flawOf(frame);
    if (flaw === undefined) waiting.resolve(frame);
    else waiting.reject(new LegError("bad-answer", `its answer is malformed: ${flaw}`, { delivered: "unknown" }));
    return true;
  }

  progress(notification: Frame): boolean {
    return this.#pending.progress(Number(notification.text("progressToken")), notification);
  }

  forget(token: number): void {
    this.#pending.forget(token);
  }

  /**
   * A question of the server came (on the stream of request `of`, where the transport tells): while it is open the server
   * is not silent, and if it is certain to which request it belongs it ends with that. Returns what undoes this.
   */
  tie(question: Cancellation, of: number | undefined): () => void {
    const behind = this.#pending.behind(of);
    const owner = behind.length === 1 ? behind[0] : undefined;
    if (owner) {
      owner.questions ??= new Set();
      owner.questions.add(question);
    }
    for (const { clock } of behind) clock?.hold();
    return () => {
      owner?.questions?.delete(question);
      for (const { clock } of behind) clock?.letGo();
    };
  }

  failed(id: number, error: LegError): void {
    this.#pending.take(id)?.reject(error);
  }

  /** The leg is gone: what was sent on it will not be answered. */
  lost(why: LegClosed): void {
    this.#pending.endAll((waiting) => lostFault(this.#server, waiting.method, why));
  }

  /** `initialize` must not be cancelled (spec.md §1.2): its connection is dropped instead. */
  #tellCancelled(leg: Leg, id: number, reason: string): void {
    try {
      const params = { requestId: id, reason };
      const text = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
      leg.send({ chunks: [Buffer.from(text)], kind: "notification", method: "notifications/cancelled" });
      leg.abandon?.(id);
    } catch (error) {
      // A leg that takes nothing any more has lost the request as well: there is nobody to tell.
      if (!(error instanceof LegError)) throw error;
    }
  }
}

/**
 * Relayed, such an answer would be dropped by the host's parser and the call would hang there (2025-11-25 `JSONRPCResponse`,
 * `JSONRPCError`). What is inside the result is between host and server.
 */
function flawOf(frame: Frame): string | undefined {
  const object = frame.bytes[frame.bodyStart] === 0x7b;
  if (!frame.isError) return object ? undefined : "result is not an object";
  if (!object) return "error is not an object";
  if (!/^-?\d+$/.test(frame.text("code") ?? "")) return "error.code is not an integer";
  return frame.string("message") === undefined ? "error.message is not a string" : undefined;
}

/** What a request learns when its server goes away under it. It may have run: nobody can know, so it is never replayed. */
export function lostFault(server: string, method: string, why: LegClosed): Fault {
  const tail = why.stderrTail?.length ? `; its last words on stderr: ${why.stderrTail.join(" | ")}` : "";
  return new Fault(
    "SERVER_CLOSED",
    `server "${server}" ${why.reason} while ${method} was under way; whether it ran is unknown${tail}`,
    {
      server,
      data: {
        outcome: "unknown",
        ...(why.exitCode === undefined ? {} : { exitCode: why.exitCode }),
        ...(why.signal === undefined || why.signal === null ? {} : { signal: why.signal }),
        ...(why.stderrTail?.length ? { stderr: why.stderrTail } : {}),
      },
    },
  );
}

/** A leg's trouble as the host is told of it. */
export function faultOf(server: string, method: string, error: LegError): Fault {
  const detail = { server, retrySafe: error.delivered === "no", cause: error };
  const status = error.status === undefined ? {} : { status: error.status };
  const outcome = error.delivered === "no" ? {} : { outcome: "unknown" };
  const text = `server "${server}": ${error.message}`;
  switch (error.reason) {
    case "full":
      return new Fault("QUEUE_FULL", text, detail);
    case "too-large":
      return new Fault("MESSAGE_TOO_LARGE", text, detail);
    case "bad-answer":
      return new Fault("BAD_ANSWER", `${text} (on ${method})`, { ...detail, data: { ...status, ...outcome } });
    case "unauthorized":
      return new Fault("NEEDS_LOGIN", `${text}; it wants a login or another token`, { ...detail, data: status });
    default:
      return error.delivered === "no"
        ? new Fault("SERVER_UNAVAILABLE", text, { ...detail, data: status })
        : new Fault("SERVER_CLOSED", `${text}; whether ${method} ran is unknown`, {
            ...detail,
            data: { ...status, ...outcome },
          });
  }
}
