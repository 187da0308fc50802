/**
 * The end of a file, made fit to be written on: what a crash has left of a line is sealed off by a record that says how
 * much it is and what its hash is, so that the chain goes on over it and `verify` knows it from an alteration.
 */
import { fsyncSync, ftruncateSync } from "node:fs";
import { writeWhole } from "./disk.ts";
import { type Begins, type Link, lineAt, lineHash } from "./line.ts";
import type { Tail } from "./tail.ts";

export interface Mended {
  readonly size: number;
  /** Where the next line goes. */
  readonly link: Link;
  /** Bytes that were sealed off; undefined where nothing was to be. */
  readonly sealed: number | undefined;
}

/** @param before where the chain stood before what is left over. @throws file system errors; the file is as it was then */
export function mend(fd: number, size: number, tail: Tail, before: Link, begins: Begins | undefined): Mended {
  let text = tail.unfinished ? "\n" : "";
  let link = before;
  const { remains } = tail;
  if (remains !== undefined) {
    const { lines, bytes, sha256, lastHash } = remains;
    // `prev` is the hash of the line before, like everywhere; `after` that of the record before.
    const what = `"event":"sealed","lines":${lines},"bytes":${bytes},"sha256":"${sha256}","after":"${before.prev}"`;
    const line = lineAt({ seq: before.seq, prev: lastHash }, { time: new Date().toISOString(), rest: what }, begins);
    text += `${line}\n`;
    link = { seq: before.seq + 1, prev: lineHash(line) };
  }
  if (text === "") return { size, link, sealed: undefined };
  try {
    writeWhole(fd, Buffer.from(text));
    fsyncSync(fd);
  } catch (error) {
    ftruncateSync(fd, size);
    throw error;
  }
  return { size: size + Buffer.byteLength(text), link, sealed: remains?.bytes };
}
