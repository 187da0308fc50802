/**
 * The cursor of a merged list: in whose list the reader is and how far, sealed for one list and one view. It holds all
 * that is needed to go on, so nothing is kept for it here and any replica can take it.
 */
import { Fault } from "../errors.ts";
import type { Sealer } from "../wire/seal.ts";
import type { ListMethod } from "./lists.ts";
import type { Place } from "./pages.ts";

export interface Position {
  readonly server: string;
  readonly place: Place;
}

export class Cursors {
  readonly #sealer: Sealer;
  readonly #viewKey: string;

  constructor(sealer: Sealer, viewKey: string) {
    this.#sealer = sealer;
    this.#viewKey = viewKey;
  }

  seal(method: ListMethod, { server, place }: Position): string {
    return this.#sealer.seal([server, place.u, place.k, place.l, place.n], this.#context(method));
  }

  /** `cursorText`: raw JSON text of `params.cursor`. Throws INVALID_CURSOR for everything that `seal` did not write. */
  open(method: ListMethod, cursorText: string): Position {
    const cursor = JSON.parse(cursorText) as unknown;
    if (typeof cursor !== "string") throw invalidCursor();
    const value = this.#sealer.unseal(cursor, this.#context(method));
    if (!Array.isArray(value) || value.length !== 5) throw invalidCursor();
    const [server, u, k, l, n] = value as unknown[];
    const counts = Number.isSafeInteger(k) && Number.isSafeInteger(n);
    if (typeof server !== "string" || !isTextOrNull(u) || !isTextOrNull(l) || !counts) throw invalidCursor();
    return { server, place: { u, k: k as number, l, n: n as number } };
  }

  #context(method: ListMethod): string {
    return `cursor\0${method}\0${this.#viewKey}`;
  }
}

/** One text for every reason: a cursor that does not open tells nobody why. */
export function invalidCursor(): Fault {
  return new Fault(
    "INVALID_CURSOR",
    "Invalid cursor: it is not from this list, or no longer valid. Start again without a cursor.",
  );
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
