import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { expect, test } from "vitest";
import { elements, findMember, firstDuplicate, members, singleLine } from "../../src/wire/values.ts";

const json = fc.oneof(
  fc.json({ stringUnit: "binary", maxDepth: 4 }),
  fc.jsonValue({ stringUnit: "binary", maxDepth: 4 }).map((value) => JSON.stringify(value, undefined, 2)),
  fc.constantFrom("-1.5e+7", '"\\\\"', '"\\""', `"${"x".repeat(100)}\\\\\\""`, "[ ]", "{ }", '{"[":"]"}'),
);
/** A JSON text in the middle of others, as values of a frame are. */
const placed = fc.record({ before: fc.constantFrom("", '{"a":', "["), after: fc.constantFrom("", "}", ",1]", "]}") });

test("every element of an array is found where it stands", () => {
  fc.assert(
    fc.property(fc.array(json), placed, fc.constantFrom("", " ", "\r\n\t"), (texts, { before, after }, space) => {
      const array = `[${space}${texts.join(`${space},${space}`)}${space}]`;
      const bytes = Buffer.from(before + array + after);
      const start = Buffer.byteLength(before);
      const spans = elements(bytes, start, start + Buffer.byteLength(array));
      const found: string[] = [];
      for (let i = 0; i < spans.length; i += 2) found.push(bytes.toString("utf8", spans[i], spans[i + 1]));
      deepStrictEqual(
        found.map((text) => JSON.parse(text)),
        JSON.parse(array),
      );
      deepStrictEqual(
        found,
        texts.map((text) => text.trim()),
      );
    }),
    { numRuns: 500 },
  );
});

test("every member of an object is found where it stands, and of twins the last", () => {
  const member = fc.tuple(fc.oneof(fc.constantFrom("name", "id", "__proto__"), fc.string({ unit: "binary" })), json);
  fc.assert(
    fc.property(fc.array(member), placed, fc.constantFrom("", " ", "\r\n\t"), (list, { before, after }, space) => {
      const object = `{${space}${list.map(([key, text]) => `${JSON.stringify(key)}${space}:${space}${text}`).join(`${space},${space}`)}${space}}`;
      const bytes = Buffer.from(before + object + after);
      const start = Buffer.byteLength(before);
      const end = start + Buffer.byteLength(object);
      const { keys, spans } = members(bytes, start, end);
      expect(keys).toEqual(list.map(([key]) => key));
      for (const [i, [, text]] of list.entries()) {
        expect(bytes.toString("utf8", spans[2 * i], spans[2 * i + 1])).toBe(text.trim());
      }
      for (const key of [...keys, "missing"]) {
        const span = findMember(bytes, start, end, key);
        const last = list.findLast(([each]) => each === key);
        expect(span && bytes.toString("utf8", ...span)).toBe(last?.[1].trim());
      }
    }),
    { numRuns: 500 },
  );
});

test("white space before and after the value is no harm", () => {
  const bytes = Buffer.from('\r\n {"a":1} \n');
  expect(findMember(bytes, 0, bytes.length, "a")).toEqual([8, 9]);
  expect(elements(Buffer.from(" [1]\n"), 0, 5)).toEqual([2, 3]);
});

test("a value of another kind has no members and no elements", () => {
  for (const text of ["{}", "[]", "null", "1", '"{\\"a\\":1}"', "[1]", '{"a":1}', ""]) {
    const bytes = Buffer.from(text);
    if (text !== '{"a":1}') {
      expect(members(bytes, 0, bytes.length)).toEqual({ keys: [], spans: [] });
      expect(findMember(bytes, 0, bytes.length, "a")).toBeUndefined();
    }
    if (text !== "[1]") expect(elements(bytes, 0, bytes.length)).toEqual([]);
  }
});

test("a duplicate is found however it is escaped, among the keys that are asked for and not inside of values", () => {
  const of = (text: string, ...keys: string[]): string | undefined =>
    firstDuplicate(Buffer.from(text), 0, Buffer.byteLength(text), new Set(keys));
  expect(of('{"progressToken":1,"a":{},"progress\\u0054oken":2}', "progressToken")).toBe("progressToken");
  expect(of('{"progressToken":1,"a":{"progressToken":2}}', "progressToken")).toBeUndefined();
  expect(of('{"a":1,"a":2,"b":1,"b":2}', "b")).toBe("b");
  expect(of('{"b":1,"a":1,"a":2,"b":2}', "a", "b")).toBe("a");
  expect(of("[1,1]", "1")).toBeUndefined();
});

test("a million open arrays are skipped without recursion", () => {
  const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
  const bytes = Buffer.from(`[${deep},{"a":${deep}}]`);
  const spans = elements(bytes, 0, bytes.length);
  expect(spans.length).toBe(4);
  expect(findMember(bytes, spans[2]!, spans[3]!, "a")?.[0]).toBe(spans[2]! + 5);
});

test.each(["\\\\", '\\"', `\\"${"x".repeat(70)}`, `${"\\\\".repeat(50)}\\"`])(
  "the time for a string of %j grows with its length and no faster",
  (unit) => {
    const text = (size: number): Buffer => Buffer.from(`["${unit.repeat(size / unit.length)}",1]`);
    const timeOf = (bytes: Buffer): number => {
      const times = [1, 2, 3].map(() => {
        const from = performance.now();
        expect(elements(bytes, 0, bytes.length).length).toBe(4);
        return performance.now() - from;
      });
      return Math.min(...times);
    };
    const small = text(1 << 19);
    const large = text(1 << 22);
    timeOf(large);
    // 8 if linear; 64 if quadratic.
    expect(timeOf(large) / timeOf(small)).toBeLessThan(30);
  },
);

test("a text without line breaks is its own single line, and one with them keeps its value and its length", () => {
  const line = Buffer.from('{"a":"\\n\u2028"}');
  expect(singleLine(line)).toBe(line);
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), fc.constantFrom("\n", "\r", "\r\n"), (value, lineBreak) => {
      const text = Buffer.from(JSON.stringify(value, undefined, 1).replaceAll("\n", lineBreak));
      const single = singleLine(text);
      expect(single.length).toBe(text.length);
      expect(single.includes("\n") || single.includes("\r")).toBe(false);
      deepStrictEqual(JSON.parse(single.toString()), JSON.parse(text.toString()));
    }),
  );
});
