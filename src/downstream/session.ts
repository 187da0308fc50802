/**
 * One legacy host: its life cycle, its requests in flight, its log level. Takes scanned messages from a leg (stdio.ts,
 * later HTTP), hands requests to the stack as Exchanges and writes the answers under the host's own ids.
 * Source: spec.md §1.1–1.5, groups A and B of §5.
 */
import { randomUUID } from "node:crypto";
import { Fault } from "../errors.ts";
import { type Answer, type Caller, Cancellation, type Exchange, type Handler, newTrail } from "../exchange.ts";
import type { Log } from "../log.ts";
import { faultToError } from "../wire/codes.ts";
import type { Frame } from "../wire/frame.ts";
import { idKey } from "../wire/ids.ts";
import { type MethodRow, rowOf } from "../wire/methods.ts";
import { progressRoute } from "../wire/progress.ts";
import { type ScanFault, scan } from "../wire/scan.ts";
import { errorFrame, resultFrame, withId } from "../wire/splice.ts";
import { elements, findMember } from "../wire/values.ts";
import { Asks } from "./asks.ts";
import { type HostFacts, readFacts } from "./facts.ts";

export interface SessionOptions {
  /** Writes one message to the host: chunks joined = one JSON text. */
  write(chunks: readonly Buffer[]): void;
  /** The stack of layers (proxy.ts). */
  readonly handle: Handler<Exchange>;
  readonly log: Log;
  /** Resolves with the whole InitializeResult but `protocolVersion`. Called once, at `initialize`. */
  initialize(host: HostFacts): Promise<Record<string, unknown>>;
  /** False for a method whose capability we did not offer: answered -32601. */
  offered(row: MethodRow): boolean;
  /** A notification of the host that is not the session's own business: roots/list_changed and those we do not know. */
  notified(frame: Frame): void;
}

/** Notifications kept for a host that has not said `initialized` yet. */
const HELD_LIMIT = 1000;

type Phase = "new" | "initializing" | "initialized" | "operating" | "draining" | "closed";

