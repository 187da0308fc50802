/**
 * The Streamable HTTP leg (spec.md §1.17, §5 F): sessions, one POST a message, the GET stream. `http-post.ts` sends one
 * message and reads what answers it, `http-listen.ts` is the GET stream, `http-channel.ts` the door to undici,
 * `send-order.ts` the order in which messages leave.
 */
import type { Dispatcher } from "undici";
import type { HttpTarget } from "../../config/types.ts";
import type { Log } from "../../log.ts";
import { type Leg, LegError, type LegEvents, type Outgoing } from "../../wire/leg.ts";
import type { HttpCall } from "./http-channel.ts";
import { connectLink, type HttpLink, type HttpSession } from "./http-link.ts";
import { ListenStream } from "./http-listen.ts";
import { Post } from "./http-post.ts";
import { SendOrder, type Ticket } from "./send-order.ts";

/** A server that answers the GET only with its first event must not hold up the requests. */
const LISTEN_MS = 300;

export interface HttpLegOptions {
  /** Key in `mcpServers`, for the log. */
  readonly server: string;
  readonly target: HttpTarget;
  readonly log: Log;
  /** 0 = no limit. */
  readonly maxMessageBytes: number;
  redact(text: string): string;
  /** Instead of an agent of our own; it is not closed by the leg. */
  readonly fetchDispatcher?: Dispatcher;
  /** Where HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are looked for; ours, unless a test sets another. */
  readonly baseEnv?: NodeJS.ProcessEnv;
}

export function createHttpLeg(options: HttpLegOptions): Leg {
  return new HttpLeg(options);
}

function newSession(): HttpSession {
  return { id: undefined, revision: undefined, lost: false };
}

class HttpLeg implements Leg {
  readonly #options: HttpLegOptions;
  readonly #order = new SendOrder((message, body, ticket) => this.#post(message, body, ticket));
  /** Every POST that is under way. */
  readonly #posts = new Set<Post>();
  /** Those of requests, by id: for `abandon`. */
  readonly #byId = new Map<number, Post>();
  #state: "new" | "open" | "closed" = "new";
  #events: LegEvents | undefined;
  #link: HttpLink | undefined;
  #session = newSession();
  #listen: ListenStream | undefined;
  /** `notifications/initialized` is under way: the GET stream waits for it, since servers refuse it before. */
  #initializing = false;
  #needsLogin = false;
  #paused = false;
  #closing: Promise<void> | undefined;

  constructor(options: HttpLegOptions) {
    this.#options = options;
  }

  async open(events: LegEvents): Promise<void> {
    this.#events = events;
    try {
      const link = await this.#connect();
      if (this.#state === "closed") {
        await link.channel.destroy();
        throw new LegError("closed", "closed while it was being opened", { delivered: "no" });
      }
      if (this.#paused) link.channel.pause();
      this.#link = link;
      this.#state = "open";
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error), this.#state === "closed");
      throw error;
    }
  }

  #connect(): Promise<HttpLink> {
    return connectLink(this.#options, {
      frame: (frame, of) => {
        if (this.#state === "open") this.#events?.frame(frame, of);
      },
      sessionLost: () => {
        if (this.#state === "open") this.#events?.sessionLost?.();
      },
      failed: (id, error) => {
        if (error.reason === "unauthorized") this.#needsLogin = true;
        if (this.#state === "open") this.#events?.failed(id, error);
      },
    });
  }

  send(message: Outgoing): void {
    if (this.#state !== "open") throw new LegError("closed", "the connection is closed", { delivered: "no" });
    this.#order.add(message);
  }

  #post(message: Outgoing, body: Buffer, ticket: Ticket): void {
    const link = this.#link;
    if (this.#state !== "open" || link === undefined) return;
    const { id, method } = message;
    if (method === "initialize") {
      // A new session begins: this message must not name the old one, whose GET stream is of no use any more.
      this.#listen?.stop();
      this.#listen = undefined;
      this.#session = newSession();
    }
    if (method === "notifications/initialized") this.#initializing = true;
    const post = new Post(link, this.#session, message, this.#watch(method, ticket), () => {
      this.#posts.delete(post);
      if (id !== undefined && this.#byId.get(id) === post) this.#byId.delete(id);
    });
    this.#posts.add(post);
    if (id !== undefined) this.#byId.set(id, post);
    post.send(body);
  }

  #watch(method: string | undefined, ticket: Ticket): Ticket {
    if (method !== "notifications/initialized") return ticket;
    return {
      started: () => ticket.started(),
      headed: () => {
        this.#initializing = false;
        this.#openListen(() => ticket.headed());
      },
    };
  }

  negotiated(revision: string): void {
    this.#session.revision = revision;
    // In a turn of its own, so that it makes no difference whether `initialized` is sent just before this or just after.
    setImmediate(() => this.#openListen());
  }

  /** `answered` is called when the server has taken the stream or refused it, or does neither for a while. */
  #openListen(answered: () => void = () => {}): void {
    const session = this.#session;
    const ready = this.#state === "open" && session.revision !== undefined && !session.lost;
    if (!ready || this.#initializing || this.#listen !== undefined || this.#link === undefined) return answered();
    // What a server has to say outside of requests is lost while there is no stream for it: the first request waits.
    const timer = setTimeout(answered, LISTEN_MS).unref();
    this.#listen = new ListenStream(this.#link, session, () => {
      clearTimeout(timer);
      answered();
    });
    this.#listen.open();
  }

  abandon(id: number): void {
    if (!this.#order.remove(id)) this.#byId.get(id)?.stop();
  }

  pause(): void {
    this.#paused = true;
    this.#link?.channel.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#link?.channel.resume();
  }

  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    this.#order.clear();
    this.#listen?.stop();
    for (const post of this.#posts) post.stop();
    const link = this.#link;
    if (link !== undefined) {
      // A DELETE answer has to be read even if the other side is slow.
      link.channel.resume();
      await endSession(link, this.#session, graceMs);
      await link.channel.destroy();
    }
    if (wasOpen) this.#end("closed", true);
  }

  #end(reason: string, expected: boolean): void {
    this.#state = "closed";
    const events = this.#events;
    this.#events = undefined;
    events?.closed({ reason, expected, ...(this.#needsLogin ? { needsLogin: true } : {}) });
  }
}

/** DELETE, if there is a session to end. Whatever the server answers is right; within `graceMs`. */
function endSession(link: HttpLink, { id, revision, lost }: HttpSession, graceMs: number): Promise<void> {
  if (id === undefined || lost) return Promise.resolve();
  return new Promise((resolve) => {
    let call: HttpCall | undefined;
    const finish = (): void => {
      clearTimeout(timer);
      call?.abort();
      resolve();
    };
    const timer = setTimeout(finish, graceMs);
    call = link.channel.call("DELETE", link.headers.delete(id, revision), undefined, {
      head: (status) => {
        if (status >= 400) link.log.debug({ server: link.server, status }, "the server does not take DELETE");
        finish();
      },
      data() {},
      end: () => finish(),
      failed: () => finish(),
    });
  });
}
