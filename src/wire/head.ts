/**
 * A message that was cut because it is too long -> whose it was, so that one request fails and not the connection.
 * Reads only what is certain: a member of the message itself, never one of a value inside it.
 */
import { crossName, crossString, lastName, QUOTE } from "./json-string.ts";
import {
  begin,
  CLOSE_BRACE,
  COMMA,
  crossNamedKey,
  crossNumber,
  crossSpace,
  crossValue,
  end,
  isSpace,
  OPEN_BRACE,
} from "./json-value.ts";
import { TOP } from "./member-name.ts";

const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Each is undefined where it could not be told. */
interface HeadFields {
  /** Raw text of the id, if it is a string or a number. */
  readonly idText: string | undefined;
  readonly method: string | undefined;
  /** A message whose id was not found is never taken for a notification: the id may stand in the part that is lost. */
  readonly kind: "request" | "response" | undefined;
}

/** `head` is the beginning of the message, `tail` its end: some peers write the id last. */
export function idOfHead(head: Buffer, tail?: Buffer): HeadFields {
  begin();
  const found = fromHead(head);
  const { seen, method } = found;
  let { idText } = found;
  if ((seen & TOP.id) === 0 && tail !== undefined) {
    begin();
    idText = lastId(tail);
  }
  end();
  if ((seen & (TOP.result | TOP.error)) !== 0) return { idText, method, kind: "response" };
  const asks = (seen & (TOP.method | TOP.params)) !== 0;
  return { idText, method, kind: asks && idText !== undefined ? "request" : undefined };
}

interface Head {
  /** Bits of `TOP` of the keys that were read. */
  seen: number;
  idText: string | undefined;
  method: string | undefined;
}

function fromHead(b: Buffer): Head {
  const n = b.length;
  const found: Head = { seen: 0, idText: undefined, method: undefined };
  let i = crossSpace(b, 0, n);
  if (i >= n || b[i] !== OPEN_BRACE) return found;
  do {
    i = crossNamedKey(b, i + 1, n);
    if (i < 0) break;
    const { top } = lastName();
    const twice = (found.seen & top) !== 0;
    // An id that is cut itself counts as not seen: the tail may have all of it.
    if (top !== TOP.id) found.seen |= top;
    const start = crossSpace(b, i, n);
    const quoted = start < n && b[start] === QUOTE;
    const after = quoted ? crossName(b, start + 1, n) : crossValue(b, start, n);
    // A value that ends where the head ends may go on behind it.
    if (after < 0 || after >= n) break;
    found.seen |= top;
    if (top === TOP.method && quoted) found.method = lastName().text;
    if (top === TOP.id) found.idText = twice || !isId(b, start) ? undefined : b.toString("utf8", start, after);
    i = crossSpace(b, after, n);
  } while (i < n && b[i] === COMMA);
  return found;
}

function isId(b: Buffer, start: number): boolean {
  const c = b[start]!;
  return c === QUOTE || c === 0x2d || (c >= 0x30 && c <= 0x39);
}

/**
 * The id if it is the message's last member. The last brace of a message closes the message, so what stands before it is
 * the last member's value, and what stands before that its key: neither can be inside a string or another value.
 */
function lastId(b: Buffer): string | undefined {
  const close = backSpace(b, b.length) - 1;
  if (close < 0 || b[close] !== CLOSE_BRACE) return undefined;
  const to = backSpace(b, close);
  const from = valueStart(b, to);
  if (from < 0) return undefined;
  const colon = backSpace(b, from) - 1;
  if (colon < 0 || b[colon] !== COLON) return undefined;
  const keyEnd = backSpace(b, colon);
  const keyStart = keyEnd - '"id"'.length;
  if (keyStart < 1 || b.toString("latin1", keyStart, keyEnd) !== '"id"') return undefined;
  const before = backSpace(b, keyStart) - 1;
  if (before < 0 || (b[before] !== COMMA && b[before] !== OPEN_BRACE)) return undefined;
  return b.toString("utf8", from, to);
}

/** End of what is before the white space that ends at `to`. */
function backSpace(b: Buffer, to: number): number {
  let i = to;
  while (i > 0 && isSpace(b[i - 1]!)) i--;
  return i;
}

/** Start of the string or number that ends at `to`, or -1. */
function valueStart(b: Buffer, to: number): number {
  let i = to - 1;
  if (i < 0) return -1;
  if (b[i] !== QUOTE) {
    while (i >= 0 && isNumberByte(b[i]!)) i--;
    const from = i + 1;
    return from < to && crossNumber(b, from, to) === to ? from : -1;
  }
  for (i--; i >= 0; i--) {
    if (b[i] !== QUOTE) continue;
    let k = i;
    while (k > 0 && b[k - 1] === BACKSLASH) k--;
    if (((i - k) & 1) === 0) return crossString(b, i + 1, to) === to ? i : -1;
  }
  return -1;
}

function isNumberByte(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || c === 0x2d || c === 0x2b || c === 0x2e || (c | 0x20) === 0x65;
}
