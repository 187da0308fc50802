/**
 * Bytes -> Frame: the first thing that happens to every message, on every leg. One strict pass over one JSON text
 * checks it, finds the fields a router needs and leaves the rest unread.
 *
 * A text is accepted exactly if JSON.parse would accept it and it is one JSON-RPC 2.0 message. A key that decides where
 * a message goes or what it calls may stand only once, however it is escaped: of two parsers one takes the first and
 * another the last, and then the policy would judge one call and the server run another.
 */
import { isUtf8 } from "node:buffer";
import { Frame } from "./frame.ts";
import { badAt, crossName, fail, lastName, QUOTE, sawWide } from "./json-string.ts";
import {
  begin,
  CLOSE_BRACE,
  COMMA,
  crossNamedKey,
  crossSpace,
  crossValue,
  end,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  sawBreak,
} from "./json-value.ts";
import { TOP } from "./member-name.ts";
import { singleLine } from "./values.ts";

export { idOfHead } from "./head.ts";

/** A text that is not one JSON-RPC message, and what its sender can be told. */
export interface ScanFault {
  /**
   * "syntax": not JSON. "batch": an array. "not-object": any other value. "malformed": an object that is no JSON-RPC 2.0
   * message. "duplicate": a key that routing depends on stands twice.
   */
  readonly fault: "syntax" | "not-object" | "batch" | "malformed" | "duplicate";
  /** Raw text of the id (the last, if there are several) if it is a string or a number. */
  readonly idText: string | undefined;
  /** One clause for a person. Holds nothing of the message but the names of routing members. */
  readonly reason: string;
  /** The method, if it is a string. */
  readonly method?: string;
}

const NO_KEYS: readonly string[] = [];
const NO_SPANS: readonly number[] = [];

/** What stands at the top of a message. Spans are -1 where there is none. */
class Found {
  /** Bits of `TOP`: which members there are. */
  seen = 0;
  duplicate: string | undefined = undefined;
  /** The values of `jsonrpc` and `method`, if they are strings. */
  version: string | undefined = undefined;
  method: string | undefined = undefined;
  idStart = -1;
  idEnd = -1;
  paramsStart = -1;
  paramsEnd = -1;
  paramsKeys = NO_KEYS;
  paramsSpans = NO_SPANS;
  /** `result` or `error`. */
  answerStart = -1;
  answerEnd = -1;
  answerKeys = NO_KEYS;
  answerSpans = NO_SPANS;
}

export function scan(bytes: Buffer): Frame | ScanFault {
  const text = trimmed(bytes);
  const n = text.length;
  const first = n > 0 ? text[0]! : 0;
  const found = new Found();
  begin();
  const after = first === OPEN_BRACE ? crossMessage(text, n, found) : crossValue(text, 0, n);
  const broken = sawBreak();
  end();
  if (after < 0) return syntax(badAt() >= n ? "the text ends too early" : `unexpected byte at offset ${badAt()}`);
  if (after < n) return syntax(`unexpected byte at offset ${after}, after the end of the value`);
  if (sawWide() && !isUtf8(text)) return syntax("not valid UTF-8");
  if (first === OPEN_BRACKET) return { fault: "batch", idText: undefined, reason: "a batch (JSON array)" };
  if (first !== OPEN_BRACE) return { fault: "not-object", idText: undefined, reason: "not a JSON object" };
  // A line break between tokens would end the message on a stdio leg. A space in its place moves no span.
  return judge(broken ? singleLine(text) : text, found);
}

function syntax(reason: string): ScanFault {
  return { fault: "syntax", idText: undefined, reason };
}

function trimmed(bytes: Buffer): Buffer {
  let from = 0;
  let to = bytes.length;
  while (to > 0 && isSpace(bytes[to - 1]!)) to--;
  while (from < to && isSpace(bytes[from]!)) from++;
  return to - from === bytes.length ? bytes : bytes.subarray(from, to);
}

/** The members of the message itself, from its opening brace. */
function crossMessage(b: Buffer, n: number, found: Found): number {
  let i = crossSpace(b, 1, n);
  if (i < n && b[i] === CLOSE_BRACE) return i + 1;
  for (;;) {
    i = crossNamedKey(b, i, n);
    if (i < 0) return -1;
    const name = lastName();
    if ((found.seen & name.top) !== 0) found.duplicate = name.text;
    found.seen |= name.top;
    if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
    i = name.top === 0 ? crossValue(b, i, n) : crossMember(b, i, n, name.top, found);
    if (i < 0) return -1;
    if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
    const c = i < n ? b[i]! : 0;
    if (c === CLOSE_BRACE) return i + 1;
    if (c !== COMMA) return fail(i);
    i++;
  }
}

