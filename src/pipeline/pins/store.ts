/**
 * The pin file: read, checked, and written whole or not at all, by one process at a time. Mode 0600. What is in it but
 * cannot be relied on is reported, never mended: only a person does that (`switchyard pin --accept`).
 */

import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { isObject } from "../../wire/objects.ts";
import {
  type Book,
  type Damaged,
  isDamaged,
  type ListPins,
  PINNED_LISTS,
  type Pin,
  type PinnedList,
  type ServerPins,
} from "./book.ts";
import { digestOf } from "./canonical.ts";

const VERSION = 1;
/** Nobody holds the lock longer than a few milliseconds. */
const STALE_LOCK_MS = 10_000;
const LOCK_WAIT_MS = 2_000;

/** `damaged`: nothing in the file can be relied on; `book` is empty then. */
export interface PinFile {
  readonly book: Book;
  readonly damaged: string | undefined;
  /** Tells whether the file is another one now; undefined if there is none. */
  readonly stamp: string | undefined;
}

/** Never throws: what cannot be read counts as damaged, but for a file that is not there. */
export function readPins(path: string): PinFile {
  const stamp = stampOf(path);
  try {
    return { ...parse(readFileSync(path, "utf8")), stamp };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return { book: new Map(), damaged: undefined, stamp: undefined };
    return { book: new Map(), damaged: error instanceof Error ? error.message : String(error), stamp };
  }
}

export function stampOf(path: string): string | undefined {
  try {
    const { ino, size, mtimeMs } = statSync(path);
    return `${ino}/${size}/${mtimeMs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "unreadable";
  }
}

/**
 * Reads the file anew, lets `change` make the new book of it, and writes that, unless it is the same one.
 * @throws what hinders it
 */
export function updatePins(path: string, change: (file: PinFile) => Book): PinFile {
  const target = followed(path);
  const release = lock(`${target}.lock`);
  try {
    const file = readPins(target);
    const book = change(file);
    if (book === file.book) return file;
    write(target, format(book));
    return { book, damaged: undefined, stamp: stampOf(target) };
  } finally {
    release();
  }
}

function parse(text: string): { book: Book; damaged: string | undefined } {
  const value = JSON.parse(text) as unknown;
  if (!isObject(value)) throw new Error("it is not an object");
  if (value["version"] !== VERSION)
    throw new Error(`its version is ${JSON.stringify(value["version"])}, not ${VERSION}`);
  const { servers } = value;
  if (!isObject(servers)) throw new Error('its "servers" is not an object');
  return { book: new Map(Object.entries(servers).map(([name, raw]) => [name, serverPins(raw)])), damaged: undefined };
}

function serverPins(raw: unknown): ServerPins | Damaged {
  const damaged = (reason: string): Damaged => ({ damaged: reason, raw });
  if (!isObject(raw)) return damaged("it is not an object");
  const lists = new Map<PinnedList, ListPins>();
  for (const [list, items] of Object.entries(raw)) {
    if (!isList(list)) return damaged(`${JSON.stringify(list)} is none of ${PINNED_LISTS.join(", ")}`);
    if (!isObject(items)) return damaged(`"${list}" is not an object`);
    const pins = new Map<string, Pin>();
    for (const [name, pin] of Object.entries(items)) {
      if (!isPin(pin)) return damaged(`the pin of ${list} ${JSON.stringify(name)} is not one`);
      if (digestOf(pin.text) !== pin.sha256)
        return damaged(`digest and text of ${list} ${JSON.stringify(name)} do not match`);
      pins.set(name, pin);
    }
    lists.set(list, pins);
  }
  return lists;
}

function format(book: Book): string {
  const servers = [...book].map(([server, pins]) => [
    server,
    isDamaged(pins)
      ? pins.raw
      : Object.fromEntries([...pins].map(([list, items]) => [list, Object.fromEntries(items)])),
  ]);
  return `${JSON.stringify({ version: VERSION, servers: Object.fromEntries(servers) as object }, null, 2)}\n`;
}

function write(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  // What a killed process of the same number left behind may have any mode.
  rmSync(draft, { force: true });
  const fd = openSync(draft, "wx", 0o600);
  try {
    try {
      for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Where the file is a link, what it points to is written. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function lock(path: string): () => void {
  const end = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      closeSync(openSync(path, "wx", 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    takeAwayStale(path);
    if (performance.now() > end) throw new Error(`another process holds ${path}; remove it if none does`);
    // Others write a few milliseconds at most, and seldom: at a first start, or when a person accepts a change.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
}

/** Of a process that was killed. By renaming, which only one can do; one that was taken in the meantime is put back. */
function takeAwayStale(path: string): void {
  const isStale = (file: string) => Date.now() - statSync(file).mtimeMs > STALE_LOCK_MS;
  const aside = `${path}.${process.pid}`;
  try {
    if (!isStale(path)) return;
    renameSync(path, aside);
    if (isStale(aside)) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function isList(key: string): key is PinnedList {
  return (PINNED_LISTS as readonly string[]).includes(key);
}

function isPin(value: unknown): value is Pin {
  return isObject(value) && typeof value["sha256"] === "string" && typeof value["text"] === "string";
}
