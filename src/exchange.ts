/**
 * READ SECOND. The contract that every folder shares.
 *
 * An Exchange is one request under way, whatever the era and whichever side asked. It passes a stack of layers,
 * `audit(resolve(policy(approval(limits(dispatch)))))` and some more, built in `proxy.ts`. A layer is a function around the next handler; the
 * types say what it needs and what it adds, so a stack in the wrong order, or without policy, does not compile.
 */
import type { RateLimit } from "./config/types.ts";
import type { Frame } from "./wire/frame.ts";
import type { MethodRow } from "./wire/methods.ts";

/** Which list of the catalogue a thing belongs to; also the key of a policy rule (`tools`, `prompts`, `resources`). */
export type ItemKind = "tool" | "prompt" | "resource";

/** Who is behind an exchange: the host's session, as policy and audit see it. */
export interface Caller {
  /** Our own id of the downstream session; unguessable, for the audit record. */
  readonly session: string;
  readonly client: { readonly name: string; readonly version: string };
  /** Name of the token or subject that authenticated; undefined on stdio. */
  readonly principal: string | undefined;
  /** The revision negotiated on the downstream leg, "2025-11-25" and before in the legacy era. */
  readonly revision: string;
  readonly era: "legacy" | "modern";
}

/** The only cancellation channel. Lighter than AbortSignal (one per call, on the hot path), with the same meaning. */
export class Cancellation {
  #reason: string | undefined;
  /** The usual case is one listener at a time: it needs no set. */
  #first: ((reason: string) => void) | undefined;
  #more: Set<(reason: string) => void> | undefined;

  get cancelled(): boolean {
    return this.#reason !== undefined;
  }
  /** Why, once it is cancelled. */
  get reason(): string | undefined {
    return this.#reason;
  }
  /** Runs `listener` once when cancelled, at once if it already is. Returns a function that takes the listener back. */
  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) listener(this.#reason);
    else if (this.#first === undefined) this.#first = listener;
    else {
      this.#more ??= new Set();
      this.#more.add(listener);
    }
    return () => {
      if (this.#first === listener) this.#first = undefined;
      else this.#more?.delete(listener);
    };
  }
  /** Idempotent; the first reason stands. */
  cancel(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const first = this.#first;
    const more = this.#more;
    this.#first = undefined;
    this.#more = undefined;
    first?.(reason);
    if (more) for (const listener of more) listener(reason);
  }
}

/** What a decision was and which rule made it (interface.md, audit field `decision`). */
export interface Decision {
  /** "ask": the host's user was asked, or could not be; `reason` says what came of it. */
  readonly effect: "allow" | "deny" | "ask";
  /** Where the rule is written: "rules[2]", "default", "mcpServers.files.tools.deny", … */
  readonly rule: string;
  readonly reason?: string;
  /** All of them hold, each for itself. */
  readonly limits?: readonly LimitOf[];
}

/** A limit on how often one caller uses one item. */
export interface LimitOf extends RateLimit {
  /** Where the rule is written that has it. */
  readonly rule: string;
}

/** The mutable part of an exchange: layers note what they learnt, audit writes it once. Times are performance.now() ms. */
export interface Trail {
  readonly startedAt: number;
  /** Key of the server, once resolved. */
  server: string | undefined;
  /** Original name or URI at the server. */
  name: string | undefined;
  /** Name or URI that the host used. */
  publicName: string | undefined;
  decision: Decision | undefined;
  /** Time spent waiting in the server's queue. */
  queuedMs: number;
  /** What audit has written of the request already, while the server was at work. */
  argumentsText: string | undefined;
  /** When the request was written to the server, and when its answer (or end) came. */
  sentAt: number | undefined;
  answeredAt: number | undefined;
  /** The result was larger than `maxResultBytes` and was cut. Sizes of the result as JSON text. */
  truncated?: Truncation;
  /** The item is not as it was pinned; digests are SHA-256 in hex. */
  pin?: { readonly state: string; readonly pinned?: string; readonly current?: string };
}

export interface Truncation {
  readonly fromBytes: number;
  readonly toBytes: number;
  /** `isError` is ours: without its structured content a result of this tool can only be an error. */
  readonly markedError: boolean;
}

export function newTrail(): Trail {
  return {
    startedAt: performance.now(),
    server: undefined,
    name: undefined,
    publicName: undefined,
    decision: undefined,
    queuedMs: 0,
    argumentsText: undefined,
    sentAt: undefined,
    answeredAt: undefined,
  };
}

/** One request under way. */
export interface Exchange {
  readonly direction: "toServer" | "toHost";
  /** The request exactly as it arrived. `frame.kind` is "request". */
  readonly frame: Frame;
  readonly row: MethodRow;
  readonly caller: Caller;
  readonly cancellation: Cancellation;
  readonly trail: Trail;
  /**
   * The way back for progress, present only if the asker gave a token. Takes the peer's `notifications/progress` frame;
   * the leg puts the asker's own token into it and drops what does not increase.
   */
  readonly progress: ((notification: Frame) => void) | undefined;
  /** direction "toHost": the server that asks. */
  readonly server: string | undefined;
  /** Filled in by resolve, in place: an exchange is not copied on its way (it is the hot path's one large object). */
  readonly target: Target | undefined;
}

/** Where an exchange goes. */
export type Target =
  /** One item of one server. `original` is the name or URI that the server knows; `rewrite` replaces it in the params. */
  | {
      readonly type: "item";
      readonly server: string;
      readonly kind: ItemKind;
      readonly original: string;
      readonly item: PolicyItem;
    }
  /** Every server contributes (lists), or Switchyard answers for all. */
  | { readonly type: "all" }
  /** The host's user or the host itself (sampling, elicitation, roots), asked by `server`. */
  | { readonly type: "host"; readonly server: string };

/** What policy may look at of an item: its place and its definition, parsed on demand. */
export interface PolicyItem {
  readonly server: string;
  readonly kind: ItemKind;
  /** Original name, or URI, or URI template. */
  readonly original: string;
  /** As the server sent it, parsed once; not there for a URI that is in no list. */
  definition?(): Readonly<Record<string, unknown>>;
}

export interface Resolved extends Exchange {
  readonly target: Target;
}

/** Gives an exchange its target; a later one replaces it (a probe for the owner of a URI tries several, one by one). */
export function aimAt(exchange: Exchange, target: Target): Resolved {
  (exchange as { target: Target }).target = target;
  return exchange as Resolved;
}

declare const judged: unique symbol;
/** Proof that policy does not deny the exchange; it may still demand that the user is asked (`trail.decision`). */
export interface Judged extends Resolved {
  readonly [judged]: true;
}

declare const permit: unique symbol;
/** Proof that the exchange may go out: policy allows it, or the user did. Only `pipeline/approval` makes one. */
export interface Permitted extends Judged {
  readonly [permit]: true;
}

/**
 * The answer to an exchange: a response frame whose id is still the one of the leg it came from (or 0 if we made it).
 * The leg towards the asker splices the asker's id in. A JSON-RPC error of the other side is such a frame too;
 * an error of our own is thrown as a Fault.
 */
export type Answer = Frame;

export type Handler<E extends Exchange> = (exchange: E) => Promise<Answer>;
export type Layer<Outer extends Exchange, Inner extends Exchange = Outer> = (next: Handler<Inner>) => Handler<Outer>;