export class HostSession {
  readonly id = randomUUID();
  readonly #options: SessionOptions;
  readonly #inFlight = new Map<string, Exchange>();
  readonly #asks = new Asks();
  #phase: Phase = "new";
  #host: HostFacts | undefined;
  #caller: Caller | undefined;
  #held: (readonly Buffer[])[] = [];
  /** What a hasty host sent behind `initialize` without waiting for its answer: taken up in order once that is out. */
  #hasty: Frame[] = [];
  #initializing: Promise<void> | undefined;
  #operating: Promise<void>;
  #begin: () => void = () => {};
  #idle: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#operating = new Promise((resolve) => {
      this.#begin = resolve;
    });
  }

  get host(): HostFacts | undefined {
    return this.#host;
  }

  /** Known from `initialize` on. */
  get caller(): Caller | undefined {
    return this.#caller;
  }

  /** One message of the host, as scanned. `bytes` is the whole text, for what is not a single message. */
  receive(message: Frame | ScanFault, bytes: Buffer): void {
    try {
      this.#receive(message, bytes);
    } catch (error) {
      // A fault of ours on one message must not cost the host its connection.
      this.#options.log.error({ error: String(error), stack: (error as Error).stack }, "unexpected fault");
      if ("fault" in message || message.kind !== "request") return;
      this.#fail(
        message.idText!,
        new Fault("INTERNAL", `Switchyard failed on ${message.method}; its log has the reason`),
      );
    }
  }

  #receive(message: Frame | ScanFault, bytes: Buffer): void {
    if ("fault" in message) this.#refuse(message, bytes);
    else if (message.kind === "response") this.#response(message);
    else if (this.#phase === "initializing" && message.method !== "ping" && message.method !== "initialize") {
      this.#hasty.push(message);
    } else if (message.kind === "request") this.#request(message);
    else this.#notification(message);
  }

  /** A message over the limit was dropped: that request alone fails, or the question that it would have answered. */
  tooLong(idText: string | undefined, kind: "request" | "response" | undefined, text: string): void {
    this.#options.log.warn({}, text);
    const fault = new Fault("MESSAGE_TOO_LARGE", text);
    if (idText === undefined) return;
    if (kind === "response") this.#asks.fail(Number(idText), fault);
    else this.#fail(idText, fault);
  }

  /** Sends a notification, or keeps it until the host has said `initialized` (spec.md R27). */
  notify(chunks: readonly Buffer[]): void {
    if (this.#phase === "closed") return;
    if (this.#phase === "operating" || this.#phase === "draining") this.#options.write(chunks);
    else if (this.#held.length < HELD_LIMIT) this.#held.push(chunks);
  }

  /**
   * A server's question. `compose` writes the request under the id it is given. Waits until the host may be asked.
   * `deadlineMs` 0 = none.
   */
  async ask(exchange: Exchange, deadlineMs: number, compose: (id: number) => readonly Buffer[]): Promise<Answer> {
    if (this.#phase !== "operating" && this.#phase !== "draining") await this.#operating;
    if (this.#phase === "closed") throw new Fault("SERVER_CLOSED", "the host is gone");
    return this.#asks.ask({
      cancellation: exchange.cancellation,
      deadlineMs,
      what: exchange.row.method,
      progress: exchange.progress,
      send: (id) => this.#options.write(compose(id)),
      withdraw: (id, reason) => {
        const params = { requestId: id, reason };
        this.notify([Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }))]);
      },
    });
  }

  /** The host has ended its side: it will answer no question any more, so that calls need not wait for that. */
  deaf(): void {
    this.#asks.endAll("the host has left");
  }

  /** Takes nothing new from now on; resolves when every request in flight has been answered. */
  async drain(): Promise<void> {
    await this.#initializing;
    if (this.#phase !== "closed") this.#phase = "draining";
    if (this.#inFlight.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  /** The host is gone or we are: what is still in flight is cancelled, questions end. */
  close(reason: string): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    for (const exchange of this.#inFlight.values()) exchange.cancellation.cancel(reason);
    this.#asks.endAll(reason);
    this.#begin();
  }

  // --- requests -------------------------------------------------------------------------------------------------------

  #request(frame: Frame): void {
    const idText = frame.idText!;
    const key = idKey(idText);
    const method = frame.method!;
    if (this.#inFlight.has(key)) {
      return this.#fail(idText, new Fault("INVALID_REQUEST", `a request with id ${idText} is still in flight`));
    }
    if (method === "ping") return this.#answer(idText, resultFrame({}));
    if (method === "initialize") return this.#initialize(frame, idText);
    const caller = this.#caller;
    if (caller === undefined) {
      return this.#fail(idText, new Fault("INVALID_REQUEST", `${method} before initialize: send initialize first`));
    }
    if (this.#phase === "draining" || this.#phase === "closed") {
      return this.#fail(idText, new Fault("SHUTTING_DOWN", "Switchyard is shutting down and takes no new requests"));
    }
    const row = rowOf(method);
    if (row === undefined || row.type !== "request" || row.from === "server" || !this.#options.offered(row)) {
      return this.#fail(idText, new Fault("METHOD_NOT_FOUND", `Method not found: ${method}`));
    }
    if (frame.bodyStart >= 0 && frame.bytes[frame.bodyStart] !== 0x7b) {
      return this.#fail(idText, new Fault("INVALID_PARAMS", `params of ${method} must be an object`));
    }
    const exchange: Exchange = {
      direction: "toServer",
      frame,
      row,
      caller,
      cancellation: new Cancellation(),
      trail: newTrail(),
      progress: progressRoute(frame, (chunks) => {
        if (this.#inFlight.get(key) === exchange) this.notify(chunks);
      }),
      server: undefined,
      target: undefined,
    };
    this.#inFlight.set(key, exchange);
    this.#options.handle(exchange).then(
      (answer) => this.#settle(key, exchange, idText, answer),
      (error: unknown) => this.#settle(key, exchange, idText, this.#errorOf(error, method)),
    );
  }

  /** A cancelled request gets no answer (spec.md R130); its id is free again either way. */
  #settle(key: string, exchange: Exchange, idText: string, answer: Answer): void {
    if (this.#inFlight.get(key) === exchange) this.#inFlight.delete(key);
    if (!exchange.cancellation.cancelled) this.#answer(idText, answer);
    if (this.#inFlight.size === 0) this.#idle?.();
  }

  #initialize(frame: Frame, idText: string): void {
    if (this.#phase !== "new") {
      return this.#fail(
        idText,
        new Fault("INVALID_REQUEST", "initialize was sent before: one session, one initialize"),
      );
    }
    const facts = readFacts(frame);
    if (facts === undefined) {
      return this.#fail(idText, new Fault("INVALID_PARAMS", "initialize needs params.protocolVersion, a string"));
    }
    this.#phase = "initializing";
    this.#host = facts;
    const { revision } = facts;
    this.#caller = { session: this.id, client: this.#host.client, principal: undefined, revision, era: "legacy" };
    this.#initializing = this.#options
      .initialize(this.#host)
      .then(
        (rest) => resultFrame({ protocolVersion: revision, ...rest }),
        (error: unknown) => this.#errorOf(error, "initialize"),
      )
      .then((answer) => {
        if (this.#phase === "initializing") this.#phase = "initialized";
        this.#answer(idText, answer);
        for (const frame of this.#hasty.splice(0)) this.receive(frame, frame.bytes);
      });
  }

  #errorOf(error: unknown, method: string): Answer {
    if (error instanceof Fault) return errorFrame(faultToError(error));
    this.#options.log.error({ method, error: String(error), stack: (error as Error)?.stack }, "unexpected fault");
    return errorFrame(faultToError(new Fault("INTERNAL", `Switchyard failed on ${method}; its log has the reason`)));
  }

  #fail(idText: string, fault: Fault): void {
    this.#answer(idText, errorFrame(faultToError(fault)));
  }

  #answer(idText: string, frame: Frame): void {
    if (this.#phase !== "closed") this.#options.write(withId(frame, idText));
  }

  // --- the rest -------------------------------------------------------------------------------------------------------

  #notification(frame: Frame): void {
    const method = frame.method!;
    if (method === "notifications/initialized") {
      if (this.#phase !== "initialized") return;
      this.#phase = "operating";
      for (const chunks of this.#held.splice(0)) this.#options.write(chunks);
      this.#begin();
    } else if (method === "notifications/cancelled") {
      const requestId = frame.text("requestId");
      const exchange = requestId === undefined ? undefined : this.#inFlight.get(idKey(requestId));
      // Its id is free from here on: it will not be answered.
      if (exchange !== undefined) this.#inFlight.delete(idKey(requestId!));
      exchange?.cancellation.cancel(frame.string("reason") ?? "cancelled by the host");
    } else if (method === "notifications/progress") {
      this.#asks.progress(Number(frame.text("progressToken")), frame);
    } else if (this.#caller !== undefined) {
      this.#options.notified(frame);
    }
  }

  #response(frame: Frame): void {
    const known = this.#asks.answer(Number(frame.idText), frame);
    if (!known) this.#options.log.debug({ id: frame.idText }, "the host answered a request that nobody waits for");
  }

  /** What is not one valid message. Without an id that can be read the error goes out with id null (JSON-RPC 2.0, 5.1). */
  #refuse(fault: ScanFault, bytes: Buffer): void {
    if (fault.fault === "batch") return this.#batch(bytes);
    const valid = fault.fault === "malformed" || fault.fault === "duplicate";
    const has = (key: string): boolean => valid && findMember(bytes, 0, bytes.length, key) !== undefined;
    // A notification is never answered, even a broken one.
    if (fault.idText === undefined && fault.method !== undefined && !has("id")) {
      this.#options.log.debug(
        { method: fault.method, reason: fault.reason },
        "a broken notification of the host was dropped",
      );
      return;
    }
    if (fault.method === undefined && (has("result") || has("error"))) {
      // A broken answer of the host: it is not answered, and the question that it was for has none.
      const text = `the host's answer is malformed: ${fault.reason}`;
      this.#asks.fail(Number(fault.idText), new Fault("BAD_ANSWER", text));
      this.#options.log.warn({ id: fault.idText }, text);
      return;
    }
    const code = fault.fault === "syntax" ? "PARSE_ERROR" : "INVALID_REQUEST";
    this.#fail(
      fault.idText ?? "null",
      new Fault(code, `${code === "PARSE_ERROR" ? "Parse error" : "Invalid request"}: ${fault.reason}`),
    );
  }

  /** Arrays are legal in revision 2025-03-26 only; each member then passes the same stack. Answers leave one by one. */
  #batch(bytes: Buffer): void {
    const spans =
      this.#host?.revision === "2025-03-26" && this.#caller !== undefined ? elements(bytes, 0, bytes.length) : [];
    if (spans.length === 0) {
      return this.#fail("null", new Fault("INVALID_REQUEST", "a JSON array is not a request in this revision of MCP"));
    }
    for (let i = 0; i < spans.length; i += 2) {
      const part = bytes.subarray(spans[i]!, spans[i + 1]!);
      const message = scan(part);
      if (!("fault" in message) && message.method === "initialize") {
        this.#fail(message.idText ?? "null", new Fault("INVALID_REQUEST", "initialize may not be part of a batch"));
      } else if ("fault" in message && message.fault === "batch") {
        this.#fail("null", new Fault("INVALID_REQUEST", "a batch may not hold another"));
      } else this.receive(message, part);
    }
  }
}
