/** What is pinned, and how what a server says now compares with it. Pure; `store.ts` keeps it on disk. */

/** What is pinned of a server. Of "instructions" there is one item at most, by that name. */
export const PINNED_LISTS = ["tools", "prompts", "templates", "instructions"] as const;
export type PinnedList = (typeof PINNED_LISTS)[number];

/** One of them, in words. */
export const KIND_OF = {
  tools: "tool",
  prompts: "prompt",
  templates: "resource template",
  instructions: "instructions",
} as const;

export const INSTRUCTIONS = "instructions";

export interface Pin {
  /** SHA-256 of `text`, hex. */
  readonly sha256: string;
  /** Canonical JSON text of the definition. */
  readonly text: string;
}

export type ListPins = ReadonlyMap<string, Pin>;

/** A list that was never seen whole is not in it; one that was empty is. */
export type ServerPins = ReadonlyMap<PinnedList, ListPins>;

/** What the file says of a server but nobody can rely on: `raw` is kept as it is, so that it is not mended by chance. */
export interface Damaged {
  readonly damaged: string;
  readonly raw: unknown;
}

export type Book = ReadonlyMap<string, ServerPins | Damaged>;

/** What is not as it was pinned. */
export type Fault =
  | { readonly state: "changed"; readonly pinned: string; readonly current: string }
  /** Not among the items of a list that is pinned. */
  | { readonly state: "new"; readonly current: string }
  /** Of a list that is not pinned, and could not be. */
  | { readonly state: "unpinned"; readonly current: string; readonly why: string }
  | { readonly state: "damaged"; readonly why: string };

export function isDamaged(pins: ServerPins | Damaged | undefined): pins is Damaged {
  return pins !== undefined && "damaged" in pins;
}

/** `pins`: of the list that the item stands in. */
export function judge(pins: ListPins, name: string, current: string): Fault | undefined {
  const pin = pins.get(name);
  if (pin === undefined) return { state: "new", current };
  return pin.sha256 === current ? undefined : { state: "changed", pinned: pin.sha256, current };
}

/** One clause, with both digests where there are two. */
export function inWords(list: PinnedList, fault: Fault): string {
  switch (fault.state) {
    case "changed":
      return `the ${KIND_OF[list]} changed: pinned sha256 ${fault.pinned}, now ${fault.current}`;
    case "new":
      return `the ${KIND_OF[list]} is not among those that were pinned: now sha256 ${fault.current}`;
    case "unpinned":
      return `the ${KIND_OF[list]} is not pinned, because ${fault.why}`;
    default:
      return `the pin file is damaged: ${fault.why}`;
  }
}

/** The book with one list of one server replaced. What was damaged of that server is gone. */
export function withList(book: Book, server: string, list: PinnedList, pins: ListPins): Book {
  const old = book.get(server);
  const lists = new Map(old === undefined || isDamaged(old) ? [] : old);
  lists.set(list, pins);
  return new Map(book).set(server, lists);
}
