/** The end of an audit file that is already there: where the chain goes on, and whether a crash cut the last line. */
import { readSync } from "node:fs";
import { FIRST, type Link, lineHash } from "./chain.ts";

export interface Tail {
  /** Where the next line goes; undefined for an empty file. */
  readonly link: Link | undefined;
  /** The last line has no LF: it is to be sealed off with one before anything is added. */
  readonly unfinished: boolean;
}

const LF = 0x0a;
const STEP = 65_536;

/** Reads backwards, only as far as needed. */
export function readTail(fd: number, size: number): Tail {
  if (size === 0) return { link: undefined, unfinished: false };
  let bytes: Buffer = Buffer.alloc(0);
  let start = size;
  const unfinished = readAt(fd, size - 1, 1)[0] !== LF;
  let prev: string | undefined;
  // From the last line upwards: its hash is `prev`; the number is that of the last line that has one (a line that a
  // crash has cut has none).
  let end = unfinished ? size : size - 1;
  while (end >= 0) {
    let lineStart = lineStartBefore(bytes, start, end);
    while (lineStart < 0 && start > 0) {
      const length = Math.min(Math.max(STEP, bytes.length), start);
      bytes = Buffer.concat([readAt(fd, start - length, length), bytes]);
      start -= length;
      lineStart = lineStartBefore(bytes, start, end);
    }
    if (lineStart < 0) lineStart = 0;
    const line = bytes.subarray(lineStart - start, end - start);
    prev ??= lineHash(line);
    const seq = seqOf(line);
    if (seq !== undefined) return { link: { seq: seq + 1, prev }, unfinished };
    end = lineStart - 1;
  }
  return { link: { seq: FIRST.seq, prev: prev! }, unfinished };
}

/** Offset in the file of the first byte behind the last LF before `end`, or -1 if none of `bytes` is one. */
function lineStartBefore(bytes: Buffer, start: number, end: number): number {
  if (end <= start) return -1;
  const at = bytes.lastIndexOf(LF, end - start - 1);
  return at < 0 ? -1 : start + at + 1;
}

function seqOf(line: Buffer): number | undefined {
  try {
    const { seq } = JSON.parse(line.toString("utf8")) as { seq?: unknown };
    return typeof seq === "number" && Number.isSafeInteger(seq) ? seq : undefined;
  } catch {
    return undefined;
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const count = readSync(fd, bytes, read, length - read, position + read);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}
