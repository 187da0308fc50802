/** What is known of a server's lists, for people (`check`, `list`) and for the cache on disk. */

import { singleLine } from "../wire/values.ts";
import type { Withheld } from "./items.ts";
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

/** Unusable definitions, and items that the policy hides. */
export function hidden(walks: readonly Walk[], views: Views): Withheld[] {
  return walks.flatMap((walk) => {
    const shown = new Set(views.of(walk)?.indexes);
    const byPolicy = walk.set?.items.filter((_, i) => !shown.has(i)) ?? [];
    return [
      ...(walk.set?.withheld ?? []),
      ...byPolicy.map(({ server, list, key }) => ({ server, kind: list.kind, original: key, why: "hidden by policy" })),
    ];
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
