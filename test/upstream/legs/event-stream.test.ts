import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EventStreamParser } from "../../../src/upstream/legs/event-stream.ts";

interface Told {
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Our events with the last event id that holds for each, as the oracle tells them. */
function parse(chunks: readonly Buffer[], maxBytes = 0) {
  const events: Told[] = [];
  const oversize: { bytes: number; head: string; tail: string }[] = [];
  const retries: number[] = [];
  const ids: string[] = [];
  let id: string | undefined;
  const parser = new EventStreamParser({
    maxBytes,
    event: ({ type, data, oversize: over }) => {
      if (over === undefined) events.push({ type, data: data.toString("utf8"), id });
      else oversize.push({ bytes: over.bytes, head: data.toString("latin1"), tail: over.tail.toString("latin1") });
      id = undefined;
    },
    id: (value) => {
      id = value;
      ids.push(value);
    },
    retry: (ms) => retries.push(ms),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { events, oversize, retries, ids };
}

function oracle(text: string) {
  const events: Told[] = [];
  const retries: number[] = [];
  const parser = createParser({
    onEvent: ({ event, data, id }) => events.push({ type: event ?? "", data, id }),
    onRetry: (ms) => retries.push(ms),
    onError: () => {},
  });
  parser.feed(text);
  return { events, retries };
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const lineText = fc.oneof(
  fc.constantFrom(
    "data: a",
    "data:",
    "data",
    "data:  two",
    "data: é日本🎉",
    'data: {"id":1}',
    "event: message",
    "event:x",
    "event",
  ),
  fc.constantFrom(
    "id: 7",
    "id:",
    "id",
    "id: a\0b",
    "retry: 500",
    "retry: x",
    "retry:",
    ": comment",
    ":",
    "other: x",
    "otherlongfieldname: x",
  ),
  fc.string().map((text) => text.replace(/[\r\n\u0000\ufeff]/g, "")),
);

test("the same events as eventsource-parser, however the bytes are cut and the lines end", () => {
  const line = fc.tuple(
    fc.oneof({ weight: 3, arbitrary: lineText }, { weight: 2, arbitrary: fc.constant("") }),
    fc.constantFrom("\n", "\r\n"),
  );
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), (lines, places) => {
      const text = lines.map(([content, end]) => content + end).join("");
      const ours = parse(cut(Buffer.from(text), places));
      const theirs = oracle(text);
      expect(ours.events.map(({ type, data }) => ({ type, data }))).toEqual(
        theirs.events.map(({ type, data }) => ({ type, data })),
      );
      expect(ours.retries).toEqual(theirs.retries);
    }),
    { numRuns: 1000 },
  );
});

test("line ends, fields and a byte order mark as the standard wants them", () => {
  const text =
    "\ufeffdata: a\r\rdata: b\r\ndata: c\n\nevent: x\nid: 1\ndata\ndata:  d\n\nid: 2\n\n: c\n\ndata: unfinished\n";
  const bytes = Buffer.from(text);
  const expected = [
    { type: "", data: "a", id: undefined },
    { type: "", data: "b\nc", id: undefined },
    { type: "x", data: "\n d", id: "1" },
  ];
  for (const chunks of [[bytes], [...bytes].map((byte) => Buffer.from([byte]))]) {
    const { events, ids } = parse(chunks);
    expect(events).toEqual(expected);
    expect(ids).toEqual(["1", "2"]);
  }
});

test("data above the limit is told with its size and both ends, and the next event is whole", () => {
  const big = `{"result":{"text":"${"x".repeat(100_000)}"},"id":5}`;
  const many = Array.from({ length: 50 }, (_, i) => `data: ${String(i).padEnd(50, ".")}`).join("\n");
  const bytes = Buffer.from(`data: ${big}\n\n${many}\n\n: ${"c".repeat(20_000)}\ndata: small\n\n`);
  for (const size of [1, 7, 4096, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const { events, oversize } = parse(chunks, 1000);
    expect(events).toEqual([{ type: "", data: "small", id: undefined }]);
    expect(oversize.map((over) => over.bytes)).toEqual([big.length, 50 * 51 - 1]);
    expect(oversize[0]?.head.startsWith('{"result":{"text":"xxx')).toBe(true);
    expect(oversize[0]?.head.length).toBeLessThanOrEqual(4096);
    expect(oversize[0]?.tail.endsWith('"},"id":5}')).toBe(true);
    expect(oversize[1]?.head.startsWith("0....")).toBe(true);
  }
  expect(parse([bytes], big.length).events[0]?.data === big).toBe(true);
});

test("a data line of 16 MiB in small chunks costs linear time", () => {
  const chunk = Buffer.alloc(16 * 1024, "x");
  const start = performance.now();
  const chunks = [Buffer.from("data: "), ...Array.from({ length: 1024 }, () => chunk), Buffer.from("\n\n")];
  expect(parse(chunks).events[0]?.data.length).toBe(16 * 1024 * 1024);
  expect(performance.now() - start).toBeLessThan(2000);
});
