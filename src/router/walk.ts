/**
 * One list of one server: asked for page by page, kept, and asked for anew when it may have changed. The last good list
 * stands until a better one is there: neither a failure nor a server that is away empties it (field report B5).
 *
 * One attempt at a time. An attempt never rejects and never changes the set it replaces; readers hold a set and find
 * their place again in the next one (pages.ts).
 */
import { Fault } from "../errors.ts";
import type { Log } from "../log.ts";
import { METHOD_NOT_FOUND } from "../wire/codes.ts";
import { NO_ITEMS, type PageContent, readPage } from "./items.ts";
import type { ListRow, Source } from "./lists.ts";
import { PageSet } from "./pages.ts";
import { within } from "./within.ts";

/** After a failure nothing is asked again for so long, whoever wants the list. */
export const RETRY_MS = 1000;

/** Something to wait for. `startedAt`: performance.now(), so that each waits for its part of it only. */
export interface Attempt {
  readonly startedAt: number;
  readonly done: Promise<void>;
}

export interface WalkEvents {
  /** `walk.set` is new. `old` is what stood before; undefined if the list was never seen. */
  replaced(walk: Walk, old: PageSet | undefined): void;
  /** `walk.set` has more items than before, from index `from` on. */
  grew(walk: Walk, from: number): void;
  failed(walk: Walk): void;
}

/** The server answered with an error: it is there, but does not know this cursor, or has a fault of its own. */
class Refused extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class Walk {
  readonly source: Source;
  readonly list: ListRow;
  /** A host was given less of this list than there was, because the server was too slow or away. It is to be told. */
  owed = false;
  readonly #log: Log;
  readonly #events: WalkEvents;
  /** How long one page may take, ms. */
  readonly #patienceMs: number;
  #set: PageSet | undefined;
  #partial = false;
  #stale = false;
  #failedAt: number | undefined;
  #attempt: Attempt | undefined;
  #tail: Attempt | undefined;
  #tailFailedAt: number | undefined;
  #rewalkedAt: number | undefined;
  #closed = false;

  constructor(source: Source, list: ListRow, options: { log: Log; events: WalkEvents; patienceMs: number }) {
    this.source = source;
    this.list = list;
    this.#log = options.log;
    this.#events = options.events;
    this.#patienceMs = options.patienceMs;
  }

  /** What is known of the list; undefined while it was never seen. */
  get set(): PageSet | undefined {
    return this.#set;
  }

  /** The set ends where the server failed, not where its list ends. */
  get partial(): boolean {
    return this.#partial;
  }

  /** The server may say something else by now: it announced a change, or is being asked. */
  get inDoubt(): boolean {
    return this.#stale || this.#attempt !== undefined;
  }

