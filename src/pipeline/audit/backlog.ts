/**
 * Records that could not be written, kept in order and written first when the file is back, so that what ran has its
 * record all the same. Bounded: with "allow" any number of requests may go on meanwhile.
 */
import type { AuditLine } from "./record.ts";

const MAX_LINES = 1_000;
const MAX_CHARS = 16 * 1024 * 1024;

export class Backlog {
  #lines: AuditLine[] = [];
  #chars = 0;
  #lost = 0;

  get lines(): readonly AuditLine[] {
    return this.#lines;
  }

  /** Records that found no room. */
  get lost(): number {
    return this.#lost;
  }

  keep(lines: readonly AuditLine[]): void {
    for (const line of lines) {
      if (this.#lines.length >= MAX_LINES || this.#chars + line.rest.length > MAX_CHARS) {
        this.#lost++;
        continue;
      }
      this.#lines.push(line);
      this.#chars += line.rest.length;
    }
  }

  /** The first ones are in the file. */
  drop(count: number): void {
    for (const { rest } of this.#lines.splice(0, count)) this.#chars -= rest.length;
  }

  clear(): void {
    this.#lines = [];
    this.#chars = 0;
    this.#lost = 0;
  }
}
