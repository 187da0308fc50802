/**
 * The leg to a server of the old HTTP+SSE transport (revision 2024-11-05): one event stream, which names an endpoint to
 * POST messages to and brings everything that comes back. The session is the stream: when it ends, the leg is closed.
 */
import { type Leg, LegError, type LegEvents, type Outgoing } from "../../wire/leg.ts";
import { EventStreamParser, type ServerEvent } from "./event-stream.ts";
import type { HttpLegOptions } from "./http.ts";
import type { HttpCall, ResponseHeaders } from "./http-channel.ts";
import { badAnswer, deniesSession, networkError, shown, statusError, unauthorized } from "./http-errors.ts";
import { mediaType } from "./http-headers.ts";
import { connectLink, type HttpLink } from "./http-link.ts";
import { type Intake, takeMessage, takeOversize } from "./intake.ts";
import { SendOrder, type Ticket } from "./send-order.ts";

/** Of a refusal's body no more than this is read. */
const REFUSAL_BYTES = 64 * 1024;

export function createSseLeg(options: HttpLegOptions): Leg {
  return new SseLeg(options);
}

class SseLeg implements Leg {
  readonly #options: HttpLegOptions;
  readonly #order = new SendOrder((message, body, ticket) => this.#post(message, body, ticket));
  #state: "new" | "opening" | "open" | "closed" = "new";
  #events: LegEvents | undefined;
  #link: HttpLink | undefined;
  #endpoint: URL | undefined;
  #revision: string | undefined;
  #paused = false;
  #opened: { resolve(): void; reject(error: LegError): void } | undefined;

  constructor(options: HttpLegOptions) {
    this.#options = options;
  }

