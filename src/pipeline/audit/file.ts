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
  mkdirSync,
  openSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { chained, FIRST, type Link } from "./chain.ts";
import type { AuditLine } from "./record.ts";
import { readTail } from "./tail.ts";

const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;

export class AuditFile {
  readonly path: string;
  readonly #durable: boolean;
  #fd: number | undefined;
  #opened: Stats | undefined;
  /** Bytes of whole lines. */
  #size = 0;
  /** Kept while closed: a file that was removed is begun anew as the next part of the same chain. */
  #link: Link | undefined;
  /** A batch was written in part and could not be taken back. */
  #fragment = false;
  /** Written since the last fsync began. */
  #dirty = false;
  /** The descriptor that an fsync runs on: not to be closed, or its number could be given to another file meanwhile. */
  #syncing: number | undefined;

  /** `durable`: nothing is let go without an fsync. */
  constructor(path: string, durable: boolean) {
    this.path = path;
    this.#durable = durable;
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  /** @throws file system errors */
  open(): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const fd = openSync(this.path, FLAGS, 0o600);
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
      // Whatever a crash has left of a line becomes a line of its own, and the chain goes over it.
      if (tail.unfinished) size += writeSync(fd, "\n");
      this.#link = tail.link ?? this.#link ?? FIRST;
      this.#size = size;
      this.#fragment = false;
      this.#opened = stats;
      this.#fd = fd;
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

  /** @throws file system errors; nothing of the batch is in the file then */
  write(lines: readonly AuditLine[]): void {
    const fd = this.#fd!;
    const { text, next } = chained(this.#link!, lines);
    const bytes = Buffer.from(text);
    let done = 0;
    try {
      while (done < bytes.length) done += writeSync(fd, bytes, done);
    } catch (error) {
      if (done > 0) this.#takeBack(fd);
      throw error;
    }
    this.#size += bytes.length;
    this.#link = next;
    this.#dirty = true;
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
      if (this.#durable && this.#dirty) fsyncSync(fd);
      this.#dirty = false;
    } catch (error) {
      failure = error as Error;
    }
    if (this.#syncing !== fd) closeQuietly(fd);
    return failure;
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

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // What was to be on the disk has been seen to by fsync; there is nothing more to do about it.
  }
}
