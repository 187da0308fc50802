import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { GENESIS, lineHash } from "../../src/pipeline/audit/line.ts";
import { asideName, inOrder, setOf } from "../../src/pipeline/audit/set.ts";
import { folder, keys, line, linesOfSet, numbersOfSet, open, run, upTo, verify, writeEach } from "./audit-support.ts";
import { firstBreak, linesOf, recordsOf } from "./support.ts";

const rotateBytes = 1_000;

test("a full file is set aside with the number of its last record; the next begins with the hash of its last line", async () => {
  const { file } = folder();
  const sink = open(file, { rotateBytes });
  await writeEach(sink, 0, 10);
  const [first, second] = setOf(file);
  expect(basename(first!)).toBe(`audit.jsonl.${String(recordsOf(first!).length).padStart(12, "0")}`);
  for (const path of setOf(file)) {
    expect(statSync(path).size).toBeLessThanOrEqual(rotateBytes);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  expect(recordsOf(first!)[0]).toMatchObject({ seq: 1, prev: GENESIS });
  expect(recordsOf(first!)[0]).not.toHaveProperty("begins");
  expect(recordsOf(second!)[0]).toMatchObject({
    begins: "rotated",
    seq: recordsOf(first!).length + 1,
    prev: lineHash(linesOf(first!).at(-1)!),
  });
  expect(recordsOf(second!)[1]).not.toHaveProperty("begins");
});

test.each(["write", "fsync"] as const)(
  "no record is lost or doubled at the seam, with many in flight (%s)",
  async (durability) => {
    const { file } = folder();
    const sink = open(file, { rotateBytes, durability });
    for (let round = 0; round < 10; round++) {
      await Promise.all(upTo(7).map((n) => sink.append(line(round * 7 + n))));
    }
    await sink.close();
    expect(setOf(file).length).toBeGreaterThan(10);
    for (const path of setOf(file)) expect(statSync(path).size).toBeLessThanOrEqual(rotateBytes);
    expect(numbersOfSet(file)).toEqual(upTo(70));
    expect(verify(file)).toMatchObject({ problem: undefined, notes: [], first: 1, last: 70 });
  },
);

test("a set sorts in the order of the chain, and a file goes on where the last run ended", async () => {
  const { file, path } = folder();
  for (let n = 0; n < 12; n += 4) await run(file, n, n + 4, { rotateBytes: 400 });
  expect(setOf(file)).toEqual(
    readdirSync(path)
      .sort()
      .map((name) => `${path}/${name}`)
      .filter((name) => name !== file)
      .concat(file),
  );
  expect(numbersOfSet(file)).toEqual(upTo(12));
  expect(inOrder([`${file}.999999999999`, file, `${file}.1000000000000`, `${file}.999999999999-2`])).toEqual([
    `${file}.999999999999`,
    `${file}.999999999999-2`,
    `${file}.1000000000000`,
    file,
  ]);
});

test.each<[string, (file: string) => void]>([
  ["before the new file was made", () => {}],
  ["before the new file had a line", (file) => writeFileSync(file, "")],
  ["in its first line", (file) => writeFileSync(file, '{"time":"2026-01-01T00:00:00.000Z","seq":5,"pr')],
])("killed between setting aside and beginning, %s: the chain goes on", async (_, leave) => {
  const { file } = folder();
  await run(file, 0, 4);
  renameSync(file, asideName(file, 4));
  leave(file);
  await run(file, 4, 6, { rotateBytes: 100_000 });
  const first = recordsOf(asideName(file, 4).replace("-2", ""));
  const record = linesOf(file).find((text) => text.endsWith("}"))!;
  expect(JSON.parse(record)).toMatchObject({ seq: first.length + 1, begins: "rotated" });
  const report = verify(file);
  expect(report.problem).toBeUndefined();
  expect(report.notes.length).toBe(readFileSync(file, "utf8").includes("sealed") ? 1 : 0);
});

test("a file that was set aside and whose end was torn by a power cut is mended before the chain goes on", async () => {
  const { file } = folder();
  await run(file, 0, 4);
  renameSync(file, asideName(file, 4));
  const [aside] = setOf(file);
  appendFileSync(aside!, '{"time":"2026-01-01T00:00:00.000Z","se');
  await run(file, 4, 6);
  expect(recordsOf(file).map(({ seq }) => seq)).toEqual([6, 7]);
  expect(verify(file)).toMatchObject({ problem: undefined, notes: [{ file: aside, line: 5 }] });
});

test("a name that is taken already is not overwritten", async () => {
  const { file } = folder();
  writeFileSync(`${file}.000000000003`, "somebody's\n");
  const sink = open(file, { rotateBytes: 700 });
  await writeEach(sink, 0, 5);
  expect(readFileSync(`${file}.000000000003`, "utf8")).toBe("somebody's\n");
  expect(linesOf(`${file}.000000000003-2`)).toHaveLength(3);
});

test("processes that write beside each other have a chain each, and rotate each their own", async () => {
  const { file, path } = folder();
  const first = open(file, { rotateBytes });
  const second = open(file, { rotateBytes }, { whenHeld: "beside" });
  for (let n = 0; n < 10; n++) await Promise.all([first.append(line(n)), second.append(line(n))]);
  await first.close();
  await second.close();
  expect(second.file).toBe(`${path}/audit.2.jsonl`);
  for (const base of [file, second.file]) {
    expect(setOf(base).length).toBeGreaterThan(1);
    expect(numbersOfSet(base)).toEqual(upTo(10));
    expect(verify(base)).toMatchObject({ problem: undefined, first: 1 });
  }
});

test("a file that was removed while it was written is begun anew, is set aside in its turn, and is told as what it is", async () => {
  const { file } = folder();
  const sink = open(file, { rotateBytes });
  await writeEach(sink, 0, 9);
  const lost = recordsOf(file).map(({ seq }) => seq);
  rmSync(file);
  await writeEach(sink, 9, 18);
  await sink.close();
  const { problem, notes } = verify(file);
  expect(problem).toBeUndefined();
  expect(notes).toHaveLength(1);
  expect(notes[0]!.what).toMatch(
    new RegExp(`begins with record ${lost.at(-1)! + 1}: .* gone while it was written, with records? ${lost[0]}`),
  );
});

test("a file that was put in the place of the one that is written breaks the chain, and the log says so", async () => {
  const { file } = folder();
  const sink = open(file);
  await writeEach(sink, 0, 5);
  const short = linesOf(file).slice(0, 3);
  rmSync(file);
  writeFileSync(file, `${short.join("\n")}\n`);
  await writeEach(sink, 5, 7);
  expect(firstBreak(file)).toBe(4);
  expect(verify(file).problem).toMatchObject({
    file,
    line: 4,
    what: "records 4 to 5 should stand before it: removed, or swapped",
  });
  expect(linesOfSet(file)).toHaveLength(5);
});

test.each([false, true])(
  "a file that a power cut has shortened to any of its bytes is mended, and the chain goes on (signed: %s)",
  async (signed) => {
    const { path, file } = folder();
    const { keyFile, publicFile } = keys(path);
    const more = { rotateBytes: 1_500, checkpoints: signed ? { every: 3, keyFile } : undefined };
    await run(file, 0, 12, more);
    const files = setOf(file);
    expect(files.length).toBeGreaterThan(1);
    const whole = readFileSync(file);
    for (let bytes = 0; bytes <= whole.length; bytes += bytes < 40 ? 5 : 41) {
      writeFileSync(file, whole.subarray(0, bytes));
      await run(file, 100, 102, { ...more, rotateBytes: undefined });
      const report = verify(file, signed ? publicFile : undefined);
      expect(report.problem, `${bytes} bytes`).toBeUndefined();
      const cut = whole[bytes - 1] !== 10 && bytes > 0 && whole[bytes] !== 10;
      expect(
        report.notes.filter(({ what }) => what.includes("sealed off")),
        `${bytes} bytes`,
      ).toHaveLength(cut ? 1 : 0);
      const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
      for (const line of whole.subarray(0, bytes).toString().split("\n").slice(0, -1)) expect(lines).toContain(line);
      expect(lines.filter((line) => line.includes('"n":100,'))).toHaveLength(1);
    }
  },
);
