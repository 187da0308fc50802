/**
 * When a host must be told that a list changed: if what it sees is other than what it could have seen before, and not
 * otherwise (R178). Servers that arrive before anybody has asked for a list are no change of it.
 */
import { LISTS, type ListMethod, listRow, type Notice } from "./lists.ts";
import type { View } from "./views.ts";

/** Changes within this time are told once. */
const TOGETHER_MS = 50;

/** The present view of each server that is known; called anew at each comparison. */
export type PresentViews = (method: ListMethod) => ReadonlyMap<string, View>;

export class Changes {
  readonly #present: PresentViews;
  readonly #tell: (notice: Notice) => void;
  /** What hosts could have seen last, by list and server. */
  readonly #seen = new Map<ListMethod, ReadonlyMap<string, View>>(LISTS.map(({ method }) => [method, new Map()]));
  /** Lists that a host has asked for. */
  readonly #served = new Set<ListMethod>();
  readonly #pending = new Set<Notice>();
  #timer: NodeJS.Timeout | undefined;

  constructor(present: PresentViews, tell: (notice: Notice) => void) {
    this.#present = present;
    this.#tell = tell;
  }

  /** A host is about to be given that list. */
  served(method: ListMethod): void {
    this.#served.add(method);
  }

  /** Something happened that may have changed that list. */
  check(method: ListMethod): void {
    const before = this.#seen.get(method)!;
    const now = this.#present(method);
    this.#seen.set(method, now);
    let changed = false;
    for (const [server, view] of now) {
      const old = before.get(server);
      changed ||= old === undefined ? this.#served.has(method) && view.items.length > 0 : !alike(old, view);
    }
    for (const [server, old] of before) changed ||= !now.has(server) && old.items.length > 0;
    if (changed) this.owe(listRow(method).notice);
  }

  /** The host is to be told. */
  owe(notice: Notice): void {
    this.#pending.add(notice);
    this.#timer ??= setTimeout(() => this.#flush(), TOGETHER_MS).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#pending.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    const notices = [...this.#pending];
    this.#pending.clear();
    for (const notice of notices) this.#tell(notice);
  }
}

/** Of lists that are not known to the end, what was not asked for yet is no difference. */
function alike(a: View, b: View): boolean {
  if (a === b) return true;
  const [short, long] = a.items.length <= b.items.length ? [a, b] : [b, a];
  if (short.items.length < long.items.length && short.set.ended) return false;
  return short.items.every((item, i) => item === long.items[i] || item.bytes.equals(long.items[i]!.bytes));
}
