/**
 * Group commit: records that were written while an fsync ran wait for the next one, and one fsync serves them all. With
 * durability "write" there is nothing to wait for.
 */
import type { Fault } from "../../errors.ts";
import type { AuditFile } from "./file.ts";
import type { AuditLine } from "./record.ts";

/** A record and whoever waits for it. */
export interface Entry {
  readonly line: AuditLine;
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
}

export class GroupCommit {
  readonly #file: AuditFile;
  readonly #onFailure: (error: Error, group: readonly Entry[]) => void;
  /** Written, waiting for an fsync. */
  #waiting: Entry[] = [];
  #running = false;
  #idle: (() => void) | undefined;

  /** `onFailure`: the group is in the file, perhaps not on the disk: not written again, but nobody may rely on it. */
  constructor(file: AuditFile, onFailure: (error: Error, group: readonly Entry[]) => void) {
    this.#file = file;
    this.#onFailure = onFailure;
  }

  /** Of records that have just been written. */
  add(entries: readonly Entry[]): void {
    this.#waiting.push(...entries);
    this.#sync();
  }

  /** What waits, when the file is closed: that has synced it, or says why not. */
  take(): readonly Entry[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  async finished(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #sync(): void {
    if (this.#running || this.#waiting.length === 0) return;
    const group = this.take();
    this.#running = true;
    this.#file.sync((error) => {
      this.#running = false;
      if (error === null) for (const entry of group) entry.resolve();
      else this.#onFailure(error, group);
      this.#sync();
      if (!this.#running) this.#idle?.();
    });
  }
}
