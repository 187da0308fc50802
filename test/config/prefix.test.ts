/** Field report A2, and the prefixes of interface.md. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignPrefixes, safePrefix } from "../../src/config/prefix.ts";
import { load } from "./support.ts";

const assign = (...names: (string | [string, string])[]) =>
  assignPrefixes(
    names.map((entry) => {
      const [name, explicit] = typeof entry === "string" ? [entry, undefined] : entry;
      return { name, explicit, active: true };
    }),
  ).map((answer) => ("prefix" in answer ? answer.prefix : { takenBy: answer.takenBy }));

describe("a prefix", () => {
  it.each([
    ["files", "files"],
    ["kebab-name_1", "kebab-name_1"],
    ["__x__", "__x__"],
    ["My Server", "My_Server"],
    ["ürün 1", "r_n_1"],
    ["a.b/c", "a_b_c"],
    ["  a  ", "a"],
  ])("made of the key %s is %s", (key, expected) => {
    expect(safePrefix(key)).toBe(expected);
  });

  it("of a key in which nothing is left is a stable hash", () => {
    expect(safePrefix("日本語")).toMatch(/^s[0-9a-f]{8}$/);
    expect(safePrefix("日本語")).toBe(safePrefix("日本語"));
    expect(safePrefix("日本語")).not.toBe(safePrefix("🚀"));
    expect(safePrefix("")).toMatch(/^s[0-9a-f]{8}$/);
  });

  it("is always safe", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (key) => /^[A-Za-z0-9_-]+$/.test(safePrefix(key))));
  });

  it("of keys that become equal gets a suffix of the key's own hash, on every one that had to be changed", () => {
    const [dot, slash, plain] = assign("a.b", "a/b", "a_b");
    expect(plain).toBe("a_b");
    expect(dot).toMatch(/^a_b_[0-9a-f]{4}$/);
    expect(slash).toMatch(/^a_b_[0-9a-f]{4}$/);
    expect(dot).not.toBe(slash);
    expect(assign("a_b", "a/b", "a.b")).toEqual([plain, slash, dot]);
  });

  it("is never shared by two servers, whatever they are called", () => {
    const key = fc.string({ unit: fc.constantFrom("a", "_", ".", " ", "é"), maxLength: 4 });
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 12 }), fc.array(key, { maxLength: 3 }), (keys, explicit) => {
        const answers = assign(
          ...keys.map((name, index): [string, string] | string => (explicit[index] ? [name, explicit[index]] : name)),
        );
        const prefixes = answers.filter((answer) => typeof answer === "string" && answer !== "");
        expect(new Set(prefixes).size).toBe(prefixes.length);
      }),
    );
  });

  it("written in two entries takes the later one out", async () => {
    const config = await load({
      mcpServers: { a: { command: "x", prefix: "p" }, b: { command: "x", prefix: "p" }, c: { command: "x" } },
    });
    expect(config.servers.map(({ name, prefix }) => [name, prefix])).toEqual([
      ["a", "p"],
      ["c", "c"],
    ]);
    expect(config.broken[0]?.problems[0]).toContain(
      'mcpServers.b.prefix: the same prefix as that of "a". Choose another one.',
    );
  });

  it("written like another entry's key takes out the entry that wrote it", () => {
    expect(assign(["x", "b"], "b")).toEqual([{ takenBy: "b" }, "b"]);
  });

  it("of two entries may be empty, or that of one that is disabled", async () => {
    const { servers, broken } = await load({
      mcpServers: {
        a: { command: "x", prefix: "" },
        b: { command: "x", prefix: "" },
        dev: { command: "x", prefix: "db", disabled: true },
        prod: { command: "x", prefix: "db" },
      },
    });
    expect(broken).toEqual([]);
    expect(servers.map(({ prefix }) => prefix)).toEqual(["", "", "db"]);
  });

  it("with characters that hosts refuse is made safe, with a warning", async () => {
    const { servers, warnings } = await load({ mcpServers: { a: { command: "x", prefix: "my files!" } } });
    expect(servers[0]?.prefix).toBe("my_files");
    expect(warnings[0]).toContain('mcpServers.a.prefix: holds characters that hosts refuse, and is used as "my_files"');
  });

  it("that leaves little for names is a warning", async () => {
    const { servers, warnings } = await load({ mcpServers: { ["a".repeat(40)]: { command: "x" } } });
    expect(servers).toHaveLength(1);
    expect(warnings[0]).toContain("leaves 5 characters for a name");
  });

  it("stays the same when another entry is broken or switched off (A2)", async () => {
    const entries = (b: object) => ({ mcpServers: { "a b": { command: "x" }, "a.b": b } });
    const prefix = async (b: object) => (await load(entries(b))).servers[0]?.prefix;
    const together = await prefix({ command: "x" });
    expect(together).toMatch(/^a_b_[0-9a-f]{4}$/);
    expect(await prefix({ command: "x", disabled: true })).toBe(together);
    expect(await prefix({ comand: "x" })).toBe(together);
  });
});
