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
  /** Lists that may have changed since they were compared. */
  readonly #doubted = new Set<ListMethod>();
  readonly #pending = new Set<Notice>();
  #timer: NodeJS.Timeout | undefined;
  /** Reloads that are not through. */
  #holds = 0;

  constructor(present: PresentViews, tell: (notice: Notice) => void) {
    this.#present = present;
    this.#tell = tell;
  }

  /** A host is about to be given that list, as it is now. */
  served(method: ListMethod): void {
    if (this.#served.has(method)) return;
    // What came before was there in time: no change.
    this.#compare(method);
    this.#served.add(method);
  }

  /** Something happened that may have changed that list. */
  doubt(method: ListMethod): void {
    this.#doubted.add(method);
    this.#soon();
  }

  /** The host is to be told. */
  owe(notice: Notice): void {
    this.#pending.add(notice);
    this.#soon();
  }

  /** More changes belong to those that are to be told: hosts are told when `until` is settled, of all together. */
  hold(until: Promise<unknown>): void {
    this.#holds++;
    const release = (): void => {
      this.#holds--;
      this.#soon();
    };
    until.then(release, release);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#pending.clear();
    this.#doubted.clear();
  }

  #soon(): void {
    if (this.#pending.size + this.#doubted.size > 0)
      this.#timer ??= setTimeout(() => this.#flush(), TOGETHER_MS).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#holds > 0) return;
    for (const method of [...this.#doubted]) this.#compare(method);
    const notices = [...this.#pending];
    this.#pending.clear();
    for (const notice of notices) this.#tell(notice);
  }

  #compare(method: ListMethod): void {
    this.#doubted.delete(method);
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
}

/** Of lists that are not known to the end, what was not asked for yet is no difference. */
function alike(old: View, now: View): boolean {
  if (old === now) return true;
  // It ended there, and now goes on.
  if (old.set.ended && !now.set.ended && now.set.items.length >= old.set.items.length) return false;
  const [short, long] = old.items.length <= now.items.length ? [old, now] : [now, old];
  if (short.items.length < long.items.length && short.set.ended) return false;
  return short.items.every((item, i) => item === long.items[i] || item.bytes.equals(long.items[i]!.bytes));
}
