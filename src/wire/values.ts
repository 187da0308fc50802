/**
 * Reads inside JSON text that is known to be valid because `scan.ts` has crossed it: where the members of an object and
 * the elements of an array are. Skips without checking, without recursion and in linear time. A span that holds another
 * kind of value has no members and no elements.
 */
import { keyText } from "./member-name.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** What a brace and its bracket differ in. */
const CASE = 0x20;

/** Bytes of a string that are looked at one by one before a memory search, which costs some 50 ns to begin. */
const SHORT_RUN = 64;

/** Decoded keys in order; the i-th value is at `spans[2 * i]`..`spans[2 * i + 1]`. */
interface Members {
  readonly keys: string[];
  readonly spans: number[];
}

export function members(bytes: Buffer, start: number, end: number): Members {
  const keys: string[] = [];
  const spans: number[] = [];
  walk(bytes, start, end, (keyStart, keyEnd, from, to) => {
    keys.push(keyText(bytes, keyStart, keyEnd));
    spans.push(from, to);
  });
  return { keys, spans };
}

/** Of two members with one key the last counts, as in JSON.parse. */
export function findMember(
  bytes: Buffer,
  start: number,
  end: number,
  key: string,
): readonly [start: number, end: number] | undefined {
  let found: readonly [number, number] | undefined;
  walk(bytes, start, end, (keyStart, keyEnd, from, to) => {
    if (keyText(bytes, keyStart, keyEnd) === key) found = [from, to];
  });
  return found;
}

/** The first of `keys` that the object has twice, however it is escaped. */
export function firstDuplicate(
  bytes: Buffer,
  start: number,
  end: number,
  keys: ReadonlySet<string>,
): string | undefined {
  const seen = new Set<string>();
  let twice: string | undefined;
  walk(bytes, start, end, (keyStart, keyEnd) => {
    const key = keyText(bytes, keyStart, keyEnd);
    if (!keys.has(key)) return;
    if (seen.has(key)) twice ??= key;
    seen.add(key);
  });
  return twice;
}

/** Start and end of every element, one after the other. */
export function elements(bytes: Buffer, start: number, end: number): number[] {
  const spans: number[] = [];
  const open = skipSpace(bytes, start, end);
  if (bytes[open] !== OPEN_BRACKET) return spans;
  let i = skipSpace(bytes, open + 1, end);
  while (i < end && bytes[i] !== CLOSE_BRACKET) {
    const after = skipValue(bytes, i, end);
    spans.push(i, after);
    i = skipSpace(bytes, after, end);
    if (bytes[i] === COMMA) i = skipSpace(bytes, i + 1, end);
  }
  return spans;
}

/**
 * Valid JSON text in one line: a line break can only be white space between tokens, so a space may stand in its place.
 * The same buffer if there is none, else a copy with every offset as it was.
 */
export function singleLine(bytes: Buffer): Buffer {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes;
  const copy = Buffer.from(bytes);
  for (let i = 0; i < copy.length; i++) if (copy[i] === 0x0a || copy[i] === 0x0d) copy[i] = 0x20;
  return copy;
}

type Visit = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void;

/** Key spans are those between the quotes. */
function walk(b: Buffer, start: number, end: number, visit: Visit): void {
  const open = skipSpace(b, start, end);
  if (b[open] !== OPEN_BRACE) return;
  let i = skipSpace(b, open + 1, end);
  while (i < end && b[i] !== CLOSE_BRACE) {
    const keyEnd = skipString(b, i + 1, end);
    const colon = skipSpace(b, keyEnd, end);
    const from = skipSpace(b, colon + 1, end);
    const to = skipValue(b, from, end);
    visit(i + 1, keyEnd - 1, from, to);
    i = skipSpace(b, to, end);
    if (b[i] === COMMA) i = skipSpace(b, i + 1, end);
  }
}

export function skipSpace(b: Buffer, start: number, end: number): number {
  let i = start;
  while (i < end && b[i]! <= 0x20) i++;
  return i;
}

function skipValue(b: Buffer, start: number, end: number): number {
  const first = b[start]!;
  if (first === QUOTE) return skipString(b, start + 1, end);
  let i = start;
  if ((first & ~CASE) !== OPEN_BRACKET) {
    // A number or a word ends before a comma, white space or a closing bracket.
    for (; i < end; i++) {
      const c = b[i]!;
      if (c === COMMA || c <= 0x20 || (c & ~CASE) === CLOSE_BRACKET) break;
    }
    return i;
  }
  let depth = 0;
  while (i < end) {
    const c = b[i++]!;
    if (c === QUOTE) i = skipString(b, i, end);
    else if ((c & ~CASE) === OPEN_BRACKET) depth++;
    else if ((c & ~CASE) === CLOSE_BRACKET && --depth === 0) break;
  }
  return i;
}

/** A string whose opening quote was skipped already. */
export function skipString(b: Buffer, start: number, end: number): number {
  let i = start;
  while (i < end) {
    const limit = Math.min(i + SHORT_RUN, end);
    while (i < limit) {
      const c = b[i]!;
      if (c === QUOTE) return i + 1;
      i += c === BACKSLASH ? 2 : 1;
    }
    const quote = b.indexOf(QUOTE, i);
    if (quote < 0) break;
    // Escaped if an odd number of backslashes stands before it; none before `i` counts, since no escape crosses `i`.
    let k = quote;
    while (k > i && b[k - 1] === BACKSLASH) k--;
    i = quote + 1;
    if (((quote - k) & 1) === 0) return i;
  }
  return end;
}