  /** A list that was kept on disk stands in until the server has answered. */
  restore(set: PageSet): void {
    if (this.#set !== undefined || this.#closed) return;
    this.#stale = true;
    this.#put(set);
  }

  /** The list may have changed. If it is being asked for at this moment, that is done once more. */
  invalidate(): void {
    this.#stale = true;
    this.#failedAt = undefined;
  }

  /** Starts what is needed to have the list as it is now. Undefined: there is nothing to wait for. */
  ask(): Attempt | undefined {
    if (this.#attempt !== undefined) return this.#attempt;
    if (this.#closed || !this.source.ready || (this.#set !== undefined && !this.#stale)) return undefined;
    if (recent(this.#failedAt)) return undefined;
    this.#attempt = this.#run(this.#renew(), () => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  /** Fetches the page after those that are known. Undefined: there is none, or it cannot be had now. */
  more(): Attempt | undefined {
    if (this.#tail !== undefined) return this.#tail;
    const set = this.#set;
    if (this.#closed || set === undefined || set.ended || !this.source.ready || recent(this.#tailFailedAt))
      return undefined;
    this.#tail = this.#run(this.#extend(set), () => {
      this.#tail = undefined;
    });
    return this.#tail;
  }

  /** Forgets everything under way. */
  close(): void {
    this.#closed = true;
  }

  #run(work: Promise<void>, after: () => void): Attempt {
    // Nobody may be waiting: what goes wrong in those who are told must not end the process.
    const failed = (error: unknown): void => this.#log.error(this.#fields(error), "a list could not be taken in");
    return { startedAt: performance.now(), done: work.catch(failed).finally(after) };
  }

  async #renew(): Promise<void> {
    for (let again = false; ; again = true) {
      this.#stale = false;
      const fresh = new PageSet();
      try {
        // As many pages as before: those are what a host may have been shown.
        await this.#fill(fresh, this.list.lazy ? Math.max(1, this.#set?.pages.length ?? 0) : Infinity);
      } catch (error) {
        if (!this.#closed) this.#fail(fresh, error);
        return;
      }
      if (this.#closed) return;
      this.#partial = false;
      this.#put(fresh);
      // A change that was announced meanwhile may have been missed. Not for ever: some servers announce one at each list.
      if (!this.#stale || again) return;
    }
  }

  async #extend(set: PageSet): Promise<void> {
    const from = set.items.length;
    try {
      const page = await this.#fetch(set.next);
      if (this.#closed || this.#set !== set) return;
      this.#note(set.add(page));
      this.#events.grew(this, from);
    } catch (error) {
      if (this.#closed || this.#set !== set) return;
      // A server that was restarted knows its own cursors no more: the list is walked anew, readers find their place by key.
      if (error instanceof Refused && !recent(this.#rewalkedAt)) {
        this.#rewalkedAt = performance.now();
        this.invalidate();
        await this.ask()?.done;
        if (this.#set !== set) {
          this.#log.debug(this.#fields(error), "a cursor was refused; the list was walked anew");
          return;
        }
      }
      this.#tailFailedAt = performance.now();
      this.#log.warn(this.#fields(error), "a page of a list could not be had; the list ends early for now");
    }
  }

  async #fill(set: PageSet, pages: number): Promise<void> {
    if (this.source.offers(this.list.method) === false) set.add(NO_ITEMS);
    while (!set.ended && set.pages.length < pages) this.#note(set.add(await this.#fetch(set.next)));
  }

  async #fetch(cursor: string | undefined): Promise<PageContent> {
    const { name } = this.source;
    const frame = await within(this.source.page(this.list.method, cursor), this.#patienceMs);
    if (frame === undefined)
      throw new Fault("DEADLINE_EXCEEDED", `no answer within ${this.#patienceMs} ms`, { server: name });
    if (!frame.isError) return readPage(frame, this.list, name);
    const code = Number(frame.text("code"));
    // It declares the capability and does not have the method: an empty list, and no reason to ask again (B9).
    if (code === METHOD_NOT_FOUND && cursor === undefined) return NO_ITEMS;
    throw new Refused(code, `error ${code}: ${frame.string("message") ?? ""}`);
  }

  #fail(fresh: PageSet, error: unknown): void {
    this.#failedAt = performance.now();
    this.#stale = true;
    if (fresh.pages.length > 0 && (this.#set === undefined || this.#partial)) {
      fresh.ended = true;
      this.#partial = true;
      this.#put(fresh);
    }
    const kept = this.#set === undefined ? "nothing is known of it yet" : "the last good list stands";
    this.#log.warn(this.#fields(error), `a list could not be had; ${kept}`);
    this.#events.failed(this);
  }

  #put(set: PageSet): void {
    const old = this.#set;
    this.#set = set;
    // New cursors: what was refused before may work now.
    if (old !== set) this.#tailFailedAt = undefined;
    this.#events.replaced(this, old);
  }

  #note(reason: string | undefined): void {
    if (reason !== undefined) this.#log.warn(this.#fields(reason), "a list ends early");
  }

  #fields(reason: unknown): Record<string, unknown> {
    const text = reason instanceof Error ? reason.message : String(reason);
    return { server: this.source.name, list: this.list.method, reason: text };
  }
}

function recent(at: number | undefined): boolean {
  return at !== undefined && performance.now() - at < RETRY_MS;
}
