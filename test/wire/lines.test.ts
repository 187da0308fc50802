import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LineFramer } from "../../src/wire/lines.ts";

interface Seen {
  readonly lines: Buffer[];
  readonly lost: { head: string; length: number; tail: string }[];
}

function framer(maxBytes = 0): Seen & { framer: LineFramer } {
  const seen: Seen = { lines: [], lost: [] };
  const made = new LineFramer({
    maxBytes,
    line: (bytes) => seen.lines.push(bytes),
    tooLong: (head, length, tail) =>
      seen.lost.push({ head: head.toString("latin1"), length, tail: tail.toString("latin1") }),
  });
  return { ...seen, framer: made };
}

function run(chunks: readonly Buffer[], maxBytes = 0): { lines: string[]; lost: Seen["lost"] } {
  const { framer: made, lines, lost } = framer(maxBytes);
  for (const chunk of chunks) made.push(chunk);
  made.end();
  return { lines: lines.map((line) => line.toString("latin1")), lost };
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...places, bytes.length].map((place, i) => bytes.subarray(places[i - 1] ?? 0, place));
}

/** Lengths around every boundary: small chunks, blocks, heads. */
const length = fc.oneof(fc.nat({ max: 20 }), fc.constantFrom(1023, 1024, 1025, 16_383, 16_384, 16_385, 40_000, 70_000));
const stream = fc
  .array(fc.tuple(length, fc.constantFrom("\n", "\r\n", "\n\n", "\n \t\r\n")), { maxLength: 8 })
  .map((list) => list.map(([size, end], i) => String.fromCharCode(97 + i).repeat(size) + end).join(""));

test("every division of a stream into chunks gives the same lines", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 40 }), fc.boolean(), (text, places, open) => {
      const bytes = Buffer.from(open ? text.trimEnd() : text);
      const expected = bytes
        .toString()
        .split("\n")
        .filter((line) => line.trim() !== "");
      expect(run(cut(bytes, places)).lines).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("every division of a stream loses the same lines to the limit, with the same heads and tails", () => {
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.nat(), { maxLength: 40 }),
      fc.constantFrom(1, 10, 1024, 20_000, 65_536, 69_999),
      (text, places, maxBytes) => {
        const lines = text.split("\n");
        const lost = lines
          .filter((line) => line.length > maxBytes)
          .map((line) => ({ head: line.slice(0, 65_536), length: line.length, tail: line.slice(-256) }));
        const kept = lines.filter((line) => line.length <= maxBytes && line.trim() !== "");
        expect(run(cut(Buffer.from(text), places), maxBytes)).toEqual({ lines: kept, lost });
      },
    ),
    { numRuns: 300 },
  );
});

test("a stream that comes byte by byte gives the same lines", () => {
  const text = `{"a":"${"x".repeat(40_000)}"}\n{}\r\n\n{"b":1}`;
  const bytes = Buffer.from(text);
  const each = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  expect(run(each)).toEqual({ lines: text.split("\n").filter((line) => line !== ""), lost: [] });
  expect(run(each, 100).lost).toEqual([
    { head: text.split("\n")[0], length: 40_008, tail: text.split("\n")[0]!.slice(-256) },
  ]);
});

test("a line that came in one chunk is a part of the chunk", () => {
  const { framer: made, lines } = framer();
  const chunk = Buffer.from("{}\n{}\n");
  made.push(chunk);
  expect(lines.map((line) => [line.buffer === chunk.buffer, line.byteOffset - chunk.byteOffset])).toEqual([
    [true, 0],
    [true, 3],
  ]);
});

test("a line stays as it was when more arrives", () => {
  const { framer: made, lines } = framer();
  for (const piece of ["a", "b\nc", "d\n", "ef", "\n"]) made.push(Buffer.from(piece));
  expect(lines.map(String)).toEqual(["ab", "cd", "ef"]);
});

test("only LF ends a line: U+2028, U+2029, U+0085, VT, FF and a CR alone do not", () => {
  const text = Buffer.from('{"a":"\u2028\u2029\u0085\v\f\r"}\r');
  expect(run([text, Buffer.from("\n")]).lines).toEqual([text.toString("latin1")]);
});

test("a stream that ends in the middle of a line delivers what there is, once", () => {
  const { framer: made, lines } = framer();
  made.push(Buffer.from("{}\n{"));
  made.end();
  made.end();
  expect(lines.map(String)).toEqual(["{}", "{"]);
});

test("after a line that is too long the next one is whole", () => {
  const { lines, lost } = run([Buffer.from(`${"x".repeat(200_000)}`), Buffer.from("y\n{}\n")], 1000);
  expect(lines).toEqual(["{}"]);
  expect(lost.map((each) => [each.head.length, each.length, each.tail.at(-1)])).toEqual([[65_536, 200_001, "y"]]);
});

test("a line that is too long is not kept in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { framer: made, lost } = framer(1 << 20);
  const chunks: WeakRef<Buffer>[] = [];
  for (let i = 0; i < 256; i++) {
    const chunk = Buffer.alloc(65_536, "x");
    chunks.push(new WeakRef(chunk));
    made.push(chunk);
  }
  await new Promise(setImmediate);
  collect();
  expect(chunks.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(4);
  made.end();
  expect(lost.map((each) => each.length)).toEqual([256 * 65_536]);
});

test("the time for a line in small pieces grows with its length and no faster", () => {
  const piece = Buffer.from("x");
  const timeOf = (count: number): number => {
    const times = [1, 2, 3].map(() => {
      const { framer: made, lines } = framer();
      const from = performance.now();
      for (let i = 0; i < count; i++) made.push(piece);
      made.end();
      const time = performance.now() - from;
      expect(lines.map((line) => line.length)).toEqual([count]);
      return time;
    });
    return Math.min(...times);
  };
  timeOf(1 << 16);
  // 16 if linear; 256 if quadratic.
  expect(timeOf(1 << 20) / timeOf(1 << 16)).toBeLessThan(64);
});
