/**
 * One message on its way to a Streamable HTTP server: a POST and whatever answers it (spec.md §1.17): one JSON text, an
 * event stream (`http-stream.ts`), 202, or a refusal. A request ends with exactly one of its answer and `failed`.
 */
import type { Frame } from "../../wire/frame.ts";
import type { LegError, Outgoing } from "../../wire/leg.ts";
import type { HttpCall, HttpListener, ResponseHeaders } from "./http-channel.ts";
import { badAnswer, deniesSession, networkError, sessionLost, statusError, unauthorized } from "./http-errors.ts";
import { isJson, isSessionId, mediaType } from "./http-headers.ts";
import type { HttpLink, HttpSession } from "./http-link.ts";
import { AnswerStream } from "./http-stream.ts";
import { type Intake, takeMessage, tooLarge } from "./intake.ts";
import type { Ticket } from "./send-order.ts";

/** Of a refusal's body, and of a body that nobody wants, no more than this is read. */
const REFUSAL_BYTES = 1024 * 1024;
/** What a server says to a session it does not know is not the answer of a tool: the codes of the SDK's servers. */
const SESSION_CODES: readonly unknown[] = [-32000, -32001, -32600];

export class Post implements HttpListener {
  readonly #link: HttpLink;
  readonly #session: HttpSession;
  readonly #message: Outgoing;
  readonly #ticket: Ticket;
  readonly #done: () => void;
  #call: HttpCall | undefined;
  #stream: AnswerStream | undefined;
  #status = 0;
  #headers: ResponseHeaders = {};
  #limit = REFUSAL_BYTES;
  /** The body is an answer and of use only as a whole. */
  #whole = false;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #answered = false;
  #over = false;

  /** `done` is called once, when nothing more will come of it. */
  constructor(link: HttpLink, session: HttpSession, message: Outgoing, ticket: Ticket, done: () => void) {
    this.#link = link;
    this.#session = session;
    this.#message = message;
    this.#ticket = ticket;
    this.#done = done;
  }

  send(body: Buffer): void {
    const { id, revision } = this.#session;
    const call = this.#link.channel.call("POST", this.#link.headers.post(id, revision), body, this);
    if (!this.#over) this.#call = call;
  }

  /** Ends it without a word. The server is not told: a lost stream is not a cancelled request. */
  stop(): void {
    if (this.#over) return;
    this.#call?.abort();
    this.#stream?.stop();
    this.#finish();
  }

  started(): void {
    this.#ticket.started();
  }

  head(status: number, headers: ResponseHeaders): void {
    this.#status = status;
    this.#headers = headers;
    const ok = status >= 200 && status < 300;
    if (ok && this.#message.method === "initialize") this.#takeSession(headers);
    // One call that was answered 404 does not make a session lost that goes on answering others.
    else if (ok) this.#session.lost = false;
    const { id } = this.#message;
    const type = mediaType(headers);
    if (ok && type === "text/event-stream") {
      this.#stream = new AnswerStream(this.#link, this.#session, id, this.#call, () => this.#finish());
    } else if (ok && id !== undefined && (type === "" || isJson(type))) {
      this.#whole = true;
      this.#limit = this.#link.maxBytes === 0 ? Number.POSITIVE_INFINITY : this.#link.maxBytes;
    }
    // Only now, so that what waited for `initialize` leaves with its session.
    this.#ticket.headed();
  }

  data(chunk: Buffer): void {
    if (this.#stream !== undefined) return this.#stream.push(chunk);
    this.#body.push(chunk);
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes <= this.#limit) return;
    this.#call?.abort();
    if (!this.#whole) return this.end();
    this.#body = [];
    this.#fail(tooLarge(undefined, this.#limit));
  }

  end(): void {
    if (this.#stream !== undefined) return this.#stream.ended(undefined);
    const body = this.#body.length === 1 ? this.#body[0]! : Buffer.concat(this.#body, this.#bodyBytes);
    this.#body = [];
    if (this.#status < 300) this.#accepted(body);
    else this.#refused(body);
    this.#finish();
  }

  failed(error: Error, started: boolean): void {
    if (this.#stream !== undefined) return this.#stream.ended(error);
    this.#fail(networkError(error, started, this.#link));
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#ticket.headed();
    this.#done();
  }

  #fail(error: LegError): void {
    const { id, method, kind } = this.#message;
    const { server, log } = this.#link;
    this.#finish();
    if (id !== undefined) this.#link.failed(id, error);
    else log.warn({ server, method, reason: error.reason }, `a ${kind} was not taken: ${error.message}`);
  }

  #takeSession(headers: ResponseHeaders): void {
    const id = headers["mcp-session-id"];
    if (id === undefined || id === "") return;
    if (typeof id === "string" && isSessionId(id)) {
      this.#session.id = id;
      return;
    }
    this.#link.log.warn({ server: this.#link.server }, "ignored its Mcp-Session-Id: not visible ASCII");
  }

  /** 2xx with one text, or with none. */
  #accepted(body: Buffer): void {
    const { id } = this.#message;
    if (id === undefined) return;
    const fail = (what: string): void => this.#fail(badAnswer(what, this.#status, body, this.#link));
    const encoding = this.#headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") return fail("a compressed body, which was not asked for");
    if (body.length === 0) return fail("no answer to the request (empty body)");
    const type = mediaType(this.#headers);
    if (type !== "" && !isJson(type)) return fail(`neither JSON nor an event stream (${type})`);
    let why = "no answer to this request";
    const intake: Intake = {
      frame: (frame) => {
        if (answers(frame, id)) this.#answered = true;
        else if (isIdless(frame)) why = "an error without an id";
        if (!isIdless(frame)) this.#link.frame(frame);
      },
      failed: (failedId, error) => {
        if (failedId === id) this.#answered = true;
        this.#link.failed(failedId, error);
      },
      noise: (_bytes, reason) => {
        why = `not a JSON-RPC message, ${reason}`;
      },
    };
    takeMessage(body, intake);
    if (!this.#answered) fail(why);
  }

  #refused(body: Buffer): void {
    const status = this.#status;
    if (status === 401 || status === 403) return this.#fail(unauthorized(status, this.#link));
    const answer = this.#answerIn(body);
    const named = this.#session.id !== undefined && this.#message.method !== "initialize";
    const strange = answer === undefined || SESSION_CODES.includes(codeOf(answer));
    if (named && (status === 404 || (status === 400 && strange && deniesSession(body)))) {
      this.#session.lost = true;
      return this.#fail(sessionLost(status, "no"));
    }
    if (answer !== undefined) return this.#link.frame(answer);
    this.#fail(statusError(status, this.#headers, body, this.#link));
  }

  /** The JSON-RPC error that a refusal's body answers our request with. */
  #answerIn(body: Buffer): Frame | undefined {
    const { id } = this.#message;
    let answer: Frame | undefined;
    if (id === undefined || !isJson(mediaType(this.#headers))) return undefined;
    takeMessage(body, {
      frame: (frame) => {
        if (frame.isError && answers(frame, id)) answer = frame;
      },
      failed() {},
      noise() {},
    });
    return answer;
  }
}

function answers(frame: Frame, id: number): boolean {
  return frame.kind === "response" && frame.idText === String(id);
}

/** An error whose sender could not tell which request it refuses. */
function isIdless(frame: Frame): boolean {
  return frame.kind === "response" && (frame.idText === undefined || frame.idText === "null");
}

function codeOf(frame: Frame): unknown {
  return frame.value("code");
}
