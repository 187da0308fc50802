/** One content block, message or resource contents, made to fit: its text cut, or a note where the rest cannot be cut. */
import { jsonText } from "../../wire/splice.ts";
import { type Span, typeOf } from "../../wire/uris.ts";
import { findMember } from "../../wire/values.ts";

/** Text of ours; it never holds what a server wrote but short names. */
export type Notice = string;

/** JSON text of what goes out instead. `cut`: a text of it was cut. */
export interface Shrunk {
  readonly text: string;
  readonly cut: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const MAX_URI = 2_048;

/** A content block in at most about `room` bytes; undefined if not even a note fits. */
export function shrunkBlock(bytes: Buffer, start: number, end: number, room: number, cap: number): Shrunk | undefined {
  const type = typeOf(bytes, start, end) ?? "block";
  const resource = type === "resource" ? findMember(bytes, start, end, "resource") : undefined;
  const text = type === "text" ? stringOf(bytes, [start, end], "text") : resource && stringOf(bytes, resource, "text");
  if (text !== undefined) return cutText(bytes, start, end, text, room, cap);
  const mime = stringOf(bytes, resource ?? [start, end], "mimeType");
  const uri = stringOf(bytes, resource ?? [start, end], "uri");
  const named = [type, shown(bytes, mime), shown(bytes, uri)].filter((part) => part !== "").join(" ");
  return fitting(jsonText({ type: "text", text: note(named, end - start, cap) }), room);
}

/** A message of a prompt: its content is one block. */
export function shrunkMessage(
  bytes: Buffer,
  start: number,
  end: number,
  room: number,
  cap: number,
): Shrunk | undefined {
  const content = findMember(bytes, start, end, "content");
  if (content === undefined || bytes[content[0]] !== OPEN_BRACE) return undefined;
  const around = end - start - (content[1] - content[0]);
  const block = shrunkBlock(bytes, content[0], content[1], room - around, cap);
  if (block === undefined) return undefined;
  return { ...block, text: bytes.utf8Slice(start, content[0]) + block.text + bytes.utf8Slice(content[1], end) };
}

/** One of the contents of a resource: a text, or a blob whose URI stays with a note. */
export function shrunkEntry(bytes: Buffer, start: number, end: number, room: number, cap: number): Shrunk | undefined {
  const text = stringOf(bytes, [start, end], "text");
  if (text !== undefined) return cutText(bytes, start, end, text, room, cap);
  const uri = stringOf(bytes, [start, end], "uri");
  if (uri === undefined || uri[1] - uri[0] > MAX_URI) return undefined;
  const named = ["blob", shown(bytes, stringOf(bytes, [start, end], "mimeType"))]
    .filter((part) => part !== "")
    .join(" ");
  return fitting(`{"uri":${bytes.utf8Slice(...uri)},"text":${jsonText(note(named, end - start, cap))}}`, room);
}

/** The notice comes on top of `room`: its place is kept free. */
function cutText(bytes: Buffer, start: number, end: number, text: Span, room: number, cap: number): Shrunk | undefined {
  const total = text[1] - text[0] - 2;
  const stop = boundary(bytes, text[0] + 1, text[0] + 1 + Math.min(total, room - (end - start - total)));
  const kept = stop - text[0] - 1;
  if (kept <= 0) return undefined;
  const notice: Notice = `\n[cut by Switchyard: ${kept} of ${total} bytes shown (maxResultBytes ${cap})]`;
  const inside = jsonText(notice).slice(1, -1);
  return { text: bytes.utf8Slice(start, stop) + inside + bytes.utf8Slice(text[1] - 1, end), cut: true };
}

/** The last place up to `limit` between two characters of a JSON string, whose inside begins at `start`. */
function boundary(bytes: Buffer, start: number, limit: number): number {
  let at = start;
  while (at < limit) {
    const next = at + lengthAt(bytes, at);
    if (next > limit) break;
    at = next;
  }
  return at;
}

/** Bytes of the character that begins here: an escape is one, and so is a pair of them that stands for one character. */
function lengthAt(bytes: Buffer, at: number): number {
  const c = bytes[at]!;
  if (c === BACKSLASH) {
    if (bytes[at + 1] !== LETTER_U) return 2;
    const high = /^d[89ab]/i.test(bytes.latin1Slice(at + 2, at + 6));
    return high && /^\\ud[c-f]/i.test(bytes.latin1Slice(at + 6, at + 12)) ? 12 : 6;
  }
  if (c < 0x80) return 1;
  return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
}

function note(what: string, bytes: number, cap: number): Notice {
  return `[${what} of ${bytes} bytes left out by Switchyard (maxResultBytes ${cap})]`;
}

function fitting(text: string, room: number): Shrunk | undefined {
  return Buffer.byteLength(text) <= room ? { text, cut: false } : undefined;
}

function stringOf(bytes: Buffer, [start, end]: Span, key: string): Span | undefined {
  const span = findMember(bytes, start, end, key);
  return span !== undefined && bytes[span[0]] === QUOTE ? span : undefined;
}

function shown(bytes: Buffer, span: Span | undefined): string {
  if (span === undefined || span[1] - span[0] > MAX_URI) return "";
  const text = JSON.parse(bytes.utf8Slice(...span)) as string;
  return text.length <= 100 ? text : `${text.slice(0, 100)}…`;
}
