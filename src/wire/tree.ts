/**
 * JSON text of a peer -> values that a decision can be made on: within bounds, and unambiguous. Whoever gets the text
 * after us has another parser; what two parsers could read differently is refused here instead of being judged.
 *
 * The text is known to be valid because `scan.ts` has crossed it. Whole numbers are exact up to 64 bits (`bigint`);
 * others are doubles. Objects become Maps, so that `__proto__` is a key like any other.
 */
import { keyText } from "./member-name.ts";
import { skipSpace, skipString } from "./values.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export interface TreeBounds {
  readonly bytes: number;
  /** Of all kinds, at any depth. */
  readonly values: number;
  readonly depth: number;
}

/** What the reader of the tree wants of lists and objects. */
export interface TreeShapes<T> {
  list(items: T[]): T;
  map(members: Map<string, T>): T;
}

export type Scalar = string | number | bigint | boolean | null;

/** Why the text is not to be judged: one clause for a person. Holds nothing of the text but the name of a member. */
export class TreeFault extends Error {
  override readonly name = "TreeFault";
}

/** @throws TreeFault for what is out of bounds, and for a member that stands twice at any depth */
export function readTree<T>(
  bytes: Buffer,
  start: number,
  end: number,
  shapes: TreeShapes<T | Scalar>,
  bounds: TreeBounds,
): T | Scalar {
  if (end - start > bounds.bytes) throw new TreeFault(`more than ${bounds.bytes} bytes`);
  return new Reader(bytes, start, end, shapes, bounds).value(0);
}

class Reader<T> {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #shapes: TreeShapes<T | Scalar>;
  readonly #bounds: TreeBounds;
  #at: number;
  #values = 0;
  /** The next backslash, looked for once however many strings there are before it. */
  #escape = -1;

  constructor(bytes: Buffer, start: number, end: number, shapes: TreeShapes<T | Scalar>, bounds: TreeBounds) {
    this.#bytes = bytes;
    this.#end = end;
    this.#shapes = shapes;
    this.#bounds = bounds;
    this.#at = start;
  }

  value(depth: number): T | Scalar {
    const { values, depth: deepest } = this.#bounds;
    if (++this.#values > values) throw new TreeFault(`more than ${values} values`);
    this.#space();
    const first = this.#bytes[this.#at]!;
    if (first === QUOTE) return this.#text();
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#word();
    if (depth >= deepest) throw new TreeFault(`nested deeper than ${deepest} levels`);
    this.#at++;
    this.#space();
    return first === OPEN_BRACE ? this.#members(depth + 1) : this.#items(depth + 1);
  }

  #items(depth: number): T | Scalar {
    const list: (T | Scalar)[] = [];
    while (this.#bytes[this.#at] !== CLOSE_BRACKET) {
      list.push(this.value(depth));
      this.#next();
    }
    this.#at++;
    return this.#shapes.list(list);
  }

  #members(depth: number): T | Scalar {
    const map = new Map<string, T | Scalar>();
    while (this.#bytes[this.#at] !== CLOSE_BRACE) {
      const keyEnd = skipString(this.#bytes, this.#at + 1, this.#end);
      const key = keyText(this.#bytes, this.#at + 1, keyEnd - 1);
      if (map.has(key)) throw new TreeFault(`the member ${JSON.stringify(key.slice(0, 60))} stands twice`);
      this.#at = skipSpace(this.#bytes, keyEnd, this.#end) + 1;
      map.set(key, this.value(depth));
      this.#next();
    }
    this.#at++;
    return this.#shapes.map(map);
  }

  #space(): void {
    this.#at = skipSpace(this.#bytes, this.#at, this.#end);
  }

  /** Past the white space and the comma behind a value. */
  #next(): void {
    this.#space();
    if (this.#bytes[this.#at] !== COMMA) return;
    this.#at++;
    this.#space();
  }

  #text(): string {
    const bytes = this.#bytes;
    const from = this.#at;
    const after = skipString(bytes, from + 1, this.#end);
    this.#at = after;
    if (this.#escape < from) {
      const found = bytes.indexOf(BACKSLASH, from);
      this.#escape = found < 0 ? bytes.length : found;
    }
    return this.#escape >= after
      ? bytes.utf8Slice(from + 1, after - 1)
      : (JSON.parse(bytes.utf8Slice(from, after)) as string);
  }

  #word(): Scalar {
    const from = this.#at;
    while (this.#at < this.#end && isWord(this.#bytes[this.#at]!)) this.#at++;
    const found = this.#bytes.latin1Slice(from, this.#at);
    if (found === "true" || found === "false") return found === "true";
    if (found === "null") return null;
    const exact = /^-?\d{1,19}$/.test(found) ? BigInt(found) : undefined;
    return exact !== undefined && BigInt.asIntN(64, exact) === exact ? exact : Number(found);
  }
}

/** Letters, digits, and the signs of numbers. */
function isWord(c: number): boolean {
  return (
    (c >= 0x30 && c <= 0x39) ||
    (c >= 0x41 && c <= 0x5a) ||
    (c >= 0x61 && c <= 0x7a) ||
    c === 0x2d ||
    c === 0x2b ||
    c === 0x2e
  );
}
