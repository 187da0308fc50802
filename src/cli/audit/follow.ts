/**
 * What is written to an audit file from now on, across rotation. The file is looked at five times a second: watchers of
 * the system miss changes on some file systems, and this costs next to nothing.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { asideFiles } from "../../pipeline/audit/set.ts";
import { endOfLines } from "./last.ts";

const LF = 0x0a;
const BLOCK = 262_144;

export class Follower {
  readonly #path: string;
  /** undefined while there is no file. */
  #fd: number | undefined;
  #ino = 0;
  #position = 0;
  #rest: Buffer = Buffer.alloc(0);

  /** Begins behind the last whole line that is there. */
  constructor(path: string) {
    this.#path = path;
    this.#open(path);
    if (this.#fd !== undefined) this.#position = endOfLines(this.#fd, fstatSync(this.#fd).size);
  }

  get fd(): number | undefined {
    return this.#fd;
  }

  get ino(): number {
    return this.#ino;
  }

  /** Where reading goes on: what stands before is for others to show. */
  get position(): number {
    return this.#position;
  }

  /** Whole lines that have come since. @throws file system errors */
  poll(): Buffer[] {
    const lines = this.#drain();
    // The writer closes a file before it is renamed: one that has another name now gets no more lines.
    while (this.#fd === undefined || statSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#ino) {
      lines.push(...this.#drain());
      if (!this.#next()) break;
      lines.push(...this.#drain());
    }
    return lines;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Opens the file after this one: one that was set aside since, or the one that is written. */
  #next(): boolean {
    const aside = asideFiles(this.#path);
    const at = aside.findIndex((path) => statSync(path, { throwIfNoEntry: false })?.ino === this.#ino);
    const next = at < 0 ? this.#path : (aside[at + 1] ?? this.#path);
    const { ino } = statSync(next, { throwIfNoEntry: false }) ?? {};
    if (ino === undefined || (this.#fd !== undefined && ino === this.#ino)) return false;
    this.close();
    this.#rest = Buffer.alloc(0);
    this.#position = 0;
    this.#open(next);
    return this.#fd !== undefined;
  }

  #open(path: string): void {
    try {
      this.#fd = openSync(path, "r");
      this.#ino = fstatSync(this.#fd).ino;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }

  #drain(): Buffer[] {
    const lines: Buffer[] = [];
    if (this.#fd === undefined) return lines;
    // Somebody has emptied it in place.
    if (fstatSync(this.#fd).size < this.#position) {
      this.#position = 0;
      this.#rest = Buffer.alloc(0);
    }
    for (;;) {
      const block = Buffer.allocUnsafe(BLOCK);
      const count = readSync(this.#fd, block, 0, BLOCK, this.#position);
      if (count === 0) return lines;
      this.#position += count;
      let bytes: Buffer = Buffer.concat([this.#rest, block.subarray(0, count)]);
      for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF)) {
        lines.push(bytes.subarray(0, at));
        bytes = bytes.subarray(at + 1);
      }
      this.#rest = bytes;
    }
  }
}
