/**
 * The audit file itself: opened for appending, mode 0600, its chain continued. Invariant: after `write` either all lines
 * of the batch are in the file, or none of them and it throws.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { chained, closing, FIRST, type Position, startAt } from "./chain.ts";
import type { Signer } from "./checkpoint.ts";
import { closeQuietly, makeFolder, syncFolder, writeWhole } from "./disk.ts";
import type { Begins, Link } from "./line.ts";
import { mend } from "./mend.ts";
import type { AuditLine } from "./record.ts";
import { asideFiles, asideName } from "./set.ts";
import { readTail } from "./tail.ts";

const APPEND = constants.O_RDWR | constants.O_APPEND;
/** What a line has beside `rest`, and a checkpoint behind it. */
const FRAME_BYTES = 160;
const CHECKPOINT_BYTES = 460;

/** What was found when the file was opened. */
export interface Found {
  /** Bytes of an unfinished line that were sealed off, if there was one. */
  readonly sealed: number | undefined;
  /** It does not end with what this process wrote last: somebody has put another file in its place, or altered it. */
  readonly foreign: boolean;
}

export interface FileOptions {
  /** Nothing is let go without an fsync. */
  readonly durable: boolean;
  readonly rotateBytes: number | undefined;
  readonly signer: Signer | undefined;
}

export class AuditFile {
  readonly path: string;
  readonly #options: FileOptions;
  #fd: number | undefined;
  #opened: Stats | undefined;
  /** Bytes of whole lines. */
  #size = 0;
  /** Kept while closed: a file that was removed is begun anew as the next part of the same chain. */
  #position: Position | undefined;
  /** The file has no line yet, and this goes into its first. */
  #begins: Begins | undefined;
  /** The last file was set aside, and the next one has no line yet. */
  #setAside = false;
  /** A batch was written in part and could not be taken back. */
  #fragment = false;
  /** Written since the last fsync began. */
  #dirty = false;
  /** The descriptor that an fsync runs on: not to be closed, or its number could be given to another file meanwhile. */
  #syncing: number | undefined;

