/** The pin file as one process has it: re-read when it is another one, and first sights written together. */
import type { Log } from "../../log.ts";
import { isDamaged, type ListPins, type PinnedList, withList } from "./book.ts";
import { type PinFile, readPins, stampOf, updatePins } from "./store.ts";

/** Lists that come in together are written together. */
const WRITE_MS = 50;
/** The file is looked at no more often than this. */
const LOOK_MS = 20;

export class Keeper {
  readonly #path: string;
  readonly #log: Log;
  readonly #written: () => void;
  /** First sights that are not in the file yet. */
  readonly #first = new Map<string, Map<PinnedList, ListPins>>();
  #file: PinFile;
  #timer: NodeJS.Timeout | undefined;
  #trouble: string | undefined;
  #lookedAt = 0;

  /** `written`: first sights were written, or could not be; what another process had pinned meanwhile holds. */
  constructor(path: string, log: Log, written: () => void) {
    this.#path = path;
    this.#log = log;
    this.#written = written;
    this.#file = readPins(path);
    this.#complain();
  }

  /** Why nothing that is pinned of that server can be relied on. */
  damage(server: string): string | undefined {
    const pins = this.#file.book.get(server);
    return this.#file.damaged ?? (isDamaged(pins) ? pins.damaged : undefined);
  }

  /** Undefined for a list that was not pinned yet. */
  pins(server: string, list: PinnedList): ListPins | undefined {
    const pins = this.#file.book.get(server);
    const onDisk = pins === undefined || isDamaged(pins) ? undefined : pins.get(list);
    return onDisk ?? this.#first.get(server)?.get(list);
  }

  /** Why that list is pinned in this process only; undefined if it is not, or will be in a moment. */
  trouble(server: string, list: PinnedList): string | undefined {
    return this.#first.get(server)?.has(list) === true ? this.#trouble : undefined;
  }

  pinFirst(server: string, list: PinnedList, pins: ListPins): void {
    const lists = this.#first.get(server) ?? new Map<PinnedList, ListPins>();
    this.#first.set(server, lists.set(list, pins));
    this.#timer ??= setTimeout(() => this.#write(), WRITE_MS).unref();
  }

  /** Reads the file if it is another one. True if so. */
  refresh(): boolean {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_MS) return false;
    this.#lookedAt = now;
    if (stampOf(this.#path) === this.#file.stamp) return false;
    const file = readPins(this.#path);
    if (file.stamp === undefined) {
      this.#log.warn({ file: this.#path }, "the pin file is gone; what was pinned holds until the end of this process");
      this.#file = { ...this.#file, stamp: undefined };
      return false;
    }
    this.#file = file;
    this.#complain();
    return true;
  }

  /** Tries again what could not be written. */
  retry(): void {
    if (this.#trouble !== undefined) this.#write();
  }

  close(): void {
    if (this.#timer !== undefined) this.#write();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      this.#file = updatePins(this.#path, (onDisk) => {
        if (onDisk.damaged !== undefined) throw new Error(`it is damaged: ${onDisk.damaged}`);
        return this.#merged(onDisk);
      });
      if (this.#trouble !== undefined) this.#log.warn({ file: this.#path }, "the pin file can be written again");
      this.#trouble = undefined;
      this.#first.clear();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#trouble !== reason) {
        this.#log.error({ file: this.#path, reason }, "the pin file cannot be written; see README, Pinning");
      }
      this.#trouble = reason;
    }
    this.#written();
  }

  #merged({ book }: PinFile): PinFile["book"] {
    let merged = book;
    for (const [server, lists] of this.#first) {
      const theirs = merged.get(server);
      if (isDamaged(theirs)) continue;
      for (const [list, pins] of lists) if (theirs?.has(list) !== true) merged = withList(merged, server, list, pins);
    }
    return merged;
  }

  #complain(): void {
    const { damaged, book } = this.#file;
    const file = this.#path;
    if (damaged !== undefined) {
      const remedy = "repair it, or pin anew with: switchyard pin --accept-all";
      this.#log.error(
        { file, reason: damaged, remedy },
        "the pin file is damaged: where pin is enforce, nothing passes",
      );
    }
    for (const [server, pins] of book) {
      if (!isDamaged(pins)) continue;
      const remedy = `repair it, or pin anew with: switchyard pin --accept ${server}`;
      this.#log.error({ file, server, reason: pins.damaged, remedy }, "the pins of a server are damaged");
    }
  }
}
