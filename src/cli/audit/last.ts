/** The last lines of a chain, read backwards: the file of a busy year is not read through to show ten lines. */
import { closeSync, openSync, readSync } from "node:fs";

const LF = 0x0a;
const STEP = 65_536;

/** Behind the last LF before `size`: what follows is a line that is still being written. */
export function endOfLines(fd: number, size: number): number {
  for (let end = size; end > 0; end -= STEP) {
    const start = Math.max(0, end - STEP);
    const at = readAt(fd, start, end - start).lastIndexOf(LF);
    if (at >= 0) return start + at + 1;
  }
  return 0;
}

/** Whole lines up to `size` bytes of an open file, the last first, without their ends. */
export function* linesBackwards(fd: number, size: number): Generator<Buffer> {
  let start = size;
  let bytes: Buffer = Buffer.alloc(0);
  // Behind the last LF a line is still being written.
  let end = -1;
  for (;;) {
    const at = end === 0 ? -1 : bytes.lastIndexOf(LF, end < 0 ? bytes.length - 1 : end - 1);
    if (at >= 0) {
      if (end >= 0) yield bytes.subarray(at + 1, end);
      end = at;
      continue;
    }
    if (start === 0) {
      if (end >= 0) yield bytes.subarray(0, end);
      return;
    }
    const length = Math.min(Math.max(STEP, bytes.length), start);
    start -= length;
    const before = readAt(fd, start, length);
    // What has been handed out is let go.
    bytes = Buffer.concat([before, end < 0 ? bytes : bytes.subarray(0, end + 1)]);
    if (end >= 0) end += length;
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let read = 0; read < length; ) {
    const count = readSync(fd, bytes, read, length - read, position + read);
    if (count === 0) break;
    read += count;
  }
  return bytes;
}

/** The same for a file that is read whole. @throws file system errors */
export function* fileBackwards(path: string, size: number): Generator<Buffer> {
  const fd = openSync(path, "r");
  try {
    yield* linesBackwards(fd, size);
  } finally {
    closeSync(fd);
  }
}
