/** The end of an audit file that is already there: where the chain goes on, and what a crash has left of a line. */
import { hash } from "node:crypto";
import { readSync } from "node:fs";
import { type Link, lineHash, parseLine } from "./line.ts";

export interface Tail {
  /** What follows the last record; undefined where there is none. */
  readonly link: Link | undefined;
  /** Behind the last record. */
  readonly remains: Remains | undefined;
  /** The last line has no LF. */
  readonly unfinished: boolean;
}

/** What is no record: lines that crashes have cut, the last of them perhaps without LF. */
export interface Remains {
  readonly lines: number;
  /** Of all of it, line ends in between included. */
  readonly bytes: number;
  readonly sha256: string;
  /** Of the last line alone: `prev` of what comes next. */
  readonly lastHash: string;
}

const LF = 0x0a;
const STEP = 65_536;

/** Reads backwards, only as far as needed. */
export function readTail(fd: number, size: number): Tail {
  if (size === 0) return { link: undefined, remains: undefined, unfinished: false };
  let bytes: Buffer = Buffer.alloc(0);
  let start = size;
  const unfinished = readAt(fd, size - 1, 1)[0] !== LF;
  const last = unfinished ? size : size - 1;
  const part = (from: number, to: number): Buffer => bytes.subarray(from - start, to - start);
  let lines = 0;
  let lastHash: string | undefined;
  // From the last line upwards, to the last one that is a record.
  let end = last;
  for (;;) {
    let lineStart = lineStartBefore(bytes, start, end);
    while (lineStart < 0 && start > 0) {
      const length = Math.min(Math.max(STEP, bytes.length), start);
      bytes = Buffer.concat([readAt(fd, start - length, length), bytes]);
      start -= length;
      lineStart = lineStartBefore(bytes, start, end);
    }
    if (lineStart < 0) lineStart = 0;
    const line = part(lineStart, end);
    const record = parseLine(line);
    const from = record === undefined ? lineStart : end + 1;
    if (record === undefined) {
      lines++;
      lastHash ??= lineHash(line);
    }
    if (record !== undefined || lineStart === 0) {
      const link = record && { seq: record.seq + 1, prev: lineHash(line) };
      if (lastHash === undefined) return { link, remains: undefined, unfinished };
      const sha256 = hash("sha256", part(from, last), "hex");
      return { link, remains: { lines, bytes: last - from, sha256, lastHash }, unfinished };
    }
    end = lineStart - 1;
  }
}

/** Offset in the file of the first byte behind the last LF before `end`, or -1 if none of `bytes` is one. */
function lineStartBefore(bytes: Buffer, start: number, end: number): number {
  if (end <= start) return -1;
  const at = bytes.lastIndexOf(LF, end - start - 1);
  return at < 0 ? -1 : start + at + 1;
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
