import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AuditConfig } from "../../src/config/types.ts";
import { GENESIS, lineHash } from "../../src/pipeline/audit/line.ts";
import { type AuditSink, openAudit, type SinkOptions } from "../../src/pipeline/audit/sink.ts";
import { auditConfig, firstBreak, keptLog, linesOf, recordsOf, tempDir } from "./support.ts";

function folder() {
  const dir = tempDir();
  onTestFinished(() => dir[Symbol.dispose]());
  return dir;
}

function open(file: string, more: Partial<AuditConfig> = {}, options: SinkOptions = {}, log = keptLog()): AuditSink {
  const sink = openAudit(auditConfig(file, more), log, { retryMs: 0, ...options });
  onTestFinished(() => sink.close());
  return sink;
}

const line = (n: number) => ({ time: "2026-01-01T00:00:00.000Z", rest: `"n":${n}` });
const numbers = (file: string) => recordsOf(file).map((record) => record["n"]);

async function writeAll(sink: AuditSink, from: number, to: number): Promise<void> {
  await Promise.all(Array.from({ length: to - from }, (_, i) => sink.append(line(from + i))));
}

describe("the chain", () => {
  test("every line has the hash of the line before, the first one 64 zeros; numbers begin at 1", async () => {
    const { file } = folder();
    const sink = open(file);
    await writeAll(sink, 0, 5);
    await writeAll(sink, 5, 8);
    expect(numbers(file)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const [first, second] = recordsOf(file);
    expect(first).toMatchObject({ seq: 1, prev: GENESIS });
    expect(second).toMatchObject({ seq: 2, prev: lineHash(linesOf(file)[0]!) });
    expect(Object.keys(first!)).toEqual(["time", "seq", "prev", "n"]);
    expect(firstBreak(file)).toBeUndefined();
  });

  test("goes on where the file ends", async () => {
    const { file } = folder();
    for (let run = 0; run < 3; run++) {
      const sink = open(file);
      await writeAll(sink, run * 2, run * 2 + 2);
      await sink.close();
    }
    expect(numbers(file)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(firstBreak(file)).toBeUndefined();
  });

  test("goes on behind a line of any length, also where nothing but its end is in the last block", async () => {
    for (const length of [1, 65_530, 65_536, 65_540, 200_000]) {
      const { file } = folder();
      const sink = open(file);
      await sink.append(line(0));
      await sink.append({ time: "t", rest: `"long":"${"é".repeat(length)}"` });
      await sink.close();
      await open(file).append(line(1));
      expect(firstBreak(file)).toBeUndefined();
      expect(recordsOf(file)).toHaveLength(3);
    }
  });

  test.each(["{", '{"time":"x","seq":3,"prev":"', "\u0000\u0000"])(
    "a last line that a crash has cut is sealed off by a record that says so: %j",
    async (cut) => {
      const { file } = folder();
      const first = open(file);
      await writeAll(first, 0, 2);
      await first.close();
      appendFileSync(file, cut);
      const again = open(file);
      await writeAll(again, 2, 4);
      await again.close();
      const lines = linesOf(file);
      expect(lines).toHaveLength(6);
      expect(lines[2]).toBe(cut);
      const sealed = {
        event: "sealed",
        lines: 1,
        bytes: cut.length,
        sha256: lineHash(cut),
        after: lineHash(lines[1]!),
      };
      expect(JSON.parse(lines[3]!)).toMatchObject({ seq: 3, prev: lineHash(cut), ...sealed });
      expect(JSON.parse(lines[4]!)).toMatchObject({ seq: 4, prev: lineHash(lines[3]!), n: 2 });
      expect(firstBreak(file)).toBeUndefined();
      await open(file).append(line(4));
      expect(firstBreak(file)).toBeUndefined();
    },
  );

  test("a last line that lacks nothing but its end counts as a record", async () => {
    const { file } = folder();
    const first = open(file);
    await writeAll(first, 0, 2);
    await first.close();
    writeFileSync(file, readFileSync(file, "utf8").trimEnd());
    await open(file).append(line(2));
    expect(recordsOf(file).map((record) => record.seq)).toEqual([1, 2, 3]);
    expect(firstBreak(file)).toBeUndefined();
  });

  test.each([
    ["changed", (lines: string[]) => (lines[1] = lines[1]!.replace('"n":1', '"n":9')), 3],
    ["removed", (lines: string[]) => lines.splice(1, 1), 2],
    ["swapped", (lines: string[]) => lines.splice(1, 2, lines[2]!, lines[1]!), 2],
    ["put in", (lines: string[]) => lines.splice(1, 0, lines[1]!), 3],
  ])("a line that was %s breaks it", async (_, change, at) => {
    const { file } = folder();
    await writeAll(open(file), 0, 5);
    const lines = linesOf(file);
    change(lines);
    writeFileSync(file, `${lines.join("\n")}\n`);
    expect(firstBreak(file)).toBe(at);
  });
});

describe("the file", () => {
  test("has mode 0600, its folder 0700; a wider mode is narrowed", async () => {
    const { path } = folder();
    const file = join(path, "new", "deep", "audit.jsonl");
    const sink = open(file);
    await sink.append(line(0));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "new")).mode & 0o777).toBe(0o700);
    expect(statSync(`${file}.lock`).mode & 0o777).toBe(0o600);
    await sink.close();
    chmodSync(file, 0o666);
    open(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("a record is in the file when append resolves; those of one turn are written together", async () => {
    const { file } = folder();
    const sink = open(file);
    const all = Promise.all([sink.append(line(0)), sink.append(line(1))]);
    const third = sink.append(line(2)).then(() => numbers(file));
    expect(linesOf(file)).toEqual([]);
    await all;
    expect(await third).toEqual([0, 1, 2]);
  });

  test("closing writes what is left, removes the lock, and may be done twice", async () => {
    const { file, path } = folder();
    const sink = open(file);
    const appended = sink.append(line(0));
    await Promise.all([sink.close(), sink.close()]);
    await appended;
    expect(numbers(file)).toEqual([0]);
    expect(readdirSync(path)).toEqual(["audit.jsonl"]);
    await expect(sink.append(line(1))).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE" });
    expect(sink.refusal()).toMatchObject({ code: "AUDIT_UNAVAILABLE" });
  });

  test("what is no file is refused, with the reason", () => {
    const { path } = folder();
    expect(() => open(path)).toThrow(/cannot be written: EISDIR/);
    const link = join(path, "null");
    symlinkSync("/dev/null", link);
    expect(() => open(link)).toThrow(/cannot be written: it is not a regular file/);
  });
});

describe('with durability "fsync"', () => {
  test("records are in the file and the chain when append resolves; those that come meanwhile form the next group", async () => {
    const { file } = folder();
    const sink = open(file, { durability: "fsync" });
    let done = 0;
    const all: Promise<unknown>[] = [];
    for (let n = 0; n < 50; n++) {
      all.push(sink.append(line(n)).then(() => done++));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(done).toBe(50);
    expect(firstBreak(file)).toBeUndefined();
    expect(numbers(file)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  test("closing waits for the last group", async () => {
    const { file } = folder();
    const sink = open(file, { durability: "fsync" });
    let done = 0;
    for (let n = 0; n < 5; n++) void sink.append(line(n)).then(() => done++);
    await sink.close();
    expect(done).toBe(5);
    expect(numbers(file)).toHaveLength(5);
  });
});

describe("while the file cannot be written", () => {
  /** A file stands where the folder was: neither the audit file nor its lock can be made. */
  function blocked() {
    const { path } = folder();
    const inside = join(path, "in");
    return {
      file: join(inside, "audit.jsonl"),
      block(): void {
        rmSync(inside, { recursive: true });
        writeFileSync(inside, "");
      },
      free: () => rmSync(inside),
    };
  }

  test('"deny" refuses the record and every next call, and recovers by itself with all records', async () => {
    const { file, block, free } = blocked();
    const log = keptLog();
    const sink = open(file, {}, {}, log);
    await sink.append(line(0));
    const tail = linesOf(file)[0]!;
    expect(sink.refusal()).toBeUndefined();
    block();
    await expect(sink.append(line(1))).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE" });
    expect(sink.refusal()).toMatchObject({ code: "AUDIT_UNAVAILABLE" });
    await expect(sink.append(line(2))).rejects.toThrow(/cannot be written: .*(ENOTDIR|EEXIST)/);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    free();
    expect(sink.refusal()).toBeUndefined();
    await sink.append(line(3));
    // The calls of 1 and 2 had run: their records come late, but they come, and the chain goes on from the lost file.
    expect(numbers(file)).toEqual([1, 2, 3]);
    expect(firstBreak(file, lineHash(tail), 2)).toBeUndefined();
    expect(log.lines.at(-1)).toMatchObject({ level: "warn", message: "audit file can be written again" });
  });

  test('"allow" goes on, says so loudly but not for each call, and recovers by itself', async () => {
    const { file, block, free } = blocked();
    const log = keptLog();
    const sink = open(file, { onFailure: "allow" }, {}, log);
    block();
    for (let n = 0; n < 1_100; n++) await sink.append(line(n));
    expect(sink.refusal()).toBeUndefined();
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(log.lines.find(({ level }) => level === "error")!.message).toMatch(/WITHOUT A RECORD/);
    free();
    await sink.append(line(5_000));
    // Up to 1000 records are made up for; how many are lost is said.
    expect(recordsOf(file)).toHaveLength(1_001);
    expect(firstBreak(file)).toBeUndefined();
    expect(log.lines.at(-1)).toMatchObject({ level: "warn", fields: { late: 1_000, lost: 100 } });
  });

  test("it is tried again at most once in the given time", async () => {
    const { file, block, free } = blocked();
    const sink = open(file, {}, { retryMs: 60 });
    block();
    await sleep(61);
    await expect(sink.append(line(1))).rejects.toThrow();
    free();
    expect(sink.refusal()).toMatchObject({ code: "AUDIT_UNAVAILABLE" });
    await expect.poll(() => sink.refusal(), { interval: 10 }).toBeUndefined();
    expect(numbers(file)).toEqual([1]);
  });

  test('at the start "deny" throws and "allow" goes on', async () => {
    const { file, block, free } = blocked();
    mkdirSync(join(file, ".."));
    block();
    expect(() => open(file)).toThrow(/cannot be written/);
    const sink = open(file, { onFailure: "allow" });
    await sink.append(line(0));
    free();
    await sink.append(line(1));
    expect(numbers(file)).toEqual([0, 1]);
  });

  test.each(["removed", "moved"])("a file that was %s is begun anew, and the chain shows it", async (what) => {
    const { file, path } = folder();
    const sink = open(file);
    await writeAll(sink, 0, 3);
    const last = linesOf(file)[2]!;
    if (what === "removed") rmSync(file);
    else renameSync(file, join(path, "old"));
    await writeAll(sink, 3, 5);
    expect(numbers(file)).toEqual([3, 4]);
    expect(firstBreak(file, lineHash(last), 4)).toBeUndefined();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("a removed folder is made anew, with its lock", async () => {
    const { path } = folder();
    const file = join(path, "in", "audit.jsonl");
    const sink = open(file, { durability: "fsync" });
    await sink.append(line(0));
    rmSync(join(path, "in"), { recursive: true });
    await sink.append(line(1));
    expect(numbers(file)).toEqual([1]);
    expect(existsSync(`${file}.lock`)).toBe(true);
  });
});

describe("the lock", () => {
  function writer(file: string): ChildProcess {
    const child = spawn(
      process.execPath,
      ["--import", "tsx", fileURLToPath(new URL("./audit-writer.ts", import.meta.url)), file],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  test("a second writer is refused, naming the process; after a kill the file is taken over, unbroken, with all records", async () => {
    const { file, path } = folder();
    // At most one line of a run is no record: the one that the kill has cut.
    const whole = () => linesOf(file).filter((text) => /"x":"y+"\}$|"n":-1\}$/.test(text));
    for (let round = 0; round < 3; round++) {
      const before = round === 0 ? 0 : whole().length;
      const child = writer(file);
      let said = 0;
      const lines = createInterface({ input: child.stdout! });
      lines.on("line", (text) => {
        said = Number(text);
      });
      await once(lines, "line");
      expect(() => open(file)).toThrow(new RegExp(`written by process ${child.pid}`));
      const beside = open(file, {}, { whenHeld: "beside" });
      expect(beside.file).toBe(join(path, "audit.2.jsonl"));
      await beside.close();
      await sleep(20 + round * 13);
      child.kill("SIGKILL");
      await once(child, "close");
      expect(existsSync(`${file}.lock`)).toBe(true);
      const sink = open(file);
      await sink.append(line(-1));
      await sink.close();
      expect(firstBreak(file)).toBeUndefined();
      const sealed = linesOf(file).filter((text) => text.includes('"event":"sealed"')).length;
      expect(linesOf(file).length - whole().length).toBe(2 * sealed);
      expect(sealed).toBeLessThanOrEqual(round + 1);
      expect(whole().length - before - 1).toBeGreaterThanOrEqual(said);
    }
  });

  test("the same process cannot write it twice", () => {
    const { file } = folder();
    open(file);
    expect(() => open(file)).toThrow(/written by this process already/);
  });

  test.each([
    ["of a process that is gone", JSON.stringify({ pid: 2 ** 22 + 1, started: "x" })],
    ["of an earlier process with our id", JSON.stringify({ pid: process.pid, started: "long ago" })],
  ])("a lock %s is taken over", (_, content) => {
    const { file, path } = folder();
    writeFileSync(`${file}.lock`, content);
    open(file);
    expect(readdirSync(path).sort()).toEqual(["audit.jsonl", "audit.jsonl.lock"]);
  });

  test("a lock that is being made right now is left alone", () => {
    const { file } = folder();
    writeFileSync(`${file}.lock`, "");
    expect(() => open(file)).toThrow(/another process/);
  });
});

test("without anything to say the log stays silent", async () => {
  const { file } = folder();
  const log = keptLog();
  await open(file, {}, {}, log).append(line(0));
  expect(log.lines).toEqual([]);
});
