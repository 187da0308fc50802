/** Many servers' lists as one: order, pages, cursors. */
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { LISTS } from "../../src/router/lists.ts";
import { createSealer } from "../../src/wire/seal.ts";
import { FakeSource, paged, resource, rig, tool } from "./fake.ts";

afterEach(() => {
  vi.useRealTimers();
});

const names = (count: number, name = "t"): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`);
const invalid = expect.objectContaining({ name: "Fault", code: "INVALID_CURSOR" });

function servers(count: number, tools: number): FakeSource[] {
  return names(count, "s").map((name, i) =>
    new FakeSource(name, i).list(
      "tools/list",
      names(tools).map((one) => tool(one)),
    ),
  );
}

describe("a merged list", () => {
  it.each([1, 2, 10])(
    "of %i servers is their union in the order of the configuration, whatever order they are given in",
    async (count) => {
      const sources = servers(count, 2);
      const want = sources.flatMap(({ name }) => [`${name}__t0`, `${name}__t1`]);
      using all = rig({ sources: sources.toReversed() });
      expect(await all.all("tools/list")).toEqual(want);
    },
  );

  it("is byte-identical whenever it is asked for and in whatever order servers become ready", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
        fc.array(fc.nat(2), { maxLength: 3 }),
        async (order, asks) => {
          const sources = servers(3, 3).map((source) => source.starting());
          sources[1]!.list("tools/list", [tool("z"), tool("b.c"), tool("b/c"), tool("a", ',"x":1.0')], 2);
          using all = rig({ sources });
          const texts: Promise<string>[] = [];
          for (const at of order) {
            if (asks.includes(at)) void all.page("tools/list", undefined, 0);
            sources[at]!.arrive();
            all.catalogue.refresh(sources[at]!.name);
          }
          for (let i = 0; i < 3; i++) texts.push(all.page("tools/list").then((page) => page.text));
          expect(new Set(await Promise.all(texts)).size).toBe(1);
          using fresh = rig({ sources: sources.map((source) => Object.assign(source, { held: undefined })) });
          expect((await fresh.page("tools/list")).text).toBe(await texts[0]);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("walks to every visible item once, at any page size, and servers' own pages do not show", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ items: fc.nat(12), size: fc.integer({ min: 1, max: 5 }) }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 400 }),
        fc.constantFrom(...LISTS.map(({ method }) => method)),
        async (lists, items, bytes, method) => {
          const sources = lists.map((list, i) => {
            const keys = names(list.items, `${i}:`);
            const text = (key: string): string =>
              `{"name":"${key}","uri":"${key}","uriTemplate":"${key}","inputSchema":{"type":"object"}}`;
            return new FakeSource(`s${i}`, i).list(method, keys.map(text), list.size);
          });
          const hidden = (key: string): boolean => key.endsWith("3");
          const prefixes = Object.fromEntries(sources.map(({ name }) => [name, { prefix: "" }]));
          using all = rig({
            sources,
            servers: prefixes,
            page: { items, bytes },
            visible: ({ original }) => !hidden(original),
          });
          const want = lists.flatMap((list, i) => names(list.items, `${i}:`)).filter((key) => !hidden(key));
          expect(await all.all(method)).toEqual(want);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("page ends at the number of items or bytes, whichever comes first, but holds one item at least", async () => {
    const long = tool("long", `,"x":"${"x".repeat(1000)}"`);
    const a = new FakeSource("a", 0).list("tools/list", [
      tool("t0"),
      tool("t1"),
      long,
      tool("t2"),
      tool("t3"),
      tool("t4"),
    ]);
    using all = rig({ sources: [a], page: { items: 2, bytes: 500 } });
    const pages: string[][] = [];
    for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined; ) {
      const page = await all.page("tools/list", cursor);
      pages.push([...page.keys]);
      cursor = page.nextCursor;
    }
    expect(pages).toEqual([["a__t0", "a__t1"], ["a__long"], ["a__t2", "a__t3"], ["a__t4"]]);
  });

  it("has no cursor where nothing follows", async () => {
    using all = rig({ sources: [...servers(2, 2), new FakeSource("empty", 2)], page: { items: 4 } });
    expect((await all.page("tools/list")).nextCursor).toBeUndefined();
    using hidden = rig({ sources: servers(2, 2), page: { items: 2 }, visible: ({ server }) => server === "s0" });
    expect((await hidden.page("tools/list")).nextCursor).toBeUndefined();
  });

  it("is exactly the items and the cursor", async () => {
    using all = rig({ sources: servers(2, 1), page: { items: 1 } });
    const { text } = await all.page("tools/list");
    expect(text).toMatch(
      /^\{"tools":\[\{"name":"s0__t0","inputSchema":\{"type":"object"\}\}\],"nextCursor":"[\w-]+"\}$/,
    );
    for (const { method, member } of LISTS) {
      using none = rig({ sources: [] });
      expect((await none.page(method)).text).toBe(`{"${member}":[]}`);
    }
  });

  it("has all first pages asked for at once", async () => {
    const sources = servers(5, 1);
    let release = (): void => {};
    for (const source of sources) source.held = new Promise((resolve) => (release = chain(release, resolve)));
    using all = rig({ sources });
    const page = all.page("tools/list");
    await Promise.resolve();
    expect(sources.map((source) => source.asked.length)).toEqual([1, 1, 1, 1, 1]);
    release();
    expect((await page).keys).toHaveLength(5);
  });

  it("that is asked for by many at once is asked of each server once", async () => {
    const sources = servers(3, 1);
    using all = rig({ sources });
    await Promise.all(Array.from({ length: 10 }, () => all.page("tools/list")));
    expect(sources.map((source) => source.count("tools/list"))).toEqual([1, 1, 1]);
  });

  it("of 1,000 tools over 50 servers is ten times faster from the cache", async () => {
    const sources = names(50, "s").map((name, i) =>
      new FakeSource(name, i).list(
        "tools/list",
        names(20).map((one) => tool(one, `,"description":"${"d".repeat(600)}"`)),
      ),
    );
    using all = rig({ sources });
    const time = async (): Promise<number> => {
      const start = performance.now();
      await all.catalogue.page("tools/list", undefined, 1500);
      return performance.now() - start;
    };
    const first = await time();
    const later = Math.min(...(await Promise.all([time(), time(), time()])));
    expect(later * 10).toBeLessThan(first);
    expect(sources.every((source) => source.asked.length === 1)).toBe(true);
  });
});

function chain(first: () => void, then: () => void): () => void {
  return () => {
    first();
    then();
  };
}

describe("a cursor", () => {
  it("with any one letter changed, cut or added is refused, and so is anything else", async () => {
    using all = rig({ sources: servers(2, 3), page: { items: 1 } });
    const cursor = (await all.page("tools/list")).nextCursor!;
    const letter = fc.constantFrom(..."ABCDEFGHabcdefgh01234567-_=. ");
    await fc.assert(
      fc.asyncProperty(
        fc.nat(cursor.length - 1),
        letter,
        fc.constantFrom("change", "cut", "add"),
        async (at, by, how) => {
          const tail = how === "add" ? cursor.slice(at) : cursor.slice(at + 1);
          const altered = cursor.slice(0, at) + (how === "cut" ? "" : by) + tail;
          fc.pre(altered !== cursor);
          await expect(all.page("tools/list", altered)).rejects.toEqual(invalid);
        },
      ),
    );
    for (const other of ["", " ", "c1", cursor + cursor, 1, 0, null, true, {}, [cursor], { cursor }]) {
      await expect(all.page("tools/list", other)).rejects.toEqual(invalid);
    }
    expect((await all.page("tools/list", cursor)).keys).toEqual(["s0__t1"]);
  });

  it("of another list, another view or another key is refused", async () => {
    const setup = { sources: servers(2, 3), page: { items: 1 }, sealer: createSealer() };
    using all = rig(setup);
    const cursor = (await all.page("tools/list")).nextCursor!;
    for (const { method } of LISTS) {
      if (method !== "tools/list") await expect(all.page(method, cursor)).rejects.toEqual(invalid);
    }
    using view = rig({ ...setup, viewKey: "other" });
    await expect(view.page("tools/list", cursor)).rejects.toEqual(invalid);
    using key = rig({ ...setup, sealer: createSealer() });
    await expect(key.page("tools/list", cursor)).rejects.toEqual(invalid);
    using same = rig(setup);
    expect((await same.page("tools/list", cursor)).keys).toEqual(["s0__t1"]);
  });

  it("can be used again, and by many at once", async () => {
    using all = rig({
      sources: [
        new FakeSource("a", 0).list(
          "resources/list",
          names(9, "x:").map((uri) => resource(uri)),
          2,
        ),
      ],
      page: { items: 3 },
    });
    const cursor = (await all.page("resources/list")).nextCursor;
    const pages = await Promise.all(Array.from({ length: 5 }, () => all.page("resources/list", cursor)));
    for (const page of pages) expect(page.keys).toEqual(["x:3", "x:4", "x:5"]);
  });

  it("in the list of a server that was removed goes on with the one after it; of one never heard of it is refused", async () => {
    const sealer = createSealer();
    const sources = servers(4, 3);
    using all = rig({ sources, sealer, page: { items: 4 } });
    const cursor = (await all.page("tools/list")).nextCursor!;
    const left = sources.filter(({ name }) => name !== "s1");
    using other = rig({ sources: left, sealer });
    await expect(other.page("tools/list", cursor)).rejects.toEqual(invalid);
    reconfigure(all, left);
    expect((await all.page("tools/list", cursor)).keys).toEqual(["s2__t0", "s2__t1", "s2__t2", "s3__t0"]);
    reconfigure(all, left.slice(0, 1));
    expect((await all.page("tools/list", cursor)).text).toBe(`{"tools":[]}`);
  });

  it("holds nothing that a host could read", async () => {
    const a = new FakeSource("secret-server", 0).list(
      "resources/list",
      paged("resources/list", () => [resource("x:1"), resource("x:2")], 1),
    );
    using all = rig({ sources: [a], page: { items: 1 } });
    const cursor = (await all.page("resources/list")).nextCursor!;
    expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/secret|x:1/);
  });
});

function reconfigure(all: ReturnType<typeof rig>, sources: readonly FakeSource[]): void {
  all.reconfigure({ sources, page: { items: 4 } });
}
