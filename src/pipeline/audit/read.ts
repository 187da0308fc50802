/** Reading a set of audit files line by line, in the order of the chain, while another process may write and rotate it. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { baseOf, inOrder, setOf } from "./set.ts";

export interface Line {
  /** Without LF. Valid until the next line is asked for. */
  readonly bytes: Buffer;
  readonly file: string;
  /** From 1. */
  readonly number: number;
  /** It has an LF: only the last line of a file can lack one. */
  readonly finished: boolean;
}

export interface OpenFile {
  readonly path: string;
  readonly fd?: number;
}

const LF = 0x0a;
const BLOCK = 1_048_576;

/**
 * The files that were named, sorted by chains: of the file that is being written the whole set, of one that was set aside
 * that one alone.
 */
export function chainsOf(paths: readonly string[]): string[][] {
  const chains = new Map<string, Set<string>>();
  for (const path of paths) {
    // A pattern of the shell finds them, too.
    if (path.endsWith(".lock")) continue;
    const base = baseOf(path);
    const files = chains.get(base) ?? new Set();
    chains.set(base, files);
    files.add(path);
    if (path === base) for (const file of setOf(path)) files.add(file);
  }
  return [...chains.values()].map((files) => inOrder([...files]));
}

/**
 * Opens the last file first: what is set aside between listing and opening would be read twice or not at all.
 * @throws file system errors
 */
export function openChain(paths: readonly string[]): OpenFile[] {
  const last = paths.at(-1)!;
  const fd = openSync(last, "r");
  const { ino } = fstatSync(fd);
  const named = baseOf(last) === last ? inOrder([...new Set([...paths, ...setOf(last)])]) : paths;
  const before = named.filter((path) => path !== last && statSync(path, { throwIfNoEntry: false })?.ino !== ino);
  return [...before.map((path) => ({ path })), { path: last, fd }];
}

/** Every line of the files. Closes them. @throws file system errors */
export function* linesOfChain(files: readonly OpenFile[]): Generator<Line> {
  const open = new Set(files.flatMap(({ fd }) => (fd === undefined ? [] : [fd])));
  try {
    for (const { path, fd = openSync(path, "r") } of files) {
      open.add(fd);
      yield* linesOfFile(path, fd);
      closeSync(fd);
      open.delete(fd);
    }
  } finally {
    for (const fd of open) closeSync(fd);
  }
}

function* linesOfFile(file: string, fd: number): Generator<Line> {
  let rest: Buffer[] = [];
  let number = 0;
  let position = 0;
  for (;;) {
    const block = Buffer.allocUnsafe(BLOCK);
    const count = readSync(fd, block, 0, BLOCK, position);
    if (count === 0) break;
    position += count;
    const bytes = block.subarray(0, count);
    let start = 0;
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, start)) {
      const part = bytes.subarray(start, at);
      start = at + 1;
      const line = rest.length === 0 ? part : Buffer.concat([...rest, part]);
      rest = [];
      yield { bytes: line, file, number: ++number, finished: true };
    }
    if (start < count) rest.push(bytes.subarray(start));
  }
  if (rest.length > 0) yield { bytes: Buffer.concat(rest), file, number: ++number, finished: false };
}
