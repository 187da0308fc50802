import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { lineHash } from "../../src/pipeline/audit/line.ts";
import { setOf } from "../../src/pipeline/audit/set.ts";
import { change, folder, found, keys, linesOfSet, open, run, upTo, verify, writeEach } from "./audit-support.ts";
import { linesOf } from "./support.ts";

describe("checkpoints", () => {
  async function signed(every = 4, count = 10) {
    const { path, file } = folder();
    const pair = keys(path);
    const checkpoints = { every, keyFile: pair.keyFile };
    await run(file, 0, count, { checkpoints });
    return { path, file, checkpoints, ...pair };
  }
  const events = (file: string) =>
    linesOfSet(file).flatMap((text, index) => (text.includes('"event":"checkpoint"') ? [index + 1] : []));

  test("stand where a process takes over, after every so many records, at the end of a file and of the process", async () => {
    const { file, checkpoints, publicFile } = await signed();
    expect(events(file)).toEqual([1, 6, 11, 14]);
    await run(file, 10, 12, { checkpoints });
    expect(events(file)).toEqual([1, 6, 11, 14, 15, 18]);
    expect(verify(file, publicFile)).toMatchObject({ problem: undefined, notes: [], checkpoints: 6, records: 18 });
    const rotated = folder();
    await run(rotated.file, 0, 10, { checkpoints, rotateBytes: 2_500 });
    for (const path of setOf(rotated.file)) {
      expect(linesOf(path).at(-1)).toContain('"event":"checkpoint"');
      expect(verify(path, publicFile).problem).toBeUndefined();
    }
  });

  test("find out a file that was written anew, in whole or from some line on", async () => {
    const { file, path, publicFile } = await signed();
    const stranger = keys(folder().path);
    const whole = readFileSync(file);
    const forged = async (keep: number, checkpoints?: { every: number; keyFile: string }) => {
      writeFileSync(file, keep === 0 ? "" : `${whole.toString().split("\n").slice(0, keep).join("\n")}\n`);
      await run(file, 100, 110, { checkpoints });
      return verify(file, publicFile).problem;
    };
    expect(verify(file, publicFile).problem).toBeUndefined();
    expect(await forged(0)).toMatchObject({ line: 1, what: "no record from here on is signed" });
    expect(await forged(6)).toMatchObject({ line: 7, what: expect.stringMatching(/not signed, longer than from one/) });
    expect(await forged(0, { every: 4, keyFile: stranger.keyFile })).toMatchObject({
      line: 1,
      what: expect.stringMatching(/signed with a key that was not given/),
    });
    // A process with the key that takes over a forged file does not vouch for it.
    await forged(0);
    await run(file, 0, 3, { checkpoints: { every: 4, keyFile: `${path}/key.pem` } });
    expect(verify(file, publicFile).problem).toMatchObject({
      line: 1,
      what: expect.stringMatching(/^records 1 to 10: from before/),
    });
  });

  test("a last line that was altered is found, and what is not signed yet is said", async () => {
    const { file, publicFile } = await signed();
    const bytes = readFileSync(file);
    const from = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    for (const offset of upTo(bytes.length - 1 - from)) {
      for (const mask of [1, 0x20]) {
        const altered = Buffer.from(bytes);
        altered[from + offset]! ^= mask;
        writeFileSync(file, altered);
        expect(found(verify(file, publicFile)), `byte ${offset}`).toBe(true);
      }
    }
    writeFileSync(file, bytes.subarray(0, from));
    expect(verify(file, publicFile)).toMatchObject({
      problem: undefined,
      notes: [{ line: 12, what: expect.stringMatching(/not signed yet$/) }],
    });
  });

  test("records of a process that was killed are not signed, and that is a note; the chain itself is checked without a key", async () => {
    const { file, checkpoints, publicFile } = await signed(4, 6);
    const killed = `${file}.copy`;
    const sink = open(killed, { checkpoints });
    await writeEach(sink, 0, 6);
    writeFileSync(file, readFileSync(killed));
    await run(file, 6, 8, { checkpoints });
    expect(verify(file, publicFile)).toMatchObject({
      problem: undefined,
      notes: [{ line: 7, what: "records 7 to 8: not signed; the process that wrote them did not end in order" }],
    });
    expect(verify(file)).toMatchObject({
      problem: undefined,
      notes: [{ what: "4 signed checkpoints were not checked: no public key was given" }],
    });
  });

  test("an end that was cut off is found by a record that must be there", async () => {
    const { file } = folder();
    await run(file, 0, 6);
    const contains = { seq: 6, hash: lineHash(linesOf(file)[5]!) };
    expect(verify(file, undefined, contains).problem).toBeUndefined();
    change(file, (lines) => lines.pop());
    expect(verify(file, undefined, contains).problem).toMatchObject({
      line: 5,
      what: expect.stringMatching(/^record 6 is not there/),
    });
    await run(file, 6, 7);
    expect(verify(file, undefined, contains).problem).toMatchObject({
      line: 6,
      what: expect.stringMatching(/^is another line/),
    });
  });

  test("a signing key that is none is refused with the reason", async () => {
    const { path, file } = folder();
    writeFileSync(`${path}/key.pem`, "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n");
    expect(() => open(file, { checkpoints: { every: 1, keyFile: `${path}/key.pem` } })).toThrow(
      /holds no Ed25519 private key/,
    );
    expect(() => open(file, { checkpoints: { every: 1, keyFile: `${path}/none` } })).toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });
});
