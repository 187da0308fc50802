/**
 * Strings of JSON text, crossed strictly. Part of `scan.ts`; conventions as in `json-value.ts`.
 *
 * Short runs are looked at byte by byte. Long ones are crossed with two memory searches, for a quote and for a
 * backslash, and a check of four bytes at a time for control characters.
 */
import { decodedName, hashStep, MAX_NAME, type Name, plainName } from "./member-name.ts";

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Bytes that are looked at one by one before the searches, which cost some 100 ns to begin. */
const SHORT_RUN = 32;
/** Where escapes stand closer together than this, as line breaks in a text do, the searches would cost more than they save. */
const DENSE_RUN = 512;

let bad = 0;
let seenBytes = 0;
let quoteAt = -1;
let slashAt = -1;
let words: Int32Array | undefined;
let name: Name = decodedName('""');

/** Forgets the last text. */
export function beginStrings(): void {
  bad = 0;
  seenBytes = 0;
  quoteAt = -1;
  slashAt = -1;
  words = undefined;
}

/** Lets go of the text: a view of it would keep the chunk alive that it was read from. */
export function endStrings(): void {
  words = undefined;
}

/** Offset of the byte that cannot stand where it stands. */
export function badAt(): number {
  return bad;
}

export function fail(at: number): -1 {
  bad = at;
  return -1;
}

/** True if a byte outside ASCII was crossed: only then must the text be checked for valid UTF-8. */
export function sawWide(): boolean {
  return (seenBytes & 0x80) !== 0;
}

/** What `crossName` found. */
export function lastName(): Name {
  return name;
}

/** A string whose opening quote was crossed already; leaves it decoded in `lastName()`. */
export function crossName(b: Buffer, start: number, n: number): number {
  const limit = Math.min(n, start + MAX_NAME);
  let hash = 0;
  for (let i = start; i < limit; i++) {
    const c = b[i]!;
    if (c === QUOTE) {
      name = plainName(b, start, i, hash);
      return i + 1;
    }
    if (c === BACKSLASH || c < 0x20 || c >= 0x80) break;
    hash = hashStep(hash, c);
  }
  const after = crossString(b, start, n);
  if (after >= 0) name = decodedName(b.toString("utf8", start - 1, after));
  return after;
}

/** A string whose opening quote was crossed already. */
export function crossString(b: Buffer, start: number, n: number): number {
  let i = start;
  let seen = 0;
  let patience = SHORT_RUN;
  let since = start;
  for (;;) {
    const limit = Math.min(i + patience, n);
    let c = 0;
    for (; i < limit; i++) {
      c = b[i]!;
      if (c === QUOTE || c === BACKSLASH || c < 0x20) break;
      seen |= c;
    }
    if (i < limit) {
      if (c === QUOTE) {
        seenBytes |= seen;
        return i + 1;
      }
      if (c !== BACKSLASH) return fail(i);
      patience = i - since < DENSE_RUN ? DENSE_RUN : SHORT_RUN;
      i = crossEscape(b, i + 1, n);
      since = i;
    } else if (i < n) i = crossRun(b, i, n);
    else return fail(i);
    if (i < 0) return -1;
  }
}

function crossEscape(b: Buffer, i: number, n: number): number {
  const c = i < n ? b[i]! : 0;
  if (c === 0x75) {
    if (i + 4 >= n) return fail(n);
    for (let k = 1; k <= 4; k++) {
      const h = b[i + k]!;
      const low = h | 0x20;
      if (!((h >= 0x30 && h <= 0x39) || (low >= 0x61 && low <= 0x66))) return fail(i + k);
    }
    return i + 5;
  }
  // " \ / b f n r t
  if (c === QUOTE || c === BACKSLASH || c === 0x2f) return i + 1;
  return c === 0x62 || c === 0x66 || c === 0x6e || c === 0x72 || c === 0x74 ? i + 1 : fail(i);
}

/**
 * The plain bytes of a long string up to its next quote or backslash. Both positions are kept until they are passed, so
 * that a text is searched once for each of the two, however many strings it has.
 */
function crossRun(b: Buffer, start: number, n: number): number {
  if (quoteAt < start) quoteAt = b.indexOf(QUOTE, start);
  if (quoteAt < 0) return fail(n);
  if (slashAt < start) {
    slashAt = b.indexOf(BACKSLASH, start);
    if (slashAt < 0) slashAt = n;
  }
  const stop = Math.min(quoteAt, slashAt);
  let i = start;
  let seen = 0;
  if (stop - i >= SHORT_RUN) {
    words ??= new Int32Array(b.buffer, b.byteOffset & ~3, (b.byteOffset + n - (b.byteOffset & ~3)) >> 2);
    const shift = b.byteOffset & 3;
    while (((i + shift) & 3) !== 0) {
      if (b[i]! < 0x20) return fail(i);
      seen |= b[i++]!;
    }
    const first = (i + shift) >> 2;
    const count = ((stop + shift) >> 2) - first;
    const bits = wordsSeen(words, first, first + count);
    // Some byte of these words is below 0x20: leave it to the loop below to say which.
    if (bits >= 0) {
      seen |= bits;
      i += count << 2;
    }
  }
  for (; i < stop; i++) {
    const c = b[i]!;
    if (c < 0x20) return fail(i);
    seen |= c;
  }
  seenBytes |= seen;
  return stop;
}

/** 0x80 if a byte of the words is outside ASCII, 0 if none is, -1 if one is a control character. */
function wordsSeen(w: Int32Array, from: number, to: number): number {
  let low = 0;
  let high = 0;
  let i = from;
  // A byte x is below 0x20 exactly if (x - 0x20) & ~x has its top bit set; a borrow from a neighbour that is below 0x20
  // itself can only add such bits, never hide one.
  for (; i + 4 <= to; i += 4) {
    const p = w[i]!;
    const q = w[i + 1]!;
    const r = w[i + 2]!;
    const s = w[i + 3]!;
    low |= ((p - 0x20202020) & ~p) | ((q - 0x20202020) & ~q) | ((r - 0x20202020) & ~r) | ((s - 0x20202020) & ~s);
    high |= p | q | r | s;
  }
  for (; i < to; i++) {
    low |= (w[i]! - 0x20202020) & ~w[i]!;
    high |= w[i]!;
  }
  if ((low & 0x80808080) !== 0) return -1;
  return (high & 0x80808080) === 0 ? 0 : 0x80;
}
