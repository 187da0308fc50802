/**
 * One writer for one audit file: two would break its chain. A lock file beside it names the process that writes; one
 * whose process is gone (killed, or the machine went down) is taken over. Node has no `flock`, which would need no file.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { makeFolder } from "./disk.ts";

export interface FileLock {
  readonly path: string;
  /** Is the lock file still there, and ours? Someone may have removed the folder. */
  readonly held: () => boolean;
  readonly release: () => void;
}

interface Holder {
  readonly pid: number;
  /** When the process started, in the system's own unit, where it can be known: process ids are used again. */
  readonly started: string | undefined;
}

/** Longer than anyone takes to write a lock file that it has made. */
const EMPTY_LOCK_MS = 5_000;
const ATTEMPTS = 5;
const heldHere = new Set<string>();

/** The file, or else "NAME.2.EXT", "NAME.3.EXT", … up to `count`, whichever nobody writes. @throws as `lockFor` */
export function lockFree(file: string, count: number, log: Log): { path: string; lock: FileLock | undefined } {
  for (let number = 1; ; number++) {
    const path = number === 1 ? file : file.replace(/(\.[^./\\]+)?$/, `.${number}$1`);
    try {
      return { path, lock: lockFor(path, log) };
    } catch (error) {
      if (!(error instanceof Fault) || number >= count) throw error;
    }
  }
}

/**
 * A folder that lets us write the file but not make another beside it goes without a lock: undefined.
 * @throws Fault AUDIT_UNAVAILABLE naming the process that writes the file; file system errors as they are
 */
export function lockFor(path: string, log: Log): FileLock | undefined {
  try {
    return acquire(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") throw error;
    log.warn({ file: path, code }, "no lock can be made beside the audit file; see that no other process writes it");
    return undefined;
  }
}

function acquire(file: string): FileLock {
  const path = `${file}.lock`;
  makeFolder(dirname(file));
  const own = JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (create(path, own)) {
      heldHere.add(path);
      return {
        path,
        held: () => isOurs(path, own),
        release() {
          heldHere.delete(path);
          if (isOurs(path, own)) rmSync(path, { force: true });
        },
      };
    }
    const content = read(path);
    if (content === undefined) continue;
    const holder = parse(content);
    if (holder === undefined ? !isOld(path) : isAlive(holder, path)) throw heldBy(file, path, holder?.pid);
    takeAway(path, content);
  }
  throw heldBy(file, path, undefined);
}

function create(path: string, content: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  try {
    writeSync(fd, content);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(fd);
  }
  return true;
}

/** By renaming, which only one of several can do; and only if it is still the lock that was found to be dead. */
function takeAway(path: string, content: string): void {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (read(aside) !== content && read(path) === undefined) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

function isAlive({ pid, started }: Holder, path: string): boolean {
  if (heldHere.has(path)) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const now = startOf(pid);
  if (now === undefined || started === undefined) return pid !== process.pid;
  return now === started;
}

/** Linux: boot and start time of a process, undefined for one that has ended. Elsewhere: undefined. */
function startOf(pid: number): string | undefined {
  try {
    // "pid (name) state ppid …": the name may hold anything, so what counts stands behind the last ")".
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : `${boot}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isOurs(path: string, own: string): boolean {
  try {
    return read(path) === own;
  } catch {
    return false;
  }
}

function parse(content: string): Holder | undefined {
  try {
    const { pid, started } = JSON.parse(content) as { pid?: unknown; started?: unknown };
    if (typeof pid !== "number") return undefined;
    return { pid, started: typeof started === "string" ? started : undefined };
  } catch {
    return undefined;
  }
}

function isOld(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined || Date.now() - stat.mtimeMs > EMPTY_LOCK_MS;
}

function heldBy(file: string, lock: string, pid: number | undefined): Fault {
  const who = pid === undefined ? "another process" : pid === process.pid ? "this process already" : `process ${pid}`;
  return new Fault(
    "AUDIT_UNAVAILABLE",
    `The audit file ${file} is being written by ${who}; two writers would break its hash chain. ` +
      `Give each process an "audit.file" of its own, or stop the other one (its lock is ${lock}).`,
    { retrySafe: true, data: pid === undefined ? {} : { pid } },
  );
}
