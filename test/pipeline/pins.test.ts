/** The pure parts of pinning, the file, and the judgement on lists as they come in. */
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PinMode } from "../../src/config/types.ts";
import { type Book, type ServerPins, withList } from "../../src/pipeline/pins/book.ts";
import { canonical, digestOf } from "../../src/pipeline/pins/canonical.ts";
import { compare, decided, type Offered } from "../../src/pipeline/pins/compare.ts";
import { differences, words } from "../../src/pipeline/pins/diff.ts";
import { type Deviation, Pins } from "../../src/pipeline/pins/pins.ts";
import { readPins, updatePins } from "../../src/pipeline/pins/store.ts";
import { keptLog, tempDir } from "./support.ts";

const pin = (value: unknown) => {
  const text = canonical(JSON.stringify(value));
  return { text, sha256: digestOf(text) };
};

describe("the canonical text", () => {
  /** The same value in another spelling: keys shuffled, blanks, escapes. */
  const respelled = (value: unknown, turn: number): string => {
    if (typeof value === "string") {
      return `"${value
        .split("")
        .map((c, i) =>
          i % 2 === turn % 2 ? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}` : JSON.stringify(c).slice(1, -1),
        )
        .join("")}"`;
    }
    if (Array.isArray(value)) return `[ ${value.map((one) => respelled(one, turn + 1)).join(" ,\t")} ]`;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const members = Object.entries(value).map(([key, one]) => `${respelled(key, turn)} : ${respelled(one, turn + 1)}`);
    return `{\n${(turn % 2 === 0 ? members : members.reverse()).join("\r\n,")}}`;
  };

  test("is the same for every spelling of one value, and says the same as the value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.nat(9), (value, turn) => {
        const json = JSON.parse(JSON.stringify(value)) as unknown;
        const text = canonical(JSON.stringify(json));
        expect(canonical(respelled(json, turn))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(json)));
        expect(canonical(text)).toBe(text);
      }),
    );
  });

  test("differs as soon as a value differs: words, order in arrays, numbers too large to be read", () => {
    const different = [
      '{"a":[1,2]}',
      '{"a":[2,1]}',
      '{"a":["1",2]}',
      '{"a":[1,2,null]}',
      '{"a":{"0":1,"1":2}}',
      '{"A":[1,2]}',
      '{"a":9223372036854775807}',
      '{"a":9223372036854775808}',
      '{"a":0.1}',
      '{"a":0.10000000000000001}',
      '{"a":1,"a":2}',
      '{"a":2,"a":1}',
      '{"a":"\\u200b"}',
      '{"a":""}',
    ];
    expect(new Set(different.map(canonical)).size).toBe(different.length);
    expect(canonical('{"b":-0.0,"a":1e2,"c":1.50}')).toBe('{"a":100,"b":0,"c":1.5}');
  });

  test("of something nested beyond sense is the text itself, in no time", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(canonical(` ${deep} `)).toBe(deep);
    expect(canonical('{"__proto__":{"b":1,"a":2},"constructor":3}')).toBe(
      '{"__proto__":{"a":2,"b":1},"constructor":3}',
    );
  });
});

