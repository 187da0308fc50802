import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chainsOf } from "../../src/pipeline/audit/read.ts";
import { setOf } from "../../src/pipeline/audit/set.ts";
import { change, folder, found, keys, open, run, upTo, verify, writeEach } from "./audit-support.ts";
import { linesOf } from "./support.ts";

/** Three files of some lines each. */
async function chain(more: Parameters<typeof run>[3] = {}) {
  const { file, path } = folder();
  await run(file, 0, 11, { rotateBytes: 1_200, ...more });
  const files = setOf(file);
  expect(files).toHaveLength(3);
  return { file, path, files };
}

describe("verify names the first bad line and what is wrong with it", () => {
  test.each<[string, number, (lines: string[]) => void, RegExp]>([
    ["changed", 2, (lines) => (lines[1] = lines[1]!.replace('"n":', '"n":1')), /^was altered: the line after it/],
    ["changed into no record", 2, (lines) => (lines[1] = lines[1]!.slice(1)), /^is no record/],
    ["emptied", 2, (lines) => (lines[1] = ""), /^is no record/],
    ["removed", 2, (lines) => lines.splice(1, 1), /^record 2 should stand before it/],
    [
      "swapped with the next",
      2,
      (lines) => lines.splice(1, 2, lines[2]!, lines[1]!),
      /^record 2 should stand before it/,
    ],
    ["put in again", 3, (lines) => lines.splice(1, 0, lines[1]!), /^is record 2, and 3 is due/],
    ["put in from nowhere", 2, (lines) => lines.splice(1, 0, "{}"), /^is no record/],
    ["given another number", 2, (lines) => (lines[1] = lines[1]!.replace('"seq":2', '"seq":3')), /^record 2 should/],
    ["given another hash", 2, (lines) => (lines[1] = lines[1]!.replace(/"prev":"\w/, '"prev":"g')), /^is no record/],
    ["changed, the first of all", 1, (lines) => (lines[0] = lines[0]!.replace('"n":', '"n":1')), /^was altered/],
    ["removed, the first of all", 1, (lines) => lines.shift(), /^is record 2, and what stood before it/],
    ["changed, the last of the file", 4, (lines) => (lines[3] = lines[3]!.replace('"n":', '"n":1')), /^was altered/],
  ])("a line that was %s", async (_, at, how, what) => {
    const { file, files } = await chain();
    change(files[0]!, how);
    expect(verify(file).problem).toEqual({ file: files[0], line: at, what: expect.stringMatching(what) });
  });

  test("the hash of a line and the number of the next were changed: one of the two is named", async () => {
    const { file, files } = await chain();
    change(files[0]!, (lines) => {
      lines[1] = lines[1]!.replace(/"prev":"../, '"prev":"00');
      lines[2] = lines[2]!.replace('"n":', '"n":1');
    });
    expect(verify(file).problem).toMatchObject({ line: 2, what: expect.stringMatching(/does not follow/) });
  });

  test("a file that is missing in the middle, or at the place of another", async () => {
    const { file, files } = await chain();
    renameSync(files[1]!, `${file}.away`);
    expect(verify(file).problem).toMatchObject({ file, line: 1, what: expect.stringMatching(/a file is missing$/) });
    renameSync(files[0]!, files[1]!);
    expect(verify(file).problem).toMatchObject({ file, line: 1 });
  });

  test("a record that is sealed off was altered afterwards", async () => {
    const { file } = folder();
    await run(file, 0, 2);
    appendFileSync(file, '{"time":"20');
    await run(file, 2, 4);
    expect(verify(file).problem).toBeUndefined();
    change(file, (lines) => (lines[2] = '{"time":"21'));
    expect(verify(file).problem).toMatchObject({
      line: 3,
      what: expect.stringMatching(/^is not what line 4 seals off/),
    });
    change(file, (lines) => lines.splice(2, 1));
    expect(verify(file).problem).toMatchObject({ line: 3, what: "seals off a line that is not there" });
  });
});

describe("verify accepts, and tells as what they are,", () => {
  test("lines that crashes have cut, also one after the other, and one in the middle of its own seal", async () => {
    const { file } = folder();
    await run(file, 0, 2);
    appendFileSync(file, '{"time":"20');
    await run(file, 2, 3);
    // The seal itself was cut.
    change(file, (lines) => lines.splice(3));
    appendFileSync(file, '{"time":"2026-01-01T00:00:00.000Z","seq":3,"pr');
    await run(file, 3, 5);
    const { problem, notes } = verify(file);
    expect(problem).toBeUndefined();
    expect(notes).toEqual([{ file, line: 3, what: "was cut by a crash (58 bytes) and is sealed off" }]);
    expect(JSON.parse(linesOf(file)[4]!)).toMatchObject({ event: "sealed", lines: 2, bytes: 58, seq: 3 });
  });

  test("a last line that is being written", async () => {
    const { file } = folder();
    await run(file, 0, 2);
    appendFileSync(file, '{"time":"20');
    expect(verify(file)).toMatchObject({
      problem: undefined,
      notes: [{ line: 3, what: expect.stringMatching(/^is unfinished/) }],
    });
  });

  test("files whose forerunners have been taken away, and one alone", async () => {
    const { file, files } = await chain();
    expect(verify(files[1]!)).toMatchObject({
      files: [files[1]],
      problem: undefined,
      notes: [{ line: 1, what: "begins with record 6: the files before it were not given" }],
    });
    rmSync(files[0]!);
    expect(verify(file)).toMatchObject({ problem: undefined, notes: [{ file: files[1], line: 1 }], last: 11 });
  });

  test("an empty file, and a set that a process is writing and rotating", async () => {
    const { file } = folder();
    const sink = open(file, { rotateBytes: 1_200 });
    expect(verify(file)).toMatchObject({ problem: undefined, records: 0 });
    await writeEach(sink, 0, 9);
    // Set aside between the listing and the reading.
    const [names] = chainsOf([file]);
    await writeEach(sink, 9, 20);
    expect(names!.length).toBeLessThan(setOf(file).length);
    expect(verify(file)).toMatchObject({ problem: undefined, records: 20 });
  });

  test("several chains at once, each for itself, however they are named", async () => {
    const one = await chain();
    const other = `${one.path}/other.jsonl`;
    await run(other, 0, 2);
    expect(chainsOf([one.files[1]!, other, one.file, `${one.file}.lock`])).toEqual([one.files, [other]]);
    expect(chainsOf([one.files[1]!, one.files[0]!])).toEqual([[one.files[0], one.files[1]]]);
  });
});

describe("an alteration, removal, swap or insertion of any line or byte is found", () => {
  /** What is done to the bytes of a set; the last line of all is left out where a chain alone cannot protect it. */
  type Attack = (files: Buffer[], protect: boolean) => boolean;
  const spot = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const at = (share: number, count: number) => Math.floor(share * count);
  const linesIn = (bytes: Buffer) => bytes.toString("latin1").split("\n").slice(0, -1);
  const joined = (lines: string[]) => Buffer.from(lines.map((text) => `${text}\n`).join(""), "latin1");
  /** Bytes of a file that are protected: all, but for the last line of the last file, or its line end. */
  const room = (files: Buffer[], file: number, all: boolean) => {
    const bytes = files[file]!;
    if (file < files.length - 1) return bytes.length;
    return all ? bytes.length - 1 : bytes.lastIndexOf(10, bytes.length - 2) + 1;
  };
  const attacks: fc.Arbitrary<Attack> = fc.oneof(
    fc.tuple(spot, spot, fc.integer({ min: 1, max: 255 })).map(
      ([which, where, mask]): Attack =>
        (files, all) => {
          const file = at(which, files.length);
          const offset = at(where, room(files, file, all));
          files[file]![offset]! ^= mask;
          return true;
        },
    ),
    fc.tuple(spot, spot, fc.uint8Array({ minLength: 1, maxLength: 3 })).map(
      ([which, where, more]): Attack =>
        (files, all) => {
          const file = at(which, files.length);
          const offset = at(where, room(files, file, all));
          const bytes = files[file]!;
          files[file] = Buffer.concat([bytes.subarray(0, offset), more, bytes.subarray(offset)]);
          return true;
        },
    ),
    fc.tuple(spot, spot, fc.integer({ min: 1, max: 3 })).map(
      ([which, where, count]): Attack =>
        (files, all) => {
          const file = at(which, files.length);
          const offset = at(where, Math.max(1, room(files, file, all) - count));
          const bytes = files[file]!;
          files[file] = Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + count)]);
          return true;
        },
    ),
    fc.tuple(spot, spot).map(
      ([which, where]): Attack =>
        (files, all) => {
          const file = at(which, files.length);
          const lines = linesIn(files[file]!);
          const last = file === files.length - 1 && !all ? lines.length - 1 : lines.length;
          // What is left when the very last lines are gone is a chain, too.
          if (last === 0 || (file === files.length - 1 && lines.length === 1)) return false;
          const index = at(where, last);
          if (file === files.length - 1 && index === lines.length - 1) return false;
          lines.splice(index, 1);
          files[file] = joined(lines);
          return true;
        },
    ),
    fc.tuple(spot, spot, spot, spot).map(
      ([which, where, whichTo, whereTo]): Attack =>
        (files) => {
          const [file, to] = [at(which, files.length), at(whichTo, files.length)];
          const from = linesIn(files[file]!);
          const index = at(where, from.length);
          const target = file === to ? from : linesIn(files[to]!);
          const other = at(whereTo, target.length);
          if (from[index] === target[other]) return false;
          [from[index], target[other]] = [target[other]!, from[index]!];
          files[file] = joined(from);
          files[to] = joined(target);
          return true;
        },
    ),
    fc.tuple(spot, spot, spot, spot).map(
      ([which, where, whichTo, whereTo]): Attack =>
        (files) => {
          const line = linesIn(files[at(which, files.length)]!);
          const to = at(whichTo, files.length);
          const target = linesIn(files[to]!);
          target.splice(at(whereTo, target.length + 1), 0, line[at(where, line.length)]!);
          files[to] = joined(target);
          return true;
        },
    ),
  );

  test.each([
    ["without checkpoints, but for the very last line", false],
    ["with checkpoints, to the last byte", true],
  ])("%s", async (_, signed) => {
    const { path, file } = folder();
    const pair = keys(path);
    const checkpoints = signed ? { every: 3, keyFile: pair.keyFile } : undefined;
    const rotateBytes = 2_600;
    await run(file, 0, 8, { rotateBytes, checkpoints });
    appendFileSync(file, '{"time":"2026-01-01T00:00:00.000Z","seq":1');
    await run(file, 8, 30, { rotateBytes, checkpoints });
    const files = setOf(file);
    expect(files.length).toBeGreaterThan(2);
    const publicFile = signed ? pair.publicFile : undefined;
    expect(verify(file, publicFile).problem).toBeUndefined();
    const whole = files.map((one) => readFileSync(one));
    fc.assert(
      fc.property(attacks, (attack) => {
        const bytes = whole.map((one) => Buffer.from(one));
        if (!attack(bytes, signed) || bytes.every((one, index) => one.equals(whole[index]!))) return;
        for (const [index, one] of files.entries()) writeFileSync(one, bytes[index]!);
        expect(found(verify(file, publicFile))).toBe(true);
      }),
      { numRuns: 1_500 },
    );
  });
});

test("100,000 records are verified in less than 3 s", async () => {
  const { file } = folder();
  const sink = open(file, { rotateBytes: 20_000_000 });
  const rest = `"method":"tools/call","outcome":"ok","result":"${"lorem ipsum ".repeat(50)}"`;
  for (let n = 0; n < 1_000; n++) {
    await Promise.all(upTo(100).map(() => sink.append({ time: "2026-01-01T00:00:00.000Z", rest })));
  }
  await sink.close();
  const started = performance.now();
  expect(verify(file)).toMatchObject({ problem: undefined, records: 100_000 });
  expect(performance.now() - started).toBeLessThan(3_000);
});
