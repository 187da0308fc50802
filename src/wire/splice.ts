/**
 * Frame -> the bytes that leave: a few spans are replaced, all else goes out as it came. Also makes the frames that are
 * our own. The only place where a message is put together.
 */
import { type BodyKey, Frame, type FrameKind } from "./frame.ts";
import { members, singleLine } from "./values.ts";

/** Replace `start`..`end` of a frame's bytes by `text` (UTF-8). An insertion has `start` === `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string | Buffer;
}

/** A message up to this size leaves as one new buffer; of a larger one no long stretch is copied. */
const ONE_BUFFER_BYTES = 16 * 1024;
/** A stretch of a large message that is shorter than this is copied, so that a write has few parts. */
const COPY_BYTES = 4 * 1024;

/** The edits may come in any order, but must not overlap; of two insertions at one place the first given comes first. */
export function splice(frameBytes: Buffer, edits: readonly Edit[]): Buffer[] {
  const sorted = edits.length < 2 ? edits : edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  let total = frameBytes.length;
  let at = 0;
  for (const edit of sorted) {
    if (edit.start < at || edit.end < edit.start || edit.end > frameBytes.length) {
      throw new RangeError(
        `edit ${edit.start}..${edit.end} overlaps another or lies outside of ${frameBytes.length} bytes`,
      );
    }
    at = edit.end;
    total += lengthOf(edit.text) - (edit.end - edit.start);
  }
  return total < ONE_BUFFER_BYTES ? [joined(frameBytes, sorted, total)] : pieces(frameBytes, sorted);
}

function lengthOf(text: string | Buffer): number {
  return typeof text === "string" ? Buffer.byteLength(text, "utf8") : text.length;
}

function joined(source: Buffer, edits: readonly Edit[], total: number): Buffer {
  const target = Buffer.allocUnsafe(total);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    to += source.copy(target, to, from, start);
    to += typeof text === "string" ? target.write(text, to, "utf8") : text.copy(target, to);
    from = end;
  }
  source.copy(target, to, from);
  return target;
}

function pieces(source: Buffer, edits: readonly Edit[]): Buffer[] {
  const out: Buffer[] = [];
  // Short neighbours, to be copied into one buffer.
  let short: Buffer[] = [];
  const flush = (): void => {
    if (short.length > 0) out.push(Buffer.concat(short));
    short = [];
  };
  const add = (piece: Buffer): void => {
    if (piece.length < COPY_BYTES) {
      if (piece.length > 0) short.push(piece);
      return;
    }
    flush();
    out.push(piece);
  };
  let from = 0;
  for (const { start, end, text } of edits) {
    add(source.subarray(from, start));
    add(typeof text === "string" ? Buffer.from(text, "utf8") : text);
    from = end;
  }
  add(source.subarray(from));
  flush();
  return out;
}

/** The frame's bytes with another id: `idText` is the JSON text of the id (`7`, `"a"`). */
export function withId(frame: Frame, idText: string): Buffer[] {
  if (frame.idStart < 0) throw new RangeError("a frame without an id cannot be given another one");
  return splice(frame.bytes, [{ start: frame.idStart, end: frame.idEnd, text: idText }]);
}

/** JSON text of a value of ours. It never holds a line break or a lone surrogate. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} has no JSON text`);
  return text;
}

/** An answer made by ourselves; its id is 0 until the leg towards the asker puts the right one in. */
export function resultFrame(result: object): Frame {
  return ownFrame("response", undefined, "result", jsonText(result));
}

/** The same for a result that is valid JSON text already. */
export function rawResultFrame(result: string | Buffer): Frame {
  return ownFrame("response", undefined, "result", result);
}

export function errorFrame(error: { readonly code: number; readonly message: string; readonly data?: unknown }): Frame {
  return ownFrame("response", undefined, "error", jsonText(error));
}

/** A request made by ourselves, with id 0. */
export function requestFrame(method: string, params?: object): Frame {
  return ownFrame("request", method, "params", params === undefined ? undefined : jsonText(params));
}

export function notificationFrame(method: string, params?: object): Frame {
  return ownFrame("notification", method, "params", params === undefined ? undefined : jsonText(params));
}

/** Puts the message together instead of scanning it: the body is JSON text already. */
function ownFrame(
  kind: FrameKind,
  method: string | undefined,
  bodyKey: BodyKey,
  body: string | Buffer | undefined,
): Frame {
  let head = '{"jsonrpc":"2.0"';
  const idStart = kind === "notification" ? -1 : head.length + ',"id":'.length;
  if (kind !== "notification") head += ',"id":0';
  if (method !== undefined) head += `,"method":${jsonText(method)}`;
  if (body !== undefined) head += `,"${bodyKey}":`;
  const before = Buffer.from(head, "utf8");
  const after = Buffer.from("}", "utf8");
  const value = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const bytes = Buffer.concat(value === undefined ? [before, after] : [before, singleLine(value), after]);
  const bodyStart = value === undefined ? -1 : before.length;
  const bodyEnd = value === undefined ? -1 : before.length + value.length;
  return new Frame({
    bytes,
    kind,
    idStart,
    idEnd: idStart < 0 ? -1 : idStart + 1,
    method,
    bodyKey: value === undefined ? undefined : bodyKey,
    bodyStart,
    bodyEnd,
    ...members(bytes, bodyStart, bodyEnd),
  });
}
