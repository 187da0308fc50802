/**
 * One strict pass over JSON text: where does the value that begins here end? Part of `scan.ts`.
 *
 * Accepts exactly the grammar of JSON.parse. No recursion (the kind of each open container is one bit in a growable
 * array), no string is built, and each byte is looked at a bounded number of times whatever the input.
 *
 * The functions take the position of the next byte (`n` is the text's length) and return the one after what they
 * crossed, or -1; then `badAt()` says where it went wrong. What is noticed on the way is kept in module variables: a
 * scan is synchronous and calls nobody, so only one is under way at a time.
 */
import { beginStrings, crossName, crossString, endStrings, fail, QUOTE } from "./json-string.ts";

export const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/** 1024 open containers; more are kept only while a scan needs them. */
const NEST_WORDS = 32;

let breaks = false;
let nest = new Int32Array(NEST_WORDS);

/** Forgets the last text. Must come before the first crossing of a new one. */
export function begin(): void {
  breaks = false;
  beginStrings();
}

/** Lets go of what the scan held. */
export function end(): void {
  if (nest.length > NEST_WORDS) nest = new Int32Array(NEST_WORDS);
  endStrings();
}

/** True if a line break was crossed (it can only be white space: inside a string it is an error). */
export function sawBreak(): boolean {
  return breaks;
}

/** JSON's white space. */
export function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

export function crossSpace(b: Buffer, start: number, n: number): number {
  let i = start;
  for (; i < n; i++) {
    const c = b[i]!;
    if (c === 0x20 || c === 0x09) continue;
    if (c !== 0x0a && c !== 0x0d) break;
    breaks = true;
  }
  return i;
}

/** One value, with the white space before it. */
export function crossValue(b: Buffer, start: number, n: number): number {
  let i = start;
  let depth = 0;
  let inObject = false;
  for (;;) {
    let c = i < n ? b[i]! : 0;
    if (c <= 0x20) {
      i = crossSpace(b, i, n);
      c = i < n ? b[i]! : 0;
    }
    if (c === QUOTE) {
      i = crossString(b, i + 1, n);
      if (i < 0) return -1;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      const opens = c === OPEN_BRACE;
      i = crossSpace(b, i + 1, n);
      if (i < n && b[i] === (opens ? CLOSE_BRACE : CLOSE_BRACKET)) {
        i++;
      } else {
        remember(depth++, inObject);
        inObject = opens;
        if (opens) {
          i = crossKey(b, i, n);
          if (i < 0) return -1;
        }
        continue;
      }
    } else {
      i = c === MINUS || (c >= 0x30 && c <= 0x39) ? crossNumber(b, i, n) : crossWord(b, i, n);
      if (i < 0) return -1;
    }
    for (;;) {
      if (depth === 0) return i;
      c = i < n ? b[i]! : 0;
      if (c <= 0x20) {
        i = crossSpace(b, i, n);
        c = i < n ? b[i]! : 0;
      }
      if (c === COMMA) {
        i++;
        if (inObject) {
          i = crossKey(b, i, n);
          if (i < 0) return -1;
        }
        break;
      }
      if (c !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return fail(i);
      i++;
      depth--;
      inObject = ((nest[depth >> 5]! >>> (depth & 31)) & 1) === 1;
    }
  }
}

function remember(depth: number, inObject: boolean): void {
  const word = depth >> 5;
  if (word >= nest.length) {
    const larger = new Int32Array(nest.length * 2);
    larger.set(nest);
    nest = larger;
  }
  const bit = 1 << (depth & 31);
  nest[word] = inObject ? nest[word]! | bit : nest[word]! & ~bit;
}

/** A member's key and its colon, with the white space around. */
function crossKey(b: Buffer, start: number, n: number): number {
  let i = start;
  if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
  if (i >= n || b[i] !== QUOTE) return fail(i);
  i = crossString(b, i + 1, n);
  return i < 0 ? -1 : crossColon(b, i, n);
}

function crossColon(b: Buffer, start: number, n: number): number {
  let i = start;
  if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
  return i < n && b[i] === COLON ? i + 1 : fail(i);
}

/** As `crossKey`, and leaves the decoded key in `lastName()`. */
export function crossNamedKey(b: Buffer, start: number, n: number): number {
  let i = start;
  if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
  if (i >= n || b[i] !== QUOTE) return fail(i);
  i = crossName(b, i + 1, n);
  return i < 0 ? -1 : crossColon(b, i, n);
}

export function crossNumber(b: Buffer, start: number, n: number): number {
  let i = start;
  let c = b[i]!;
  if (c === MINUS) c = ++i < n ? b[i]! : 0;
  if (c === 0x30) i++;
  else if (c >= 0x31 && c <= 0x39) i = crossDigits(b, i, n);
  else return fail(i);
  c = i < n ? b[i]! : 0;
  if (c === DOT) {
    const digits = i + 1;
    i = crossDigits(b, digits, n);
    if (i === digits) return fail(i);
    c = i < n ? b[i]! : 0;
  }
  if ((c | 0x20) === 0x65) {
    i++;
    c = i < n ? b[i]! : 0;
    if (c === 0x2b || c === MINUS) i++;
    const digits = i;
    i = crossDigits(b, digits, n);
    if (i === digits) return fail(i);
  }
  return i;
}

function crossDigits(b: Buffer, start: number, n: number): number {
  let i = start;
  while (i < n && b[i]! >= 0x30 && b[i]! <= 0x39) i++;
  return i;
}

/** true, false or null. */
function crossWord(b: Buffer, i: number, n: number): number {
  const c = i < n ? b[i]! : 0;
  const word = c === 0x74 ? "true" : c === 0x66 ? "false" : c === 0x6e ? "null" : "";
  if (word === "" || i + word.length > n) return fail(i);
  for (let k = 1; k < word.length; k++) if (b[i + k] !== word.charCodeAt(k)) return fail(i + k);
  return i + word.length;
}
