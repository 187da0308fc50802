/**
 * The optional GET stream of a Streamable HTTP session: what a server says unasked. It is no sign of life (field report
 * F7): a server that refuses it in whatever way is asked once and left in peace, and one that cuts it is asked again
 * with `retry` and growing pauses.
 */
import { EventStreamParser } from "./event-stream.ts";
import type { HttpCall } from "./http-channel.ts";
import { networkError } from "./http-errors.ts";
import { mediaType } from "./http-headers.ts";
import { DEFAULT_RETRY_MS, type HttpLink, type HttpSession, MAX_RETRY_MS, reconnectDelay } from "./http-link.ts";
import { type Intake, takeMessage, takeOversize } from "./intake.ts";

const RETRY_CEILING_MS = 60_000;

export class ListenStream {
  readonly #link: HttpLink;
  readonly #session: HttpSession;
  #call: HttpCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEventId: string | undefined;
  #retryMs = DEFAULT_RETRY_MS;
  #failures = 0;
  /** The server has opened it at least once: only then is a 5xx a passing trouble. */
  #wasOpen = false;
  #stopped = false;
  readonly #answered: () => void;

  /** `answered`: the server has taken the stream, or refused it. May be called several times. */
  constructor(link: HttpLink, session: HttpSession, answered: () => void) {
    this.#link = link;
    this.#session = session;
    this.#answered = answered;
  }

  open(): void {
    if (this.#stopped) return;
    const { channel, headers, log, server, maxBytes } = this.#link;
    const { id, revision } = this.#session;
    this.#timer = undefined;
    const parser = new EventStreamParser({
      maxBytes,
      event: ({ type, data, oversize }) => {
        this.#failures = 0;
        if (this.#stopped || data.length === 0 || (type !== "" && type !== "message")) return;
        if (oversize === undefined) takeMessage(data, this.#intake);
        else takeOversize(data, oversize.bytes, oversize.tail, maxBytes, this.#intake);
      },
      id: (eventId) => {
        this.#failures = 0;
        this.#lastEventId = eventId === "" ? undefined : eventId;
      },
      retry: (ms) => {
        this.#retryMs = Math.min(ms, MAX_RETRY_MS);
      },
    });
    const call = channel.call("GET", headers.get(id, revision, this.#lastEventId), undefined, {
      head: (status, responseHeaders) => {
        const type = mediaType(responseHeaders);
        this.#answered();
        if (status === 200 && type === "text/event-stream") {
          this.#wasOpen = true;
          return;
        }
        call.abort();
        if (this.#wasOpen && (status >= 500 || status === 429)) return this.#again();
        log.debug({ server, status, type }, "the server offers no GET stream");
        this.stop();
        if (status === 404 && id !== undefined && this.#wasOpen && !this.#session.lost) {
          this.#session.lost = true;
          this.#link.sessionLost();
        }
      },
      data: (chunk) => parser.push(chunk),
      end: () => this.#again(),
      failed: (error, started) => {
        if (!this.#stopped)
          log.debug({ server, reason: networkError(error, started, this.#link).message }, "the GET stream is cut");
        this.#again();
      },
    });
    if (!this.#stopped && this.#timer === undefined) this.#call = call;
  }

  stop(): void {
    this.#answered();
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#call?.abort();
  }

  #again(): void {
    this.#answered();
    if (this.#stopped) return;
    this.#call = undefined;
    const delay = reconnectDelay(this.#retryMs, this.#failures, RETRY_CEILING_MS);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.open(), delay).unref();
  }

  readonly #intake: Intake = {
    frame: (frame) => this.#link.frame(frame),
    failed: (id, error) => this.#link.failed(id, error),
    noise: (bytes, why) => {
      const { server, log } = this.#link;
      log.debug({ server, bytes: bytes.length }, `ignored an event that is no message: ${why}`);
    },
  };
}
