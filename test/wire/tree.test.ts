import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readTree, type Scalar, TreeFault } from "../../src/wire/tree.ts";

type Value = Scalar | Value[] | Map<string, Value>;
const shapes = { list: (items: Value[]): Value => items, map: (members: Map<string, Value>): Value => members };
const bounds = { bytes: 1 << 20, values: 10_000, depth: 64 };

function read(text: string, more: Partial<typeof bounds> = {}): Value {
  const bytes = Buffer.from(`[1,${text},2]`);
  return readTree<Value>(bytes, 3, bytes.length - 3, shapes, { ...bounds, ...more });
}

/** As JSON.parse has it: whole numbers are exact here. */
function plain(value: Value): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const object: Record<string, unknown> = {};
  for (const [key, one] of value)
    Object.defineProperty(object, key, { value: plain(one), enumerable: true, configurable: true, writable: true });
  return object;
}

describe("a tree", () => {
  test("says what JSON.parse says, however the text is written", () => {
    const json = fc.oneof(
      fc.json({ stringUnit: "binary", maxDepth: 5 }),
      fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }).map((value) => JSON.stringify(value, undefined, 2)),
    );
    fc.assert(
      fc.property(json, (text) => {
        let value: Value;
        try {
          value = read(text);
        } catch (error) {
          expect(error).toBeInstanceOf(TreeFault);
          return;
        }
        // -0 is a whole number here, and those have no -0.
        expect(JSON.stringify(plain(value))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 1000 },
    );
  });

  test("has whole numbers exactly, up to 64 bits, and others as doubles", () => {
    expect(read("[9007199254740993, -9223372036854775808, 9223372036854775807]")).toEqual([
      9007199254740993n,
      -9223372036854775808n,
      9223372036854775807n,
    ]);
    expect(read("[9223372036854775808, 1.0, 1e2, -0.5, 18446744073709551616]")).toEqual([
      2 ** 63,
      1,
      100,
      -0.5,
      2 ** 64,
    ]);
  });

  test("keeps __proto__ and constructor as keys like any other", () => {
    const map = read('{"__proto__":{"a":1},"constructor":null}') as Map<string, Value>;
    expect([...map.keys()]).toEqual(["__proto__", "constructor"]);
    expect((map.get("__proto__") as Map<string, Value>).get("a")).toBe(1n);
  });

  test.each(['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[[{"b":{"x":[{"q":0,"r":1,"q":0}]}}]]', '{"":1,"":2}'])(
    "is refused where a member stands twice, at any depth and however it is escaped: %s",
    (text) => {
      expect(() => read(text)).toThrow(/stands twice/);
    },
  );

  test("is refused out of bounds, and the reason holds nothing of the text", () => {
    expect(() => read('"secret"', { bytes: 4 })).toThrow("more than 4 bytes");
    expect(() => read("[1,2,3,4]", { values: 4 })).toThrow("more than 4 values");
    expect(() => read("[".repeat(65) + "]".repeat(65))).toThrow("nested deeper than 64 levels");
    expect(read("[".repeat(64) + "]".repeat(64))).toBeDefined();
  });

  test("is read in linear time: many strings behind one another and one backslash at the end", () => {
    const text = JSON.stringify([...Array.from({ length: 100_000 }, (_, i) => `s${i}`), "\\"]);
    const since = performance.now();
    expect(read(text, { bytes: 1 << 24, values: 200_000 })).toHaveLength(100_001);
    expect(performance.now() - since).toBeLessThan(2000);
  });
});
