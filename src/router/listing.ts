/**
 * Answers the four list requests out of walks and views: waits for servers as long as is agreed, merges one page, seals
 * where the next one begins. The first page of each list is kept as bytes until something changes.
 */
import type { Changes } from "./changes.ts";
import { type Cursors, invalidCursor, type Position } from "./cursor.ts";
import type { Gate } from "./gate.ts";
import { type ListMethod, listRow } from "./lists.ts";
import { type MergedPage, mergePage, type PageLimits, type Part } from "./merge.ts";
import { START } from "./pages.ts";
import type { Views } from "./views.ts";
import type { Walk } from "./walk.ts";
import type { Walks } from "./walks.ts";
import { within } from "./within.ts";

export interface ListingOptions {
  readonly walks: Walks;
  readonly views: Views;
  readonly cursors: Cursors;
  readonly changes: Changes;
  readonly gate: Gate;
  readonly limits: PageLimits;
  /** How long a server that is ready may take for a list, ms. */
  readonly answeringMs: number;
  /** For a server that was removed the one that came after it, or undefined at the end; null: never heard of. */
  after(server: string): string | undefined | null;
}

/** A page after the first is waited for at least so long: what is left out of it comes only with a new listing. */
const MORE_MS = 5000;
const COMMA = Buffer.from(",");

export class Listing {
  readonly #options: ListingOptions;
  readonly #first = new Map<ListMethod, Buffer>();
  /** How often something changed; a page that was made across a change is not kept. */
  #changes = 0;

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  /** That list is no longer what it was. */
  changed(method: ListMethod): void {
    this.#changes++;
    this.#first.delete(method);
  }

  /** JSON text of the result. `cursorText`: raw JSON text of `params.cursor`. Throws INVALID_CURSOR. */
  async page(method: ListMethod, cursorText: string | undefined, waitMs: number): Promise<Buffer> {
    const { walks, gate, changes, limits, answeringMs } = this.#options;
    const from = cursorText === undefined ? undefined : this.#resume(method, cursorText);
    const waits = gate.waits(walks.of(method), waitMs, Math.max(waitMs, answeringMs));
    if (waits.length > 0) await Promise.all(waits);
    changes.served(method);
    const kept = from === undefined ? this.#first.get(method) : undefined;
    if (kept !== undefined) return kept;
    const before = this.#changes;
    const all = walks.of(method);
    const begin = from === undefined ? 0 : all.findIndex(({ source }) => source.name === from.server);
    const walked = begin < 0 ? [] : all.slice(begin);
    const page = await mergePage(
      walked.map((walk) => this.#part(walk)),
      from,
      limits,
    );
    const bytes = this.#text(method, page);
    const whole = before === this.#changes && !walked.some(({ owed }) => owed);
    if (from === undefined && whole) this.#first.set(method, bytes);
    return bytes;
  }

  /** Where to go on. A server that was removed meanwhile is passed over. */
  #resume(method: ListMethod, cursorText: string): Position {
    const position = this.#options.cursors.open(method, cursorText);
    const present = new Set(this.#options.walks.servers);
    if (present.has(position.server)) return position;
    let server: string | undefined | null = position.server;
    while (server !== undefined && !present.has(server)) {
      server = this.#options.after(server);
      if (server === null) throw invalidCursor();
    }
    return { server: server ?? "", place: START };
  }

  #part(walk: Walk): Part {
    const { views, answeringMs } = this.#options;
    return {
      server: walk.source.name,
      view: () => views.of(walk),
      more: async () => {
        const { set } = walk;
        const pages = set?.pages.length;
        walk.owed = false;
        const attempt = walk.more();
        if (attempt !== undefined) {
          const left = attempt.startedAt + Math.max(MORE_MS, answeringMs) - performance.now();
          if (left > 0) await within(attempt.done, left);
        }
        if (walk.set !== set || set?.pages.length !== pages) return true;
        walk.owed = set?.ended === false;
        return false;
      },
    };
  }

  #text(method: ListMethod, { items, next }: MergedPage): Buffer {
    const chunks: Buffer[] = [Buffer.from(`{"${listRow(method).member}":[`)];
    items.forEach(({ bytes }, i) => {
      if (i > 0) chunks.push(COMMA);
      chunks.push(bytes);
    });
    const cursor = next === undefined ? "" : `,"nextCursor":"${this.#options.cursors.seal(method, next)}"`;
    chunks.push(Buffer.from(`]${cursor}}`));
    return Buffer.concat(chunks);
  }
}
