/** What each server defines now, hidden or not, as `pin` looks at it. */

import { instructionsItem, PINNED } from "./pinning.ts";
import type { PinnedList } from "./pipeline/pins/book.ts";
import type { Offered } from "./pipeline/pins/compare.ts";
import type { SwitchyardProxy } from "./proxy.ts";

const LISTS = Object.values(PINNED);
const NOT_READ: Offered = { whole: false, items: [] };

/** For each server that is there. */
export type Definitions = ReadonlyMap<string, ReadonlyMap<PinnedList, Offered>>;

/** The lists were walked before. */
export function definitionsOf({ connections, catalogue }: SwitchyardProxy): Definitions {
  const all = new Map<string, ReadonlyMap<PinnedList, Offered>>();
  for (const { name, hello, state } of connections) {
    if (state !== "ready" || hello === undefined) continue;
    const lists = new Map<PinnedList, Offered>(LISTS.map((list) => [list, NOT_READ]));
    for (const { method, whole, items } of catalogue.defined(name)) {
      const list = PINNED[method];
      if (list !== undefined) lists.set(list, { whole, items });
    }
    const items = instructionsItem(hello.instructions).map((item) => ({ ...item, publicName: item.key }));
    lists.set("instructions", { whole: true, items });
    all.set(name, lists);
  }
  return all;
}