  constructor(path: string, options: FileOptions) {
    this.path = path;
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  /** @throws file system errors */
  open(): Found {
    makeFolder(dirname(this.path));
    const fd = openSync(this.path, APPEND | constants.O_CREAT, 0o600);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) throw new Error("it is not a regular file");
      if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) fchmodSync(fd, 0o600);
      let { size } = stats;
      if (this.#fragment && this.#isSame(stats) && size > this.#size) {
        ftruncateSync(fd, this.#size);
        size = this.#size;
      }
      const tail = readTail(fd, size);
      // `prev` is computed when it is asked for: a copy needs it by name.
      const known = this.#position && { ...this.#position, prev: this.#position.prev };
      const before = tail.link === undefined ? this.#before() : undefined;
      const link = known ?? tail.link ?? before!.link;
      const foreign = known !== undefined && tail.link !== undefined && tail.link.prev !== known.prev;
      const mended = mend(fd, size, tail, link, before?.begins);
      // Its own lines this process goes on signing; those of others it does not vouch for.
      const { unsigned, fresh } = known ?? startAt(link);
      this.#position = { unsigned, fresh, ...mended.link };
      this.#begins = mended.sealed === undefined ? before?.begins : undefined;
      if (this.#options.durable && size === 0) syncFolder(this.path);
      this.#size = mended.size;
      this.#fragment = false;
      this.#opened = stats;
      this.#fd = fd;
      return { sealed: mended.sealed, foreign };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** False if the path does not lead to the open file any more: removed, or moved away. */
  isInPlace(): boolean {
    const stats = statSync(this.path, { throwIfNoEntry: false });
    return stats !== undefined && this.#isSame(stats);
  }

  /** How many of these lines the file still takes; if it is empty, one at least. 0: it is to be set aside. */
  room(lines: readonly AuditLine[]): number {
    const { rotateBytes, signer } = this.#options;
    if (rotateBytes === undefined) return lines.length;
    const own = FRAME_BYTES + (signer === undefined ? 0 : CHECKPOINT_BYTES / signer.every);
    let size = this.#size + (signer === undefined ? 0 : 2 * CHECKPOINT_BYTES);
    let count = 0;
    for (const { rest } of lines) {
      size += Buffer.byteLength(rest) + own;
      if (size > rotateBytes && (count > 0 || this.#size > 0)) break;
      count++;
    }
    return count;
  }

  /** @throws file system errors; nothing of the batch is in the file then */
  write(lines: readonly AuditLine[]): void {
    this.#append(chained(this.#position!, lines, this.#options.signer, this.#begins));
  }

  /** Signs what is not signed yet. @throws file system errors */
  sign(): void {
    const { signer } = this.#options;
    const last = signer === undefined ? undefined : closing(this.#position!, signer);
    if (last !== undefined) this.#append(last);
  }

  /** Gives the closed file the name of one that is full; the next `open` begins a new one. @throws file system errors */
  setAside(): void {
    // Somebody was faster: what has its name now is not ours to move.
    if (!this.isInPlace()) return;
    renameSync(this.path, asideName(this.path, this.#position!.seq - 1));
    this.#setAside = true;
    if (this.#options.durable) syncFolder(this.path);
  }

  /** One at a time. */
  sync(done: (error: Error | null) => void): void {
    const fd = this.#fd!;
    this.#dirty = false;
    this.#syncing = fd;
    fsync(fd, (error) => {
      this.#syncing = undefined;
      if (this.#fd !== fd) closeQuietly(fd);
      done(error);
    });
  }

  /** @returns why what was written may not be on the disk, where that was asked for */
  close(): Error | undefined {
    const fd = this.#fd;
    if (fd === undefined) return undefined;
    this.#fd = undefined;
    let failure: Error | undefined;
    try {
      if (this.#options.durable && this.#dirty) fsyncSync(fd);
      this.#dirty = false;
    } catch (error) {
      failure = error as Error;
    }
    if (this.#syncing !== fd) closeQuietly(fd);
    return failure;
  }

  #append({ text, next }: { text: string; next: Position }): void {
    const fd = this.#fd!;
    const bytes = Buffer.from(text);
    let done = 0;
    try {
      writeWhole(fd, bytes, (count) => {
        done = count;
      });
    } catch (error) {
      if (done > 0) this.#takeBack(fd);
      throw error;
    }
    this.#size += bytes.length;
    this.#position = next;
    // Once the answers of this batch are on their way: the hash is for the next batch.
    setImmediate(() => next.prev);
    this.#begins = undefined;
    this.#setAside = false;
    this.#dirty = true;
  }

  /** Where the chain stood before a file without any record. A kill may have come between setting aside and beginning. */
  #before(): { link: Link; begins: Begins | undefined } {
    const known = this.#position && { ...this.#position, prev: this.#position.prev };
    const link = known ?? linkBehind(asideFiles(this.path)) ?? FIRST;
    if (link.seq === FIRST.seq) return { link, begins: undefined };
    return { link, begins: known === undefined || this.#setAside ? "rotated" : "anew" };
  }

  #takeBack(fd: number): void {
    try {
      ftruncateSync(fd, this.#size);
    } catch {
      // Done when it is opened again.
      this.#fragment = true;
    }
  }

  #isSame(stats: Stats): boolean {
    return stats.ino === this.#opened?.ino && stats.dev === this.#opened.dev;
  }
}

/** Behind the last record of the newest of these files, whose own end may need mending, too. */
function linkBehind(files: readonly string[]): Link | undefined {
  for (const path of files.toReversed()) {
    const fd = openSync(path, APPEND);
    try {
      const { size } = fstatSync(fd);
      const tail = readTail(fd, size);
      if (tail.link !== undefined) return mend(fd, size, tail, tail.link, undefined).link;
    } finally {
      closeSync(fd);
    }
  }
  return undefined;
}
