import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignNames, type NameSource, publicLead } from "../../src/router/namespace.ts";

const rules = { separator: "__", budget: 47 };

function source(server: string, originals: readonly string[], more: Partial<NameSource> = {}): NameSource {
  return { server, prefix: server, rename: {}, known: true, originals, ...more };
}

function names(sources: readonly NameSource[], with_ = rules): Record<string, string[]> {
  const assigned = assignNames(sources, with_);
  return Object.fromEntries(
    sources.map(({ server, originals }) => [server, originals.map((one) => assigned.get(server)!.get(one)!)]),
  );
}

const flat = (sources: readonly NameSource[]): string[] => Object.values(names(sources)).flat();

describe("public names", () => {
  it("are prefix, separator and original name", () => {
    expect(names([source("a", ["send_email"]), source("b", ["send_email"])])).toEqual({
      a: ["a__send_email"],
      b: ["b__send_email"],
    });
  });

  it("have an underscore for each unsafe character, and keep case and hyphens", () => {
    expect(names([source("a", ["x.y", "kebab-Name", "ä/😀"])])).toEqual({ a: ["a__x_y", "a__kebab-Name", "a_____"] });
  });

  it("get a hash where sanitising makes twins, but for the one that is called so by itself", () => {
    const [dot, slash, plain] = flat([source("a", ["r.f", "r/f", "r_f"])]);
    expect(plain).toBe("a__r_f");
    expect(dot).toMatch(/^a__r_f_[0-9a-f]{8}$/);
    expect(slash).toMatch(/^a__r_f_[0-9a-f]{8}$/);
    expect(dot).not.toBe(slash);
  });

  it("are cut to the budget and end in a hash, also where long names share their beginning", () => {
    const long = ["x".repeat(60), `${"y".repeat(70)}1${"z".repeat(19)}`, `${"y".repeat(70)}2${"z".repeat(19)}`];
    const all = flat([source("server", long)]);
    expect(new Set(all).size).toBe(3);
    for (const name of all) expect(name).toMatch(/^server__[xy]{30}_[0-9a-f]{8}$/);
    for (const name of all) expect(name).toHaveLength(47);
    expect(flat([source("server", long)])).toEqual(all);
  });

  it("that just fit are not cut", () => {
    expect(flat([source("a", ["x".repeat(44)])])).toEqual([`a__${"x".repeat(44)}`]);
    expect(flat([source("a", ["x".repeat(45)])])[0]).toMatch(/_[0-9a-f]{8}$/);
  });

  it("of a server without a prefix stay as they are", () => {
    const originals = ["a.b", "x".repeat(100), "ä", "plain"];
    expect(flat([source("s", originals, { prefix: "" })])).toEqual(originals);
  });

  it.each([
    ["a", "b__c", "a__b", "c"],
    ["a", "_c", "a_", "c"],
    ["a", "_b", "a_", "b"],
    ["x-", "-y", "x", "--y"],
    ["a", "b__c__d", "a__b__c", "d"],
  ])(
    "differ for server %s with %s and server %s with %s, and the longer prefix has the plain ones",
    (p1, t1, p2, t2) => {
      const [one, two] = [source(p1, [t1]), source(p2, [t2])];
      const there = names([one, two]);
      expect(new Set(Object.values(there).flat()).size).toBe(2);
      expect(names([two, one])).toEqual(there);
      if (p2.length > p1.length) expect(there[p2]).toEqual([`${p2}__${t2}`]);
    },
  );

  it("do not depend on which servers have been seen, where prefixes differ", () => {
    const both = names([source("a", ["b__c"]), source("a__b", ["c"])]);
    const unseen = names([source("a", ["b__c"]), source("a__b", [], { known: false })]);
    expect(unseen["a"]).toEqual(both["a"]);
    expect(names([source("a", [], { known: false }), source("a__b", ["c"])])["a__b"]).toEqual(both["a__b"]);
  });

  it("of two servers that share a prefix belong to the one that is configured first", () => {
    for (const prefix of ["", "p"]) {
      const there = names([source("a", ["same", "one"], { prefix }), source("b", ["same", "two"], { prefix })]);
      const lead = prefix === "" ? "" : "p__";
      expect(there["a"]).toEqual([`${lead}same`, `${lead}one`]);
      expect(there["b"]![0]).toMatch(new RegExp(`^${lead}same_[0-9a-f]{8}$`));
      expect(there["b"]![1]).toBe(`${lead}two`);
    }
  });

  it("are not given to the later of two servers with one prefix while the earlier one's list was never seen", () => {
    const before = names([source("a", [], { prefix: "", known: false }), source("b", ["same"], { prefix: "" })]);
    const after = names([source("a", ["same"], { prefix: "" }), source("b", ["same"], { prefix: "" })]);
    expect(before["b"]![0]).toMatch(/^same_[0-9a-f]{8}$/);
    expect(before["b"]).toEqual(after["b"]);
  });

  it("follow a rename, still with the prefix; the tool that is called so by itself keeps its name", () => {
    const rename = { search_v2: { name: "search" }, old: { name: "new.name" }, constructor: { title: "x" } };
    expect(names([source("a", ["search_v2"], { rename })])).toEqual({ a: ["a__search"] });
    const [renamed, own] = flat([source("a", ["search_v2", "search"], { rename })]);
    expect(own).toBe("a__search");
    expect(renamed).toMatch(/^a__search_[0-9a-f]{8}$/);
    expect(flat([source("a", ["old", "constructor", "toString", "__proto__"], { rename })])).toEqual([
      "a__new_name",
      "a__constructor",
      "a__toString",
      "a____proto__",
    ]);
  });

  it("survive a server that guesses a hash", () => {
    const hashed = flat([source("a", ["r.f", "r/f"])]);
    const guess = hashed[0]!.slice("a__".length);
    const all = flat([source("a", ["r.f", "r/f", guess])]);
    expect(new Set(all).size).toBe(3);
    expect(all[2]).toBe(`a__${guess}`);
  });

  it("begin with what a look-up searches servers by, also where prefixes are longer than the budget", () => {
    for (const prefix of ["a", "p".repeat(36), "p".repeat(60)]) {
      for (const name of flat([source("s", ["x", "y".repeat(80), "z."], { prefix })])) {
        expect(name.startsWith(publicLead(prefix, rules))).toBe(true);
      }
    }
  });
});

