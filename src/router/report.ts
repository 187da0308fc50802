/** What is known of a server's lists, for people (`check`, `list`) and for the cache on disk. */

import { singleLine } from "../wire/values.ts";
import type { Item, Withheld } from "./items.ts";
import type { ListMethod } from "./lists.ts";
import { PageSet } from "./pages.ts";
import type { Views } from "./views.ts";
import type { Walk } from "./walk.ts";

export interface Counts {
  readonly tools: number;
  readonly prompts: number;
  /** Of the pages that were asked for. */
  readonly resources: number;
  readonly resourceTemplates: number;
}

/** JSON text of an array of definitions as the server sent them, by list. */
export type StoredLists = ReadonlyMap<ListMethod, Buffer>;

export function counts(walks: readonly Walk[]): Counts {
  const found = { tools: 0, prompts: 0, resources: 0, resourceTemplates: 0 };
  for (const { list, set } of walks) found[list.member] = set?.items.length ?? 0;
  return found;
}

/** Unusable definitions, and items that the policy or a pin hides; `why` tells which. */
export function hidden(walks: readonly Walk[], views: Views, why: (item: Item) => string): Withheld[] {
  return walks.flatMap((walk) => {
    const shown = new Set(views.of(walk)?.indexes);
    const hidden = walk.set?.items.filter((_, i) => !shown.has(i)).map((raw) => views.item(raw)) ?? [];
    return [
      ...(walk.set?.withheld ?? []),
      ...hidden.map((item) => ({ server: item.server, kind: item.kind, original: item.original, why: why(item) })),
    ];
  });
}

/** One list of a server as it was sent. */
export interface Defined {
  readonly method: ListMethod;
  /** There is no more of it, and the server said so itself. */
  readonly whole: boolean;
  /** `bytes`: JSON text of the definition. */
  readonly items: readonly { readonly key: string; readonly publicName: string; readonly bytes: Buffer }[];
}

export function defined(walks: readonly Walk[], views: Views): Defined[] {
  return walks.flatMap(({ list, set, partial }) => {
    if (set === undefined) return [];
    const items = set.items.map((raw) => ({ key: raw.key, publicName: views.item(raw).publicName, bytes: raw.bytes }));
    return [{ method: list.method, whole: set.ended && !partial && !set.kept, items }];
  });
}

/** Whole lists only: of one that was not walked to its end, nobody could tell later that there was more. */
export function store(walks: readonly Walk[]): StoredLists {
  const lists = new Map<ListMethod, Buffer>();
  for (const { list, set, partial } of walks) {
    if (set?.ended !== true || partial) continue;
    const items = set.items.flatMap(({ bytes }, i) => (i === 0 ? [bytes] : [Buffer.from(","), bytes]));
    lists.set(list.method, Buffer.concat([Buffer.from("["), ...items, Buffer.from("]")]));
  }
  return lists;
}

/** Lists that were stored stand in for those never seen. What is no JSON array is left out: files get damaged. */
export function restore(walks: readonly Walk[], lists: StoredLists): void {
  for (const walk of walks) {
    const text = lists.get(walk.list.method);
    if (text === undefined || !isArray(text)) continue;
    walk.restore(PageSet.restored(singleLine(text), walk.list, walk.source.name));
  }
}

function isArray(text: Buffer): boolean {
  try {
    return Array.isArray(JSON.parse(text.toString("utf8")));
  } catch {
    return false;
  }
}
