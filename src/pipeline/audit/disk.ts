/** File system calls that the audit file needs whole. */
import { closeSync, constants, existsSync, fsyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** @throws file system errors; `written` says how much of it is in the file */
export function writeWhole(fd: number, bytes: Buffer, written: (count: number) => void = () => {}): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done);
    written(done);
  }
}

/**
 * A folder and what is missing above it, mode 0700. Step by step: Node's own `recursive` never returns where a parent can
 * be seen but not be made in (below /proc).
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** So that a name that was given or taken is on the disk, too; where folders cannot be synced, that is seen to already. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(dirname(path), constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EINVAL" && code !== "ENOTSUP") throw error;
  } finally {
    closeSync(fd);
  }
}

export function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // What was to be on the disk has been seen to by fsync; there is nothing more to do about it.
  }
}
