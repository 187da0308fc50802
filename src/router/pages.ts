/**
 * What is known of one list of one server: its pages from the first on, in the server's order. A set grows at its end
 * and is otherwise never changed; a list that is asked for anew becomes a new set (walk.ts).
 */
import { type PageContent, type RawItem, readItems, type Withheld } from "./items.ts";
import type { ListRow } from "./lists.ts";

/** A server that hands out new cursors for ever is stopped here. */
const MAX_PAGES = 10_000;

export interface Page {
  /** Raw JSON text of the cursor that gave this page; undefined for the first. */
  readonly cursorIn: string | undefined;
  /** Index of its first item among all items of the list. */
  readonly start: number;
  readonly count: number;
}

/** How far a reader of the list has come. It finds its place again in a later set too, also one with other cursors. */
export interface Place {
  /** Raw JSON text of the cursor of the page; null for the first. */
  readonly u: string | null;
  /** Items of that page that are behind. */
  readonly k: number;
  /** Key of the last item that is behind; null if there is none. */
  readonly l: string | null;
  /** Items of the whole list that are behind. */
  readonly n: number;
}

export const START: Place = { u: null, k: 0, l: null, n: 0 };

export class PageSet {
  readonly pages: Page[] = [];
  readonly items: RawItem[] = [];
  readonly withheld: Withheld[] = [];
  /** Raw JSON text of the cursor of the page to come; meaningless once `ended`. */
  next: string | undefined;
  ended = false;
  /** As it was kept on disk: the server has not said so yet. */
  kept = false;
  readonly #byKey = new Map<string, RawItem>();
  #cursors = new Set<string>();

  /** A list as it was kept on disk: one page. */
  static restored(itemsText: Buffer, list: ListRow, server: string): PageSet {
    const set = new PageSet();
    set.add({ ...readItems(itemsText, list, server), nextCursor: undefined, oddCursor: undefined });
    set.kept = true;
    return set;
  }

  /** Takes the next page. Returns what a person should know, if anything, why the list ends here. */
  add(page: PageContent): string | undefined {
    const start = this.items.length;
    for (const item of page.items) {
      if (this.#byKey.has(item.key)) {
        const why = `the server lists this ${item.list.key} twice; the first one stands`;
        this.withheld.push({ server: item.server, kind: item.list.kind, original: item.key, why });
      } else {
        this.#byKey.set(item.key, item);
        this.items.push(item);
      }
    }
    this.withheld.push(...page.withheld);
    this.pages.push({ cursorIn: this.next, start, count: this.items.length - start });
    this.next = page.nextCursor;
    if (page.nextCursor === undefined) {
      this.ended = true;
      return page.oddCursor === undefined
        ? undefined
        : `its nextCursor is not a string: ${page.oddCursor.slice(0, 60)}`;
    }
    // Compared decoded: the same cursor may be escaped in another way.
    const cursor = JSON.parse(page.nextCursor) as string;
    const looped = this.#cursors.has(cursor);
    this.#cursors.add(cursor);
    this.ended = looped || this.pages.length >= MAX_PAGES;
    if (looped) return "it gave a cursor that it had given before";
    return this.ended ? `it gave ${MAX_PAGES} pages and still a cursor` : undefined;
  }

  find(key: string): RawItem | undefined {
    return this.#byKey.get(key);
  }

  /** The place behind the first `count` items. */
  placeAfter(count: number): Place {
    if (count === 0) return START;
    const page = this.pages.findLast((one) => one.start < count)!;
    return { u: page.cursorIn ?? null, k: count - page.start, l: this.items[count - 1]!.key, n: count };
  }

  /**
   * How many items are behind that place, or undefined if it is not in the pages known so far. Counts where the server
   * still has the cursor, else the last key decides: the server was restarted, or its list changed.
   */
  locate(place: Place): number | undefined {
    if (place.n === 0) return 0;
    const page = this.pages.find((one) => (one.cursorIn ?? null) === place.u);
    const counted = page === undefined ? undefined : page.start + Math.min(place.k, page.count);
    if (counted !== undefined && this.items[counted - 1]?.key === place.l) return counted;
    if (place.l !== null && this.#byKey.has(place.l)) return this.items.findIndex((item) => item.key === place.l) + 1;
    // The last item is gone. Going on by count may pass over an item, never repeat one; the host is told of the change.
    return counted ?? (this.ended ? Math.min(place.n, this.items.length) : undefined);
  }

  /** Whether `later` says the same, as far as both are known: of a list with pages to come, the rest is no difference. */
  sameAs(later: PageSet): boolean {
    if (this.ended && !later.ended && later.items.length >= this.items.length) return false;
    const [short, long] = this.items.length <= later.items.length ? [this, later] : [later, this];
    if (short.items.length < long.items.length && short.ended) return false;
    return short.items.every((item, i) => item.bytes.equals(long.items[i]!.bytes));
  }
}
