/** A disk that fills up in the middle of a line, and fsyncs that fail: file system calls that can be made to fail. */
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { lineHash } from "../../src/pipeline/audit/line.ts";
import { asideFiles, setOf } from "../../src/pipeline/audit/set.ts";
import { openAudit } from "../../src/pipeline/audit/sink.ts";
import { auditConfig, firstBreak, keptLog, linesOf, recordsOf, tempDir } from "./support.ts";

const disk = vi.hoisted(() => ({
  room: Number.POSITIVE_INFINITY,
  /** Bytes that one write takes at most. */
  step: Number.POSITIVE_INFINITY,
  truncates: true,
  syncs: true,
  renames: true,
  syncCount: 0,
  held: undefined as (() => void)[] | undefined,
}));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return {
    ...fs,
    writeSync: (fd: number, data: string | Buffer, offset = 0) => {
      const bytes = Buffer.from(data as string).subarray(offset);
      if (disk.room === 0) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      const some = bytes.subarray(0, Math.min(disk.room, disk.step));
      disk.room -= some.length;
      return fs.writeSync(fd, some);
    },
    ftruncateSync: (fd: number, length: number) => {
      if (!disk.truncates) throw new Error("EIO");
      fs.ftruncateSync(fd, length);
    },
    renameSync: (from: string, to: string) => {
      if (!disk.renames) throw new Error("EACCES: rename");
      fs.renameSync(from, to);
    },
    fsyncSync: (fd: number) => {
      if (!disk.syncs) throw new Error("EIO: fsync");
      fs.fsyncSync(fd);
    },
    fsync: (fd: number, done: (error: Error | null) => void) => {
      disk.syncCount++;
      const end = () => (disk.syncs ? fs.fsync(fd, done) : done(new Error("EIO: fsync")));
      if (disk.held === undefined) setImmediate(end);
      else disk.held.push(end);
    },
  };
});

afterEach(() => {
  Object.assign(disk, {
    room: Number.POSITIVE_INFINITY,
    step: Number.POSITIVE_INFINITY,
    truncates: true,
    syncs: true,
    renames: true,
    syncCount: 0,
    held: undefined,
  });
});

function open(more: Parameters<typeof auditConfig>[1] = {}, log = keptLog()) {
  const dir = tempDir();
  const sink = openAudit(auditConfig(dir.file, more), log, { retryMs: 0 });
  onTestFinished(async () => {
    disk.room = Number.POSITIVE_INFINITY;
    await sink.close();
    dir[Symbol.dispose]();
  });
  return { sink, file: dir.file };
}

const line = (n: number) => ({ time: "t", rest: `"n":${n},"x":"${"y".repeat(100)}"` });
const numbers = (file: string) => recordsOf(file).map((record) => record["n"]);

test.each([true, false])(
  "a line that found no room leaves nothing behind, and is made up for (truncate works: %s)",
  async (truncates) => {
    const { sink, file } = open();
    await sink.append(line(0));
    disk.room = 250;
    disk.truncates = truncates;
    const outcomes = await Promise.allSettled([1, 2, 3].map((n) => sink.append(line(n))));
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    if (truncates) expect(numbers(file)).toEqual([0]);
    // Still full: the record that waits is tried first, so no call goes out that could not be recorded.
    disk.truncates = true;
    disk.room = 0;
    expect(sink.refusal()).toMatchObject({ code: "AUDIT_UNAVAILABLE" });
    disk.room = Number.POSITIVE_INFINITY;
    expect(sink.refusal()).toBeUndefined();
    await sink.append(line(4));
    expect(numbers(file)).toEqual([0, 1, 2, 3, 4]);
    expect(firstBreak(file)).toBeUndefined();
  },
);

test("a write that takes only a part of the bytes is finished", async () => {
  const { sink, file } = open();
  disk.step = 7;
  await Promise.all([0, 1].map((n) => sink.append(line(n))));
  expect(numbers(file)).toEqual([0, 1]);
  expect(firstBreak(file)).toBeUndefined();
});

test("an fsync that fails refuses its records, which are in the file once and only once", async () => {
  const { sink, file } = open({ durability: "fsync" });
  await sink.append(line(0));
  disk.syncs = false;
  await expect(sink.append(line(1))).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE" });
  disk.syncs = true;
  await sink.append(line(2));
  expect(numbers(file)).toEqual([0, 1, 2]);
  expect(firstBreak(file)).toBeUndefined();
});

test("group commit: one fsync serves all that came while another ran, and nobody is told earlier", async () => {
  const { sink, file } = open({ durability: "fsync" });
  disk.held = [];
  const done: number[] = [];
  const append = (n: number) => sink.append(line(n)).then(() => done.push(n));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const all = [append(0)];
  await turn();
  for (let n = 1; n <= 20; n++) {
    all.push(append(n));
    await turn();
  }
  expect(disk.syncCount).toBe(1);
  expect(numbers(file)).toHaveLength(21);
  expect(done).toEqual([]);
  disk.held.shift()!();
  await all[0];
  await vi.waitFor(() => expect(disk.held).toHaveLength(1));
  expect(done).toEqual([0]);
  disk.held.shift()!();
  await Promise.all(all);
  expect(disk.syncCount).toBe(2);
  expect(firstBreak(file)).toBeUndefined();
  expect(recordsOf(file)[1]!.prev).toBe(lineHash(linesOf(file)[0]!));
});

test("a file that is lost while an fsync runs: those who wait for the next one are on the disk before they are told", async () => {
  const { sink, file } = open({ durability: "fsync" });
  disk.held = [];
  const first = sink.append(line(0));
  await vi.waitFor(() => expect(disk.held).toHaveLength(1));
  const second = sink.append(line(1));
  await new Promise((resolve) => setImmediate(resolve));
  disk.room = 0;
  await expect(sink.append(line(2))).rejects.toThrow(/ENOSPC/);
  await second;
  disk.room = Number.POSITIVE_INFINITY;
  const third = sink.append(line(3));
  disk.held.shift()!();
  await first;
  await vi.waitFor(() => expect(disk.held).toHaveLength(1));
  disk.held.shift()!();
  await third;
  disk.held = undefined;
  expect(numbers(file)).toEqual([0, 1, 2, 3]);
  expect(firstBreak(file)).toBeUndefined();
});

test.each(["write", "fsync"] as const)(
  "a disk that is full behind the seam of two files: what is in the first is answered, the rest is made up for (%s)",
  async (durability) => {
    const { sink, file } = open({ rotateBytes: 600, durability });
    disk.room = 600;
    const outcomes = await Promise.allSettled([0, 1, 2, 3, 4].map((n) => sink.append(line(n))));
    const first = asideFiles(file)[0]!;
    expect(numbers(first)).toEqual([0, 1]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "rejected",
    ]);
    disk.room = Number.POSITIVE_INFINITY;
    await sink.append(line(5));
    expect(setOf(file).flatMap(numbers)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(recordsOf(setOf(file)[1]!)[0]).toMatchObject({ begins: "rotated", seq: 3 });
  },
);

test("a full file that cannot be renamed grows on, the log says so, and no record is lost", async () => {
  const log = keptLog();
  const { sink, file } = open({ rotateBytes: 600 }, log);
  disk.renames = false;
  for (let n = 0; n < 6; n++) await sink.append(line(n));
  expect(numbers(file)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(firstBreak(file)).toBeUndefined();
  expect(log.lines).toMatchObject([
    { level: "error", message: "the full audit file cannot be set aside: it grows on" },
  ]);
});
