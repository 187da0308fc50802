/**
 * The event stream that answers one POST: its messages in order, and if it is cut before the answer came, taking it up
 * again by GET with Last-Event-ID (spec.md §1.17, R73). A lost connection is not a cancelled request, and a lost answer
 * is no proof that the call did not run: what cannot be taken up fails with its outcome unknown.
 */
import type { Frame } from "../../wire/frame.ts";
import { LegError } from "../../wire/leg.ts";
import { EventStreamParser, type ServerEvent } from "./event-stream.ts";
import type { HttpCall, ResponseHeaders } from "./http-channel.ts";
import { badAnswer, networkError, sessionLost, shown } from "./http-errors.ts";
import { mediaType } from "./http-headers.ts";
import { DEFAULT_RETRY_MS, type HttpLink, type HttpSession, MAX_RETRY_MS, reconnectDelay } from "./http-link.ts";
import { type Intake, takeMessage, takeOversize, tooLarge } from "./intake.ts";

/** Attempts to take a stream up again that brought no event at all. */
const MAX_FAILURES = 5;
const RETRY_CEILING_MS = 30_000;
/** The server should end the stream after the answer; one that does not is left alone after this. */
const LINGER_MS = 2000;

export class AnswerStream {
  readonly #link: HttpLink;
  readonly #session: HttpSession;
  /** The request that is to be answered; undefined where nothing is owed (a notification's stream). */
  readonly #id: number | undefined;
  readonly #done: () => void;
  #parser: EventStreamParser;
  #call: HttpCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEventId = "";
  #retryMs = DEFAULT_RETRY_MS;
  #failures = 0;
  #answered: boolean;
  #over = false;

  /** `done` is called once, when nothing more will come of it. */
  constructor(
    link: HttpLink,
    session: HttpSession,
    id: number | undefined,
    call: HttpCall | undefined,
    done: () => void,
  ) {
    this.#link = link;
    this.#session = session;
    this.#id = id;
    this.#answered = id === undefined;
    this.#call = call;
    this.#done = done;
    this.#parser = this.#newParser();
    if (this.#answered) this.#settle();
  }

  push(chunk: Buffer): void {
    this.#parser.push(chunk);
  }

  /** The response is at its end, in order or by an error. */
  ended(error: Error | undefined): void {
    if (this.#over) return;
    if (this.#answered) return this.stop();
    this.#call = undefined;
    if (this.#lastEventId === "") {
      const reason = error ?? new Error("the stream ended before the answer");
      return this.#fail(networkError(reason, true, this.#link));
    }
    if (this.#failures >= MAX_FAILURES) {
      const text = `connection lost, outcome unknown: the stream from ${shown(this.#link.url)} could not be taken up again`;
      return this.#fail(new LegError("network", text, { delivered: "unknown", cause: error }));
    }
    const delay = reconnectDelay(this.#retryMs, this.#failures, RETRY_CEILING_MS);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.#resume(), delay);
  }

  /** Ends it without a word. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#call?.abort();
    this.#done();
  }

  #fail(error: LegError): void {
    this.stop();
    if (this.#id !== undefined) this.#link.failed(this.#id, error);
  }

  #newParser(): EventStreamParser {
    return new EventStreamParser({
      maxBytes: this.#link.maxBytes,
      event: (event) => this.#event(event),
      id: (id) => {
        this.#lastEventId = id;
        this.#failures = 0;
      },
      retry: (ms) => {
        this.#retryMs = Math.min(ms, MAX_RETRY_MS);
      },
    });
  }

  #event({ type, data, oversize }: ServerEvent): void {
    if (this.#over) return;
    this.#failures = 0;
    // An event without data only carries an id; other types are not messages.
    if (data.length === 0 || (type !== "" && type !== "message")) return;
    const { maxBytes } = this.#link;
    if (oversize === undefined) return takeMessage(data, this.#intake);
    const known = takeOversize(data, oversize.bytes, oversize.tail, maxBytes, this.#intake);
    // What cannot be told from its ends is most likely what this stream is for.
    if (!known && this.#id !== undefined) this.#intake.failed(this.#id, tooLarge(oversize.bytes, maxBytes));
  }

  readonly #intake: Intake = {
    frame: (frame) => this.#frame(frame),
    failed: (id, error) => {
      if (id === this.#id) this.#settle();
      this.#link.failed(id, error);
    },
    noise: (bytes, why) => {
      const { server, log } = this.#link;
      log.debug({ server, bytes: bytes.length }, `ignored an event that is no message: ${why}`);
    },
  };

  #frame(frame: Frame): void {
    if (this.#id !== undefined && !this.#answered && frame.kind === "response") {
      const idText = frame.idText ?? "null";
      if (idText === "null") {
        // The server could not tell which request it refuses; on this stream it can be one only.
        this.#settle();
        return this.#link.failed(this.#id, badAnswer("an error without an id", 200, frame.bytes, this.#link));
      }
      if (idText === String(this.#id)) this.#settle();
    }
    this.#link.frame(frame, this.#id);
  }

  /** Nothing is owed any more; what still comes is passed on for a while. */
  #settle(): void {
    this.#answered = true;
    this.#timer ??= setTimeout(() => this.stop(), LINGER_MS).unref();
  }

  #resume(): void {
    const { channel, headers, log, server } = this.#link;
    const { id, revision } = this.#session;
    this.#timer = undefined;
    this.#parser = this.#newParser();
    log.debug({ server }, "taking up a stream again");
    const call = channel.call("GET", headers.get(id, revision, this.#lastEventId), undefined, {
      head: (status, responseHeaders) => {
        if (status === 200 && mediaType(responseHeaders) === "text/event-stream") return;
        call.abort();
        if (status >= 500 || status === 429) this.ended(new Error(`HTTP ${status}`));
        else this.#fail(this.#refusal(status, responseHeaders));
      },
      data: (chunk) => this.push(chunk),
      end: () => this.ended(undefined),
      failed: (error) => this.ended(error),
    });
    if (!this.#over && this.#timer === undefined) this.#call = call;
  }

  #refusal(status: number, headers: ResponseHeaders): LegError {
    const { url } = this.#link;
    if (status === 404 && this.#session.id !== undefined) {
      this.#session.lost = true;
      return sessionLost(status, "unknown");
    }
    const text = `connection lost, outcome unknown: ${shown(url)} does not take up the stream again (HTTP ${status} ${mediaType(headers)})`;
    return new LegError("network", text, { delivered: "unknown", status });
  }
}
