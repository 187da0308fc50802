/**
 * A leg: one connection to one peer, seen as whole messages. The stdio, Streamable HTTP and SSE legs implement it, and
 * an SDK transport can be wrapped into it. A leg knows framing, processes and HTTP; it knows no MCP method but what its
 * transport demands (`initialize` carries the session id of Streamable HTTP).
 */
import type { Frame } from "./frame.ts";

/** One message to send: `chunks` joined are one JSON text in UTF-8 with no line break in it. */
export interface Outgoing {
  readonly chunks: readonly Buffer[];
  readonly kind: "request" | "notification" | "response";
  /** The request's id on this leg (ours, a positive integer); set exactly for kind "request". */
  readonly id?: number;
  readonly method?: string;
}

/**
 * A message that could not be sent, or a request whose answer can no longer come.
 * `delivered` is what decides whether it may be sent again: "no" only when the peer certainly did not take it.
 */
export class LegError extends Error {
  override readonly name = "LegError";
  readonly delivered: "no" | "unknown";
  /** "session-lost": HTTP 404 on a known session. "unauthorized": 401. "full": too much is queued already. */
  readonly reason:
    | "closed"
    | "network"
    | "status"
    | "session-lost"
    | "unauthorized"
    | "full"
    | "bad-answer"
    | "too-large";
  /** HTTP status, where there is one. */
  readonly status: number | undefined;

  constructor(
    reason: LegError["reason"],
    message: string,
    detail: { delivered: "no" | "unknown"; status?: number; cause?: unknown },
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.reason = reason;
    this.delivered = detail.delivered;
    this.status = detail.status;
  }
}

/** Why a leg ended, for the log and for the errors of the requests it takes along. Already redacted. */
export interface LegClosed {
  /** One sentence: "exited with code 3", "connection refused", … */
  readonly reason: string;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  /** The last lines a child wrote to stderr (bounded). */
  readonly stderrTail?: readonly string[];
  /** True when we closed it ourselves. */
  readonly expected: boolean;
  /** HTTP: 401/403 on connecting; the connection is parked until something changes. */
  readonly needsLogin?: boolean;
}

/** What a leg reports. All are called synchronously in the order in which things arrived. */
export interface LegEvents {
  /** A valid message arrived. `of`: the request of ours to which its stream belongs, where the transport tells (HTTP). */
  frame(frame: Frame, of?: number): void;
  /** The request `id` that we sent will not be answered on this leg. */
  failed(id: number, error: LegError): void;
  /** HTTP: the server said, while no request was under way, that it does not know our session any more. */
  sessionLost?(): void;
  /** Called exactly once, also when `open` rejects. After it the leg says nothing more. */
  closed(why: LegClosed): void;
}

export interface Leg {
  /** Starts the process or checks the address. Rejects with a LegError whose message a person can act on. */
  open(events: LegEvents): Promise<void>;
  /**
   * Takes one message for sending, in order. Throws a LegError at once if the leg is closed or its queue is full
   * (`delivered: "no"`). What goes wrong with a request later is told by `failed` (or by `closed`).
   */
  send(message: Outgoing): void;
  /** HTTP legs: the negotiated revision goes into MCP-Protocol-Version from now on, and the GET stream is opened. */
  negotiated?(revision: string): void;
  /** HTTP legs: abandon the stream of one request (it was cancelled and nobody waits any more). */
  abandon?(id: number): void;
  /** Stop and start reading from the peer: back-pressure of the other side. */
  pause(): void;
  resume(): void;
  /**
   * Ends in order, within `graceMs` for each step: stdio closes stdin, waits, SIGTERM to the group, waits, SIGKILL to
   * the group; HTTP sends DELETE. Resolves when nothing is left. Safe to call twice.
   */
  close(graceMs: number): Promise<void>;
}
