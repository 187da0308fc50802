/** Everything that is pinned against everything that servers define now, for a person who looks at it and decides. Pure. */
import {
  type Book,
  isDamaged,
  type ListPins,
  PINNED_LISTS,
  type Pin,
  type PinnedList,
  type ServerPins,
} from "./book.ts";
import { canonical, digestOf } from "./canonical.ts";

/** A list as its server gave it. `bytes`: JSON text of the definition. */
export interface Offered {
  /** There is no more of it. */
  readonly whole: boolean;
  readonly items: readonly { readonly key: string; readonly publicName: string; readonly bytes: Buffer }[];
}

export interface Change {
  readonly server: string;
  readonly list: PinnedList;
  /** Original name. */
  readonly name: string;
  /** Undefined for what is gone, and for instructions. */
  readonly publicName: string | undefined;
  /** "first": nothing of its list was pinned before. "gone": it is no longer there. */
  readonly state: "first" | "new" | "changed" | "gone";
  readonly pinned: Pin | undefined;
  readonly current: Pin | undefined;
}

export interface Comparison {
  readonly server: string;
  /** Why its pins cannot be relied on; then everything it has counts as new. */
  readonly damaged: string | undefined;
  readonly changes: readonly Change[];
  /** Items that are as they were pinned. */
  readonly same: number;
  /** Lists that could not be read to their end: nothing of them is pinned, or gone. */
  readonly unread: readonly PinnedList[];
}

export function compare(book: Book, server: string, offered: ReadonlyMap<PinnedList, Offered>): Comparison {
  const pins = book.get(server);
  const damaged = isDamaged(pins) ? pins.damaged : undefined;
  const lists: ServerPins = pins === undefined || isDamaged(pins) ? new Map() : pins;
  const changes: Change[] = [];
  let same = 0;
  for (const list of PINNED_LISTS) {
    const now = offered.get(list);
    if (now === undefined) continue;
    const before = lists.get(list);
    // Half a list would make the other half look new.
    if (before === undefined && !now.whole) continue;
    const names = new Set<string>();
    for (const { key: name, publicName, bytes } of now.items) {
      names.add(name);
      const current = pinOf(bytes);
      const pinned = before?.get(name);
      const shown = list === "instructions" ? undefined : publicName;
      const unpinned = before === undefined && damaged === undefined ? "first" : "new";
      if (pinned?.sha256 === current.sha256) same++;
      else {
        const state = pinned === undefined ? unpinned : "changed";
        changes.push({ server, list, name, publicName: shown, state, pinned, current });
      }
    }
    for (const [name, pinned] of now.whole ? (before ?? []) : []) {
      if (names.has(name)) continue;
      changes.push({ server, list, name, publicName: undefined, state: "gone", pinned, current: undefined });
    }
  }
  const unread = [...offered].filter(([, { whole }]) => !whole).map(([list]) => list);
  return { server, damaged, changes, same, unread };
}

/**
 * The book after a person has decided: first sights are pinned, and what `accepted` says yes to. `renewed`: a damaged
 * server's pins are made anew.
 */
export function decided(
  book: Book,
  comparison: Comparison,
  offered: ReadonlyMap<PinnedList, Offered>,
  accepted: (change: Change) => boolean,
  renewed: boolean,
): Book {
  const { server, damaged, changes } = comparison;
  if (damaged !== undefined && !renewed) return book;
  const before = book.get(server);
  const lists = new Map<PinnedList, ListPins>(before === undefined || isDamaged(before) ? [] : before);
  let touched = damaged !== undefined;
  for (const [list, { whole }] of offered) {
    const known = lists.get(list);
    if (known === undefined && !whole) continue;
    const pins = new Map(known);
    const mine = changes.filter((change) => change.list === list && (known === undefined || accepted(change)));
    for (const { name, current } of mine) {
      if (current === undefined) pins.delete(name);
      else pins.set(name, current);
    }
    touched ||= known === undefined || mine.length > 0;
    lists.set(list, pins);
  }
  return touched ? new Map(book).set(server, lists) : book;
}

function pinOf(bytes: Buffer): Pin {
  const text = canonical(bytes.toString("utf8"));
  return { sha256: digestOf(text), text };
}
