import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Frame } from "../../src/wire/frame.ts";
import { scan } from "../../src/wire/scan.ts";
import {
  type Edit,
  errorFrame,
  jsonText,
  notificationFrame,
  rawResultFrame,
  requestFrame,
  resultFrame,
  splice,
  withId,
} from "../../src/wire/splice.ts";

function frameOf(text: string | Buffer): Frame {
  const frame = scan(Buffer.from(text));
  if (!(frame instanceof Frame)) throw new Error(frame.reason);
  return frame;
}

test("splicing equals replacing in the string, in any order of the edits", () => {
  const piece = fc.record({
    keep: fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("k".repeat(5000), "K".repeat(20_000))),
    lose: fc.string({ maxLength: 10 }),
    text: fc.oneof(fc.string({ unit: "grapheme" }), fc.constant("t".repeat(6000))),
    asBuffer: fc.boolean(),
    order: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.string(), (pieces, rest) => {
      let source = "";
      let expected = "";
      const edits: (Edit & { order: number })[] = [];
      for (const { keep, lose, text, asBuffer, order } of pieces) {
        const start = Buffer.byteLength(source + keep);
        // Two insertions at one place keep their order, so only edits with something between may be shuffled.
        const stable = keep === "" || lose === "" ? edits.length : order;
        edits.push({
          start,
          end: start + Buffer.byteLength(lose),
          text: asBuffer ? Buffer.from(text) : text,
          order: stable,
        });
        source += keep + lose;
        expected += keep + text;
      }
      const shuffled = pieces.every(({ keep }) => keep !== "") ? edits.toSorted((a, b) => a.order - b.order) : edits;
      const chunks = splice(Buffer.from(source + rest), shuffled);
      expect(Buffer.concat(chunks).toString()).toBe(expected + rest);
      expect(chunks.every((chunk) => chunk.length > 0) || expected + rest === "").toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a small message leaves in one buffer that shares nothing with the one it came in", () => {
  const source = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}');
  const chunks = splice(source, []);
  source.fill(0);
  expect(chunks.map(String)).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}']);
});

test("the long stretches of a large message are not copied, and the short ones are joined", () => {
  const source = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"a":"${"x".repeat(100_000)}","b":1,"c":"${"y".repeat(100_000)}"}`,
  );
  const b = source.indexOf('"b"') + 4;
  const chunks = splice(source, [
    { start: 22, end: 23, text: "77" },
    { start: b, end: b + 1, text: "2" },
    { start: b + 1, end: b + 1, text: ',"d":3' },
  ]);
  expect(chunks.map((chunk) => chunk.buffer === source.buffer)).toEqual([false, true, false, true]);
  expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ id: 77, b: 2, d: 3 });
});

test("edits that overlap or lie outside are refused", () => {
  const source = Buffer.from("0123456789");
  for (const edits of [
    [
      [0, 2],
      [1, 3],
    ],
    [[2, 1]],
    [[5, 11]],
    [[-1, 1]],
  ] as [number, number][][]) {
    expect(() =>
      splice(
        source,
        edits.map(([start, end]) => ({ start, end, text: "x" })),
      ),
    ).toThrow(RangeError);
  }
});

test("a frame with another id is otherwise the same, byte for byte", () => {
  const text = '{ "jsonrpc" : "2.0", "id" : "old" , "result" : {"big":9223372036854775807,"a":1.0,"a":"\\u0041"} }';
  expect(Buffer.concat(withId(frameOf(text), "7")).toString()).toBe(text.replace('"old"', "7"));
  expect(() => withId(notificationFrame("m"), "7")).toThrow(RangeError);
});

/** Everything a frame of ours says must be what a scan of its bytes says. */
function checkOwn(frame: Frame): void {
  deepStrictEqual(scan(frame.bytes), frame);
}

test("a frame of our own says what a scan of its bytes would say", () => {
  const value = fc.jsonValue({ stringUnit: "binary" });
  const object = fc.dictionary(fc.string({ unit: "binary" }), value);
  fc.assert(
    fc.property(object, fc.string({ unit: "binary" }), fc.integer(), (body, text, code) => {
      checkOwn(resultFrame(body));
      checkOwn(requestFrame(text, body));
      checkOwn(requestFrame(text));
      checkOwn(notificationFrame(text, body));
      checkOwn(notificationFrame(text));
      checkOwn(errorFrame({ code, message: text, data: body }));
      checkOwn(errorFrame({ code, message: text }));
      checkOwn(rawResultFrame(JSON.stringify(body, undefined, 2)));
      checkOwn(rawResultFrame(Buffer.from(JSON.stringify(body))));
    }),
    { numRuns: 200 },
  );
});

test("frames of our own look like this", () => {
  expect(resultFrame({ a: 1 }).bytes.toString()).toBe('{"jsonrpc":"2.0","id":0,"result":{"a":1}}');
  expect(rawResultFrame('{"a":1.0,\n"b":[]}').bytes.toString()).toBe(
    '{"jsonrpc":"2.0","id":0,"result":{"a":1.0, "b":[]}}',
  );
  expect(errorFrame({ code: -1, message: "x" }).bytes.toString()).toBe(
    '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"x"}}',
  );
  expect(requestFrame("ping").bytes.toString()).toBe('{"jsonrpc":"2.0","id":0,"method":"ping"}');
  expect(notificationFrame("n", { x: "\u2028" }).bytes.toString()).toBe(
    '{"jsonrpc":"2.0","method":"n","params":{"x":"\u2028"}}',
  );
});

test("a value that has no JSON text is refused", () => {
  expect(jsonText({ a: undefined, b: "\ud800" })).toBe('{"b":"\\ud800"}');
  expect(() => jsonText(undefined)).toThrow(TypeError);
  expect(() => jsonText(() => {})).toThrow(TypeError);
});