/** A member that routing needs; `start` is the first byte of its value. */
function crossMember(b: Buffer, start: number, n: number, which: number, found: Found): number {
  const c = start < n ? b[start]! : 0;
  if (which === TOP.id) {
    found.idStart = start;
    found.idEnd = crossValue(b, start, n);
    return found.idEnd;
  }
  if (which === TOP.jsonrpc || which === TOP.method) {
    const after = c === QUOTE ? crossName(b, start + 1, n) : crossValue(b, start, n);
    const text = c === QUOTE && after >= 0 ? lastName().text : undefined;
    if (which === TOP.jsonrpc) found.version = text;
    else found.method = text;
    return after;
  }
  const keys: string[] = [];
  const spans: number[] = [];
  const after = c === OPEN_BRACE ? crossBody(b, start, n, which, found, keys, spans) : crossValue(b, start, n);
  if (which === TOP.params) {
    found.paramsStart = start;
    found.paramsEnd = after;
    found.paramsKeys = keys;
    found.paramsSpans = spans;
  } else {
    found.answerStart = start;
    found.answerEnd = after;
    found.answerKeys = keys;
    found.answerSpans = spans;
  }
  return after;
}

/** The members of a body, from its opening brace, into `keys` and `spans`. */
function crossBody(
  b: Buffer,
  start: number,
  n: number,
  which: number,
  found: Found,
  keys: string[],
  spans: number[],
): number {
  let i = crossSpace(b, start + 1, n);
  if (i < n && b[i] === CLOSE_BRACE) return i + 1;
  let seen = 0;
  for (;;) {
    i = crossNamedKey(b, i, n);
    if (i < 0) return -1;
    const name = lastName();
    const bit = which === TOP.params ? name.params : which === TOP.result ? name.result : 0;
    if ((seen & bit) !== 0) found.duplicate = name.text;
    seen |= bit;
    if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
    keys.push(name.text);
    spans.push(i);
    i = crossValue(b, i, n);
    if (i < 0) return -1;
    spans.push(i);
    if (i < n && b[i]! <= 0x20) i = crossSpace(b, i, n);
    const c = i < n ? b[i]! : 0;
    if (c === CLOSE_BRACE) return i + 1;
    if (c !== COMMA) return fail(i);
    i++;
  }
}

/** What the members make of the message. */
function judge(bytes: Buffer, found: Found): Frame | ScanFault {
  const { method, idStart, idEnd, duplicate } = found;
  const reason = duplicate === undefined ? objection(bytes, found) : `the member "${duplicate}" stands twice`;
  if (reason !== undefined) {
    const fault = duplicate === undefined ? "malformed" : "duplicate";
    const idText = idKnown(bytes, idStart) ? bytes.toString("utf8", idStart, idEnd) : undefined;
    return method === undefined ? { fault, idText, reason } : { fault, idText, reason, method };
  }
  if (method === undefined) {
    return new Frame({
      bytes,
      kind: "response",
      idStart,
      idEnd,
      method: undefined,
      bodyKey: (found.seen & TOP.error) !== 0 ? "error" : "result",
      bodyStart: found.answerStart,
      bodyEnd: found.answerEnd,
      keys: found.answerKeys,
      spans: found.answerSpans,
    });
  }
  return new Frame({
    bytes,
    kind: idStart < 0 ? "notification" : "request",
    idStart,
    idEnd,
    method,
    bodyKey: found.paramsStart < 0 ? undefined : "params",
    bodyStart: found.paramsStart,
    bodyEnd: found.paramsEnd,
    keys: found.paramsKeys,
    spans: found.paramsSpans,
  });
}

/** True for a string or a number. */
function idKnown(bytes: Buffer, idStart: number): boolean {
  if (idStart < 0) return false;
  const c = bytes[idStart]!;
  return c === QUOTE || c === 0x2d || (c >= 0x30 && c <= 0x39);
}

/** Why the object is no JSON-RPC 2.0 message, or undefined if it is one. */
function objection(bytes: Buffer, found: Found): string | undefined {
  if (found.version !== "2.0") return 'the member "jsonrpc" is not "2.0"';
  const answers = found.seen & (TOP.result | TOP.error);
  if ((found.seen & TOP.method) !== 0) {
    if (found.method === undefined) return 'the member "method" is not a string';
    if (answers !== 0) return "both a request and a response";
    if (found.idStart >= 0 && !idKnown(bytes, found.idStart)) return 'the member "id" is neither a string nor a number';
    const c = found.paramsStart < 0 ? OPEN_BRACE : bytes[found.paramsStart]!;
    return c === OPEN_BRACE || c === OPEN_BRACKET ? undefined : 'the member "params" is neither an object nor an array';
  }
  if (answers === 0) return 'none of the members "method", "result" and "error"';
  if (answers === (TOP.result | TOP.error)) return 'both members "result" and "error"';
  if (idKnown(bytes, found.idStart)) return undefined;
  // Whoever could not read a request's id answers it with null (JSON-RPC 2.0) or with no id (MCP 2025-11-25).
  const idless = found.idStart < 0 || bytes[found.idStart] === 0x6e;
  return idless && answers === TOP.error ? undefined : 'the member "id" is neither a string nor a number';
}