describe("the difference", () => {
  test("of two texts has both of them in it", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", " ", "\n", "read", "write", "  "), { maxLength: 60 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const parts = words(before, after);
        const without = (op: string) =>
          parts
            .filter((part) => part.op !== op)
            .map((part) => part.text)
            .join("");
        expect(without("added")).toBe(before);
        expect(without("removed")).toBe(after);
      }),
    );
  });

  test("is told by member; what two texts of numbers hide is told by the text", () => {
    const found = differences(
      canonical('{"a":{"b":"x y","c":[1,2]},"gone":1}'),
      canonical('{"a":{"b":"x z","c":[1,2,3]}}'),
    );
    expect(found.map(({ path }) => path)).toEqual(["a.b", "a.c", "gone"]);
    expect(found[0]!.parts).toEqual([
      { op: "same", text: "x " },
      { op: "removed", text: "y" },
      { op: "added", text: "z" },
    ]);
    expect(differences('{"a":9223372036854775807}', '{"a":9223372036854775808}')).toHaveLength(1);
    expect(differences('{"a":1}', '{"a":1}')).toEqual([]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(differences('"x"', deep)).toHaveLength(1);
  });

  test("of very long texts ends in time", () => {
    const long = Array.from({ length: 30_000 }, (_, i) => `w${i}`).join(" ");
    const started = performance.now();
    words(long, long.split(" ").reverse().join(" "));
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe("the file", () => {
  const book: Book = withList(
    new Map(),
    "one",
    "tools",
    new Map([
      ["__proto__", pin({ a: 1 })],
      ["b", pin("x\u2028")],
    ]),
  );

  test("is read back as it was written, whole, with mode 0600 whatever it had", () => {
    using dir = tempDir();
    const file = `${dir.path}/pins.json`;
    writeFileSync(file, '{"version":1,"servers":{"two":{"tools":{}}}}', { mode: 0o644 });
    chmodSync(file, 0o644);
    updatePins(file, (before) => withList(before.book, "one", "tools", (book.get("one") as ServerPins).get("tools")!));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const read = readPins(file);
    expect(read.damaged).toBeUndefined();
    expect([...read.book.keys()].sort()).toEqual(["one", "two"]);
    expect(read.book.get("one")).toEqual(book.get("one"));
  });

  test("is written where a link points to, and by one at a time; a lock that was left behind is taken away", () => {
    using dir = tempDir();
    mkdirSync(`${dir.path}/there`);
    const real = `${dir.path}/there/pins.json`;
    const link = `${dir.path}/pins.json`;
    writeFileSync(real, '{"version":1,"servers":{}}');
    symlinkSync(real, link);
    writeFileSync(`${real}.lock`, "");
    utimesSync(`${real}.lock`, 1, 1);
    updatePins(link, () => book);
    expect(readPins(real).book.get("one")).toEqual(book.get("one"));
    expect(readPins(link).book.size).toBe(1);
    expect(() => statSync(`${real}.lock`)).toThrow();
    let inside: unknown;
    updatePins(link, ({ book: same }) => {
      try {
        updatePins(link, () => book);
      } catch (error) {
        inside = error;
      }
      return same;
    });
    expect(String(inside)).toMatch(/another process holds/);
  });

  test.each([
    ["", /JSON/],
    ["[]", /not an object/],
    ['{"version":"1","servers":{}}', /version/],
    ['{"version":1,"servers":[]}', /servers/],
  ])("%s is damaged as a whole", (text, why) => {
    using dir = tempDir();
    const file = `${dir.path}/pins.json`;
    writeFileSync(file, text);
    expect(readPins(file)).toMatchObject({ damaged: expect.stringMatching(why) as string });
    rmSync(file);
    mkdirSync(file);
    expect(readPins(file).damaged).toMatch(/EISDIR|directory/);
  });

  test.each([
    ["a list that is none", { resources: {} }],
    ["items that are none", { tools: [] }],
    ["a pin without a text", { tools: { a: { sha256: "x" } } }],
    ["a digest of something else", { tools: { a: { ...pin({ a: 1 }), sha256: pin({ a: 2 }).sha256 } } }],
    ["null", null],
  ])("%s damages one server, and stays as it is", (_, raw) => {
    using dir = tempDir();
    const file = `${dir.path}/pins.json`;
    writeFileSync(file, JSON.stringify({ version: 1, servers: { bad: raw, good: { tools: {} } } }));
    const read = readPins(file);
    expect(read.damaged).toBeUndefined();
    expect(read.book.get("bad")).toHaveProperty("damaged");
    expect(read.book.get("good")).not.toHaveProperty("damaged");
    updatePins(file, (before) => withList(before.book, "more", "tools", new Map()));
    const written = JSON.parse(readFileSync(file, "utf8")) as { servers: Record<string, unknown> };
    expect(written.servers["bad"]).toEqual(raw);
  });
});

describe("lists as they come in", () => {
  const item = (key: string, more: object = {}) => ({
    key,
    bytes: Buffer.from(JSON.stringify({ name: key, ...more })),
  });

  function rig(dir: { path: string }, mode: PinMode, learns = true) {
    const found: Deviation[] = [];
    let changes = 0;
    const log = keptLog();
    const file = `${dir.path}/pins.json`;
    const pins = new Pins({
      file,
      modes: new Map([
        ["one", mode],
        ["off", "off"],
      ]),
      learns,
      log,
      found: (deviation) => found.push(deviation),
      changed: () => changes++,
    });
    return { pins, found, log, file, changes: () => changes, [Symbol.dispose]: () => pins.close() };
  }

  test("nothing is pinned by half a list or by what was kept from an earlier start; in enforce half a list does not pass", () => {
    using dir = tempDir();
    using one = rig(dir, "enforce");
    one.pins.listed("one", "tools", [item("a")], "kept");
    expect(one.pins.deviation("one", "tools", "a")).toBeUndefined();
    one.pins.listed("one", "tools", [item("a")], "part");
    expect(one.pins.deviation("one", "tools", "a")).toMatchObject({ refused: true, fault: { state: "unpinned" } });
    one.pins.listed("one", "tools", [item("a"), item("b")], "whole");
    expect(one.pins.deviation("one", "tools", "a")).toBeUndefined();
    // From now on half a list is judged like a whole one.
    one.pins.listed("one", "tools", [item("a", { x: 1 })], "part");
    expect(one.pins.deviation("one", "tools", "a")).toMatchObject({ refused: true, fault: { state: "changed" } });
    one.pins.close();
    expect([...(readPins(one.file).book.get("one") as ServerPins).get("tools")!.keys()]).toEqual(["a", "b"]);
  });

  test("a deviation is told once, with both digests; in warn it is not refused", () => {
    using dir = tempDir();
    using one = rig(dir, "warn");
    one.pins.listed("one", "tools", [item("a")], "whole");
    for (let i = 0; i < 3; i++) one.pins.listed("one", "tools", [item("a", { x: 1 }), item("n")], "whole");
    expect(one.found.map(({ name, fault, refused }) => [name, fault.state, refused])).toEqual([
      ["a", "changed", false],
      ["n", "new", false],
    ]);
    const fault = one.found[0]!.fault;
    expect(fault).toEqual({
      state: "changed",
      pinned: pin({ name: "a" }).sha256,
      current: pin({ name: "a", x: 1 }).sha256,
    });
    expect(one.found[0]!.reason).toContain(
      `pinned sha256 ${pin({ name: "a" }).sha256}, now ${pin({ name: "a", x: 1 }).sha256}`,
    );
    expect(one.log.lines.filter(({ level }) => level === "warn")).toHaveLength(2);
    one.pins.listed("off", "tools", [item("a")], "whole");
    expect(one.pins.deviation("off", "tools", "a")).toBeUndefined();
  });

  test("who does not learn pins nothing, and judges by what is pinned", () => {
    using dir = tempDir();
    {
      using one = rig(dir, "enforce", false);
      one.pins.listed("one", "tools", [item("a")], "whole");
      expect(one.pins.deviation("one", "tools", "a")).toBeUndefined();
    }
    expect(() => statSync(`${dir.path}/pins.json`)).toThrow();
    updatePins(`${dir.path}/pins.json`, ({ book }) => withList(book, "one", "tools", new Map()));
    using one = rig(dir, "enforce", false);
    one.pins.listed("one", "tools", [item("a")], "whole");
    expect(one.pins.deviation("one", "tools", "a")).toMatchObject({ refused: true });
  });

  test("what another process had pinned first holds, and what is refused by it is told", () => {
    using dir = tempDir();
    using one = rig(dir, "enforce");
    one.pins.listed("one", "tools", [item("a", { mine: true })], "whole");
    expect(one.pins.deviation("one", "tools", "a")).toBeUndefined();
    updatePins(one.file, ({ book }) => withList(book, "one", "tools", new Map([["a", pin({ name: "a" })]])));
    one.pins.close();
    expect(one.pins.deviation("one", "tools", "a")).toMatchObject({ fault: { state: "changed" } });
    expect(one.changes()).toBe(1);
  });
});

describe("a person's decision", () => {
  const offered = (tools: Record<string, object>, whole = true): ReadonlyMap<"tools", Offered> =>
    new Map([
      [
        "tools",
        {
          whole,
          items: Object.entries(tools).map(([key, value]) => ({
            key,
            publicName: `s__${key}`,
            bytes: Buffer.from(JSON.stringify(value)),
          })),
        },
      ],
    ]);
  const book = withList(
    new Map(),
    "s",
    "tools",
    new Map([
      ["a", pin({ v: 1 })],
      ["b", pin({ v: 1 })],
    ]),
  );

  test("changes what it says yes to, and nothing else", () => {
    const now = offered({ a: { v: 2 }, c: { v: 1 } });
    const comparison = compare(book, "s", now);
    expect(comparison.changes.map(({ name, state }) => [name, state])).toEqual([
      ["a", "changed"],
      ["c", "new"],
      ["b", "gone"],
    ]);
    expect(decided(book, comparison, now, () => false, false)).toBe(book);
    const after = decided(book, comparison, now, ({ name }) => name !== "c", false);
    expect((after.get("s") as ServerPins).get("tools")).toEqual(new Map([["a", pin({ v: 2 })]]));
  });

  test("is not asked for by half a list: nothing of it is gone, and none is pinned for the first time", () => {
    const half = offered({ a: { v: 1 } }, false);
    expect(compare(book, "s", half)).toMatchObject({ changes: [], same: 1, unread: ["tools"] });
    const empty: Book = new Map();
    expect(decided(empty, compare(empty, "s", half), half, () => true, true).get("s") ?? new Map()).toEqual(new Map());
  });
});
