/**
 * One merged page: the lists of all servers one after the other, in the order of the configuration, from a position on and
 * up to a size. Servers' own pages do not show.
 */
import type { Position } from "./cursor.ts";
import type { Item } from "./items.ts";
import { START } from "./pages.ts";
import type { View } from "./views.ts";

/** One server's list. */
export interface Part {
  readonly server: string;
  /** What is known of it; undefined if nothing is. Another one after each wait. */
  view(): View | undefined;
  /** Waits for one more page. False: there is none, or it cannot be had now. */
  more(): Promise<boolean>;
}

export interface PageLimits {
  readonly items: number;
  readonly bytes: number;
}

export interface MergedPage {
  readonly items: readonly Item[];
  /** Where the next page begins; undefined at the end. */
  readonly next: Position | undefined;
}

/** A page has at least one item, however large, unless the list ends. `from` is a position in `parts[0]`. */
export async function mergePage(
  parts: readonly Part[],
  from: Position | undefined,
  limits: PageLimits,
): Promise<MergedPage> {
  const items: Item[] = [];
  let bytes = 0;
  const full = (more: number): boolean =>
    items.length >= limits.items || (items.length > 0 && bytes + more > limits.bytes);

  for (const part of parts) {
    let place = part.server === from?.server ? from.place : START;
    // Each turn takes what is known behind `place`. The set may be another one after a wait.
    for (;;) {
      const view = part.view();
      if (view === undefined) break;
      const { set } = view;
      let behind = set.locate(place);
      if (behind === undefined) {
        if (await part.more()) continue;
        // Neither the cursor nor the last key is known any more, and no more pages: by count.
        behind = Math.min(place.n, set.items.length);
      }
      for (let i = firstFrom(view.indexes, behind); i < view.items.length; i++) {
        const item = view.items[i]!;
        if (full(item.bytes.length)) return { items, next: { server: part.server, place: set.placeAfter(behind) } };
        items.push(item);
        bytes += item.bytes.length + 1;
        behind = view.indexes[i]! + 1;
      }
      place = set.placeAfter(set.items.length);
      if (set.ended) break;
      // There is more than is known: not worth a question if there is no room for it.
      if (full(0)) return { items, next: { server: part.server, place } };
      if (!(await part.more())) break;
    }
  }
  return { items, next: undefined };
}

/** The first position in ascending `indexes` whose value is not below `from`. */
function firstFrom(indexes: readonly number[], from: number): number {
  let low = 0;
  let high = indexes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (indexes[middle]! < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
