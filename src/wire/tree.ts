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
  let at = start;
  let values = 0;
  /** The next backslash, looked for once however many strings there are before it. */
  let escape = -1;

  function value(depth: number): T | Scalar {
    if (++values > bounds.values) throw new TreeFault(`more than ${bounds.values} values`);
    at = skipSpace(bytes, at, end);
    const first = bytes[at]!;
    if (first === QUOTE) return text();
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return word();
    if (depth >= bounds.depth) throw new TreeFault(`nested deeper than ${bounds.depth} levels`);
    at = skipSpace(bytes, at + 1, end);
    return first === OPEN_BRACE ? members(depth + 1) : items(depth + 1);
  }

  function items(depth: number): T | Scalar {
    const list: (T | Scalar)[] = [];
    while (bytes[at] !== CLOSE_BRACKET) {
      list.push(value(depth));
      next();
    }
    at++;
    return shapes.list(list);
  }

  function members(depth: number): T | Scalar {
    const map = new Map<string, T | Scalar>();
    while (bytes[at] !== CLOSE_BRACE) {
      const keyEnd = skipString(bytes, at + 1, end);
      const key = keyText(bytes, at + 1, keyEnd - 1);
      if (map.has(key)) throw new TreeFault(`the member ${JSON.stringify(key.slice(0, 60))} stands twice`);
      at = skipSpace(bytes, keyEnd, end) + 1;
      map.set(key, value(depth));
      next();
    }
    at++;
    return shapes.map(map);
  }

  /** Past the white space and the comma behind a value. */
  function next(): void {
    at = skipSpace(bytes, at, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1, end);
  }

  function text(): string {
    const from = at;
    at = skipString(bytes, from + 1, end);
    if (escape < from) {
      const found = bytes.subarray(0, end).indexOf(BACKSLASH, from);
      escape = found < 0 ? end : found;
    }
    return escape >= at ? bytes.utf8Slice(from + 1, at - 1) : (JSON.parse(bytes.utf8Slice(from, at)) as string);
  }

  function word(): Scalar {
    const from = at;
    while (at < end && isWord(bytes[at]!)) at++;
    const found = bytes.latin1Slice(from, at);
    if (found === "true" || found === "false") return found === "true";
    if (found === "null") return null;
    const exact = /^-?\d{1,19}$/.test(found) ? BigInt(found) : undefined;
    return exact !== undefined && BigInt.asIntN(64, exact) === exact ? exact : Number(found);
  }

  return value(0);
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
