/**
 * The edits that turn a host's request into a server's: another id, another name or URI, our progress token. Everything
 * else of the message stays byte for byte.
 */
import type { Frame } from "./frame.ts";
import { type Edit, splice } from "./splice.ts";
import { findMember } from "./values.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = 0x7b;
const CLOSE = 0x7d;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** Replaces the value of a member of the body, which must exist. */
export function replaceMember(frame: Frame, key: string, text: string): Edit {
  const at = frame.indexOf(key);
  return { start: frame.spans[2 * at]!, end: frame.spans[2 * at + 1]!, text };
}

/** Puts a member in front of the others of an object value; `start` is the offset of its brace. */
function insertMember(bytes: Buffer, start: number, member: string): Edit {
  let next = start + 1;
  while (isSpace(bytes[next])) next += 1;
  return { start: start + 1, end: start + 1, text: bytes[next] === CLOSE ? member : `${member},` };
}

/** Adds a member to the body, which must be an object. */
export function addMember(frame: Frame, member: string): Edit {
  return insertMember(frame.bytes, frame.bodyStart, member);
}

/** Takes a member out of the body, with its key and one comma; undefined if it is not there. */
export function removeMember(frame: Frame, key: string): Edit | undefined {
  const at = frame.indexOf(key);
  if (at < 0) return undefined;
  const { bytes } = frame;
  let start = frame.spans[2 * at]!;
  let end = frame.spans[2 * at + 1]!;
  // Back over the colon to the key's closing quote, then to its opening one: a key that we look for holds no quote.
  do start -= 1;
  while (bytes[start] !== COLON);
  do start -= 1;
  while (bytes[start] !== QUOTE);
  do start -= 1;
  while (bytes[start] !== QUOTE);
  while (isSpace(bytes[end])) end += 1;
  if (bytes[end] === COMMA) return { start, end: end + 1, text: "" };
  let before = start - 1;
  while (isSpace(bytes[before])) before -= 1;
  return { start: bytes[before] === COMMA ? before : start, end, text: "" };
}

/**
 * Where our progress token goes: over the asker's own, or, if `always`, into a new place. Undefined: no token is sent,
 * because nobody asked for progress.
 */
export function tokenEdit(frame: Frame, always: boolean): ((token: number) => Edit) | undefined {
  const at = frame.indexOf("_meta");
  const metaStart = at < 0 ? -1 : frame.spans[2 * at]!;
  if (metaStart >= 0 && frame.bytes[metaStart] === OPEN) {
    const span = findMember(frame.bytes, metaStart, frame.spans[2 * at + 1]!, "progressToken");
    if (span !== undefined) return (token) => ({ start: span[0], end: span[1], text: String(token) });
    return always ? (token) => insertMember(frame.bytes, metaStart, `"progressToken":${token}`) : undefined;
  }
  if (!always || frame.bodyStart < 0 || frame.bytes[frame.bodyStart] !== OPEN || at >= 0) return undefined;
  return (token) => addMember(frame, `"_meta":{"progressToken":${token}}`);
}

/** The message under another id, with further edits. */
export function rewrite(frame: Frame, id: number, edits: readonly Edit[]): Buffer[] {
  return splice(frame.bytes, [{ start: frame.idStart, end: frame.idEnd, text: String(id) }, ...edits]);
}