  async open(events: LegEvents): Promise<void> {
    if (this.#state !== "new") throw this.#end(closedError(), true);
    this.#state = "opening";
    this.#events = events;
    try {
      const link = await connectLink(this.#options, {
        frame: (frame) => this.#events?.frame(frame),
        sessionLost: () => {},
        failed: (id, error) => this.#events?.failed(id, error),
      });
      this.#link = link;
      if ((this.#state as string) === "closed") {
        await link.channel.destroy();
        throw closedError();
      }
      if (this.#paused) link.channel.pause();
      await new Promise<void>((resolve, reject) => {
        this.#opened = { resolve, reject };
        this.#listen(link);
      });
    } catch (error) {
      throw this.#end(error instanceof LegError ? error : networkError(error as Error, false, this.#wording()), false);
    }
  }

  #wording(): { url: URL; redact(text: string): string } {
    return { url: new URL(this.#options.target.url), redact: (text) => this.#options.redact(text) };
  }

  #listen(link: HttpLink): void {
    const parser = new EventStreamParser({
      maxBytes: link.maxBytes,
      event: (event) => this.#event(link, event),
      id() {},
      retry() {},
    });
    new Exchange(link, "GET", link.url, undefined, {
      accepted: (status, headers) => {
        if (status === 200 && mediaType(headers) === "text/event-stream") return true;
        const what = `no event stream (${mediaType(headers)}): is this the address of an HTTP+SSE server?`;
        this.#end(badAnswer(what, status, Buffer.alloc(0), link), false);
        return false;
      },
      data: (chunk) => parser.push(chunk),
      refused: (error) => this.#end(error, false),
      end: () => this.#end(new LegError("closed", "the event stream ended", { delivered: "unknown" }), false),
    });
  }

  #event(link: HttpLink, { type, data, oversize }: ServerEvent): void {
    if (this.#state === "closed" || data.length === 0) return;
    if (type === "endpoint") return this.#takeEndpoint(link, data.toString("utf8"));
    if (type !== "" && type !== "message") return;
    const intake: Intake = {
      frame: link.frame,
      failed: link.failed,
      noise: (bytes, why) =>
        link.log.debug({ server: link.server, bytes: bytes.length }, `ignored an event that is no message: ${why}`),
    };
    if (oversize === undefined) takeMessage(data, intake);
    else takeOversize(data, oversize.bytes, oversize.tail, link.maxBytes, intake);
  }

  #takeEndpoint(link: HttpLink, text: string): void {
    if (this.#endpoint !== undefined) return;
    const endpoint = URL.canParse(text, link.url.href) ? new URL(text, link.url) : undefined;
    if (endpoint?.origin !== link.url.origin) {
      const where = endpoint === undefined ? "something that is no URL" : endpoint.origin;
      const message =
        `${shown(link.url)} names an endpoint on another origin (${where}); messages and headers are sent to ` +
        `${link.url.origin} only`;
      this.#end(new LegError("network", message, { delivered: "no" }), false);
      return;
    }
    this.#endpoint = endpoint;
    this.#state = "open";
    this.#opened?.resolve();
  }

  send(message: Outgoing): void {
    if (this.#state !== "open") throw closedError();
    this.#order.add(message);
  }

  #post(message: Outgoing, body: Buffer, ticket: Ticket): void {
    const link = this.#link;
    const { id, method, kind } = message;
    if (this.#state !== "open" || link === undefined || this.#endpoint === undefined) return;
    new Exchange(link, "POST", this.#endpoint, link.headers.post(undefined, this.#revision), {
      body,
      started: () => ticket.started(),
      // The answer comes on the stream; what the POST itself brings is of no interest.
      accepted: () => {
        ticket.headed();
        return true;
      },
      data() {},
      refused: (error, status, refusal) => {
        ticket.headed();
        const lost = status === 404 || (status === 400 && deniesSession(refusal));
        const reason = `the server no longer knows this connection (HTTP ${status})`;
        const told = lost ? new LegError("closed", reason, { delivered: "no", status }) : error;
        if (id !== undefined) link.failed(id, told);
        else link.log.warn({ server: link.server, method }, `a ${kind} was not taken: ${error.message}`);
        if (lost) this.#end(told, false);
      },
      end: () => ticket.headed(),
    });
  }

  negotiated(revision: string): void {
    this.#revision = revision;
  }

  abandon(id: number): void {
    this.#order.remove(id);
  }

  pause(): void {
    this.#paused = true;
    this.#link?.channel.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#link?.channel.resume();
  }

  async close(_graceMs: number): Promise<void> {
    this.#end(closedError(), true);
    await this.#link?.channel.destroy();
  }

  /** Returns the error, for those who throw it. */
  #end(error: LegError, expected: boolean): LegError {
    if (this.#state === "closed") return error;
    this.#state = "closed";
    this.#order.clear();
    this.#opened?.reject(error);
    const events = this.#events;
    this.#events = undefined;
    void this.#link?.channel.destroy();
    const needsLogin = error.reason === "unauthorized";
    events?.closed({ reason: error.message, expected, ...(needsLogin ? { needsLogin } : {}) });
    return error;
  }
}

interface ExchangeEvents {
  readonly body?: Buffer;
  started?(): void;
  /** A 2xx. Returns false if the rest is not wanted. */
  accepted(status: number, headers: ResponseHeaders): boolean;
  data(chunk: Buffer): void;
  /** Any other status (`status` > 0), or the network (0). Instead of `end`. */
  refused(error: LegError, status: number, body: Buffer): void;
  end(): void;
}

/** A request whose refusal is read and put into words. */
class Exchange {
  constructor(link: HttpLink, method: "GET" | "POST", url: URL, headers: string[] | undefined, events: ExchangeEvents) {
    let status = 0;
    let head: ResponseHeaders = {};
    let body = Buffer.alloc(0);
    const refused = (): void => {
      const login = status === 401 || status === 403;
      events.refused(login ? unauthorized(status, link) : statusError(status, head, body, link), status, body);
    };
    const lines = headers ?? link.headers.get(undefined, undefined, undefined);
    const call: HttpCall = link.channel.call(
      method,
      lines,
      events.body,
      {
        started: () => events.started?.(),
        head: (code, responseHeaders) => {
          if (code >= 200 && code < 300) {
            if (!events.accepted(code, responseHeaders)) call.abort();
            return;
          }
          status = code;
          head = responseHeaders;
        },
        data: (chunk) => {
          if (status === 0) return events.data(chunk);
          body = Buffer.concat([body, chunk]);
          if (body.length < REFUSAL_BYTES) return;
          call.abort();
          refused();
        },
        end: () => (status === 0 ? events.end() : refused()),
        failed: (error, started) => {
          if (status !== 0) refused();
          else events.refused(networkError(error, started, link), 0, body);
        },
      },
      url,
    );
  }
}

function closedError(): LegError {
  return new LegError("closed", "closed", { delivered: "no" });
}