const piece = fc.constantFrom("a", "b", "_", "__", "-", ".", "c", "ü", "/");
const word = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
const original = fc.oneof(
  word,
  fc.string({ unit: "binary", maxLength: 12 }),
  word.map((text) => text + "x".repeat(60)),
);
const prefix = fc
  .array(fc.constantFrom("a", "b", "_", "__", "-"), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(""));
const list = fc.uniqueArray(original, { maxLength: 8 });
const servers = (prefixes: fc.Arbitrary<string>) =>
  fc
    .array(fc.record({ prefix: prefixes, originals: list, known: fc.constant(true) }), { maxLength: 6 })
    .map((all) => all.map((one, i) => source(`s${i}`, one.originals, { prefix: one.prefix })));

describe("public names, whatever servers and tools are called,", () => {
  it("are all different, safe and within the budget", () => {
    fc.assert(
      fc.property(servers(prefix), fc.integer({ min: 20, max: 60 }), (sources, budget) => {
        const all = Object.values(names(sources, { separator: "__", budget })).flat();
        expect(new Set(all).size).toBe(all.length);
        for (const name of all) expect(name).toMatch(new RegExp(`^[A-Za-z0-9_-]{1,${budget}}$`));
      }),
    );
  });

  it("are all different with and without prefixes", () => {
    fc.assert(
      fc.property(servers(fc.oneof(prefix, fc.constant(""))), (sources) => {
        const all = flat(sources);
        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  it("do not depend on the order in which a server lists its tools, nor on who is configured where", () => {
    fc.assert(
      fc.property(servers(prefix), fc.infiniteStream(fc.nat()), (sources, random) => {
        const unique = sources.filter((one, i) => sources.findIndex((other) => other.prefix === one.prefix) === i);
        const shuffled = unique
          .map((one) => ({
            ...one,
            originals: [...one.originals].sort(() => ((random.next().value as number) % 2 === 0 ? 1 : -1)),
          }))
          .sort(() => ((random.next().value as number) % 2 === 0 ? 1 : -1));
        const [there, here] = [assignNames(unique, rules), assignNames(shuffled, rules)];
        for (const { server, originals } of unique) {
          for (const one of originals) expect(here.get(server)!.get(one)).toBe(there.get(server)!.get(one));
        }
      }),
    );
  });

  it("do not depend on which of the servers are there, where prefixes differ", () => {
    fc.assert(
      fc.property(servers(prefix), fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (sources, up) => {
        const unique = sources.filter((one, i) => sources.findIndex((other) => other.prefix === one.prefix) === i);
        const some = unique.map((one, i) => (up[i] ? one : { ...one, known: false, originals: [] }));
        const [there, here] = [assignNames(unique, rules), assignNames(some, rules)];
        for (const { server, originals } of some) {
          for (const one of originals) expect(here.get(server)!.get(one)).toBe(there.get(server)!.get(one));
        }
      }),
    );
  });
});
