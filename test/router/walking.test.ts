/** One server's lists: all pages, once, whatever the server does. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LISTS } from "../../src/router/lists.ts";
import { createSealer } from "../../src/wire/seal.ts";
import { errorFrame, FakeSource, paged, prompt, resource, resultFrame, rig, template, tool } from "./fake.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ITEM = {
  "tools/list": tool,
  "prompts/list": prompt,
  "resources/list": resource,
  "resources/templates/list": template,
};
const numbered = (count: number, name = "x:"): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`);

describe("the list of one server", () => {
  it.each(LISTS)(
    "$method is followed over three pages with odd cursors, each item once, cursors byte for byte",
    async ({ method }) => {
      const pages: Record<string, string> = {
        "": `"items":[${ITEM[method]("i:1")}],"nextCursor":"c%2F1=="`,
        '"c%2F1=="': `"items":[${ITEM[method]("i:2")}],"nextCursor":"\\u00e9\\/\\"\\ud83d"`,
        '"\\u00e9\\/\\"\\ud83d"': `"items":[${ITEM[method]("i:3")}],"nextCursor":""`,
        '""': `"items":[${ITEM[method]("i:4")}]`,
      };
      const { member } = LISTS.find((row) => row.method === method)!;
      const a = new FakeSource("a", 0).list(method, (cursor) =>
        resultFrame(`{${pages[cursor ?? ""]!.replace("items", member)}}`),
      );
      using all = rig({ sources: [a], servers: { a: { prefix: "" } } });
      expect(await all.all(method)).toEqual(["i:1", "i:2", "i:3", "i:4"]);
      expect(a.asked).toEqual([method, `${method} "c%2F1=="`, `${method} "\\u00e9\\/\\"\\ud83d"`, `${method} ""`]);
    },
  );

  it.each(LISTS)("$method of 101 items at 50 a page is whole, and the last one can be found", async ({ method }) => {
    const a = new FakeSource("a", 0).list(
      method,
      numbered(101).map((key) => ITEM[method](key)),
      50,
    );
    using all = rig({ sources: [a], servers: { a: { prefix: "" } } });
    expect(await all.all(method)).toEqual(numbered(101));
    if (method === "tools/list") expect(all.catalogue.tool("x:100")?.original).toBe("x:100");
    if (method === "prompts/list") expect(all.catalogue.prompt("x:100")?.original).toBe("x:100");
    if (method === "resources/list") expect(all.catalogue.ownersOf("x:100").certain?.server).toBe("a");
  });

  it.each(LISTS)(
    "$method with a cursor that never advances ends, each item once, with a warning that names the server",
    async ({ method }) => {
      const { member } = LISTS.find((row) => row.method === method)!;
      const looping = () => resultFrame(`{"${member}":[${ITEM[method]("l:1")}],"nextCursor":"again"}`);
      const [a, b] = [
        new FakeSource("a", 0).list(method, looping),
        new FakeSource("b", 1).list(method, [ITEM[method]("b:1")]),
      ];
      using all = rig({ sources: [a, b], servers: { a: { prefix: "" }, b: { prefix: "" } } });
      expect(await all.all(method)).toEqual(["l:1", "b:1"]);
      expect(a.asked).toHaveLength(2);
      expect(all.warnings).toContainEqual(
        expect.objectContaining({ server: "a", reason: expect.stringContaining("given before") }),
      );
    },
  );

  it("with ever new cursors ends after 10,000 pages, with a warning", async () => {
    let n = 0;
    const a = new FakeSource("a", 0).list("tools/list", () => resultFrame(`{"tools":[],"nextCursor":"${++n}"}`));
    using all = rig({ sources: [a] });
    expect(await all.all("tools/list")).toEqual([]);
    expect(n).toBe(10_000);
    expect(all.warnings).toContainEqual(
      expect.objectContaining({ server: "a", reason: expect.stringContaining("10000 pages") }),
    );
  });

  it("may have empty pages in the middle", async () => {
    const text = ["[]", "[]", `[${resource("x:1")}]`, "[]", `[${resource("x:2")}]`];
    const a = new FakeSource("a", 0).list("resources/list", (cursor) => {
      const at = cursor === undefined ? 0 : Number(JSON.parse(cursor));
      return resultFrame(`{"resources":${text[at]}${at < 4 ? `,"nextCursor":"${at + 1}"` : ""}}`);
    });
    using all = rig({ sources: [a], page: { items: 1 } });
    expect(await all.all("resources/list")).toEqual(["x:1", "x:2"]);
  });

  it("has each name once: the first stands, with a warning that names server, item and reason", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [tool("t", ',"n":1'), tool("u"), tool("t", ',"n":2')], 2);
    using all = rig({ sources: [a] });
    const { items } = await all.page("tools/list");
    expect(items).toEqual([expect.objectContaining({ name: "a__t", n: 1 }), expect.objectContaining({ name: "a__u" })]);
    expect(all.warnings).toEqual([
      expect.objectContaining({ server: "a", item: "t", reason: expect.stringContaining("twice") }),
    ]);
  });

  it("loses no good definition to a bad one, and warns once, not at each refresh", async () => {
    const bad = `{"name":"bad","inputSchema":{"type":"string"}}`;
    const a = new FakeSource("a", 0).list("tools/list", [tool("good1"), bad, tool("good2")]);
    using all = rig({ sources: [a] });
    expect(await all.all("tools/list")).toEqual(["a__good1", "a__good2"]);
    all.catalogue.refresh("a");
    await vi.advanceTimersByTimeAsync(200);
    expect(a.count("tools/list")).toBe(2);
    expect(all.warnings).toEqual([
      expect.objectContaining({
        server: "a",
        item: "bad",
        reason: 'the "type" of its "inputSchema" is "string", not "object"',
      }),
    ]);
    expect(all.catalogue.hidden()).toEqual([expect.objectContaining({ server: "a", kind: "tool", original: "bad" })]);
  });

  it("passes resources lazily: what the host does not ask for is not fetched", async () => {
    const a = new FakeSource("a", 0).list(
      "resources/list",
      numbered(1000).map((uri) => resource(uri)),
      10,
    );
    using all = rig({ sources: [a], page: { items: 25 } });
    const first = await all.page("resources/list");
    expect(first.keys).toEqual(numbered(25));
    expect(a.asked).toHaveLength(3);
    const second = await all.page("resources/list", first.nextCursor);
    expect(second.keys).toEqual(numbered(50).slice(25));
    expect(a.asked).toHaveLength(5);
  });
});

describe("a list that fails", () => {
  it("once leaves the last good list, and is current again within a second of the next ask", async () => {
    let failing = false;
    let items = [tool("old")];
    const good = paged("tools/list", () => items);
    const a = new FakeSource("a", 0).list("tools/list", (cursor) =>
      failing ? errorFrame(-32000, "warming up") : good(cursor),
    );
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    failing = true;
    items = [tool("new")];
    all.catalogue.refresh("a", "tools/list");
    await vi.advanceTimersByTimeAsync(100);
    expect((await all.page("tools/list")).keys).toEqual(["a__old"]);
    expect((await all.page("tools/list")).keys).toEqual(["a__old"]);
    expect(a.asked).toHaveLength(2);
    expect(all.warnings).toEqual([expect.objectContaining({ server: "a", reason: "error -32000: warming up" })]);
    failing = false;
    vi.advanceTimersByTime(1000);
    expect((await all.page("tools/list")).keys).toEqual(["a__new"]);
    await vi.advanceTimersByTimeAsync(60);
    expect(all.told).toEqual(["tools"]);
  });

  it("is asked for again without anybody asking, ever more rarely, and the host is told when it is there", async () => {
    let failures = 3;
    const good = paged("tools/list", () => [tool("t")]);
    const a = new FakeSource("a", 0).list("tools/list", (cursor) =>
      failures-- > 0 ? errorFrame(-32603) : good(cursor),
    );
    using all = rig({ sources: [a] });
    expect((await all.page("tools/list")).keys).toEqual([]);
    await vi.advanceTimersByTimeAsync(1200);
    expect(a.asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(a.asked).toHaveLength(4);
    expect(all.told).toEqual(["tools"]);
    expect((await all.page("tools/list")).keys).toEqual(["a__t"]);
  });

  it("with -32601 is empty, without delay, warning or another question", async () => {
    const a = new FakeSource("a", 0);
    for (const { method } of LISTS) a.list(method, () => errorFrame(-32601, "Method not found"));
    using all = rig({ sources: [a] });
    for (const { method } of LISTS) for (let i = 0; i < 3; i++) expect(await all.all(method)).toEqual([]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(a.asked).toHaveLength(4);
    expect(all.warnings).toEqual([]);
    expect(all.told).toEqual([]);
  });

  it("with an answer that is no list keeps the last good one", async () => {
    let answer = `{"tools":[${tool("t")}]}`;
    const a = new FakeSource("a", 0).list("tools/list", () => resultFrame(answer));
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    answer = `{}`;
    all.catalogue.refresh("a", "tools/list");
    expect((await all.page("tools/list")).keys).toEqual(["a__t"]);
    expect(all.warnings).toHaveLength(1);
  });

  it("on its second page still shows its first, until the whole can be had", async () => {
    let failing = true;
    const items = paged("tools/list", () => [tool("t1"), tool("t2")], 1);
    const a = new FakeSource("a", 0).list("tools/list", (cursor) =>
      cursor && failing ? errorFrame(-32000) : items(cursor),
    );
    using all = rig({ sources: [a] });
    expect((await all.page("tools/list")).keys).toEqual(["a__t1"]);
    failing = false;
    await vi.advanceTimersByTimeAsync(1200);
    expect((await all.page("tools/list")).keys).toEqual(["a__t1", "a__t2"]);
    expect(all.told).toEqual(["tools"]);
  });

  it("fails no list but its own: five of six servers are there, in order", async () => {
    const sources = Array.from({ length: 6 }, (_, i) => new FakeSource(`s${i}`, i).list("tools/list", [tool("t")]));
    sources[2]!.list("tools/list", () => errorFrame(-32000));
    using all = rig({ sources });
    expect(await all.all("tools/list")).toEqual([0, 1, 3, 4, 5].map((i) => `s${i}__t`));
  });

  it("by never answering is waited for once; the next list comes at once, and the page is given up in the end", async () => {
    const sources = Array.from({ length: 6 }, (_, i) => new FakeSource(`s${i}`, i).list("tools/list", [tool("t")]));
    sources[1]!.list("tools/list", () => new Promise(() => {}));
    using all = rig({ sources });
    const first = all.page("tools/list", undefined, 1500);
    await vi.advanceTimersByTimeAsync(1499);
    let there = false;
    void first.then(() => {
      there = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(there).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await first).keys).toEqual([0, 2, 3, 4, 5].map((i) => `s${i}__t`));
    expect((await all.page("tools/list", undefined, 1500)).text).toBe((await first).text);
    sources[1]!.list("tools/list", [tool("t")]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await all.all("tools/list")).toEqual([0, 1, 2, 3, 4, 5].map((i) => `s${i}__t`));
    expect(all.told).toEqual(["tools"]);
  });
});

describe("a restart of a server", () => {
  it("between two pages loses and repeats nothing, though it knows its old cursors no more", async () => {
    let generation = 1;
    let size = 10;
    const uris = numbered(100);
    const a = new FakeSource("a", 0).list("resources/list", (cursor) =>
      paged(
        "resources/list",
        () => uris.map((uri) => resource(uri)),
        size,
        (n) => `${generation}:${n}`,
      )(cursor),
    );
    using all = rig({
      sources: [a, new FakeSource("b", 1).list("resources/list", [resource("b:1")])],
      page: { items: 15 },
    });
    const keys: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const one = await all.page("resources/list", cursor);
      keys.push(...one.keys);
      cursor = one.nextCursor;
      if (page === 1 || page === 4) {
        generation++;
        size = page === 1 ? 7 : 33;
        vi.advanceTimersByTime(1500);
      }
    }
    expect(keys).toEqual([...uris, "b:1"]);
    await vi.advanceTimersByTimeAsync(100);
    expect(all.told).toEqual([]);
  });

  it("of the proxy loses and repeats nothing, given the same key", async () => {
    const sealer = createSealer(Buffer.alloc(32, 1));
    const make = () => [
      new FakeSource("a", 0).list(
        "tools/list",
        numbered(7, "t").map((name) => tool(name)),
        2,
      ),
      new FakeSource("b", 1).list(
        "tools/list",
        numbered(7, "t").map((name) => tool(name)),
        3,
      ),
    ];
    const keys: string[] = [];
    let cursor: string | undefined;
    do {
      using all = rig({ sources: make(), sealer, page: { items: 2 } });
      const one = await all.page("tools/list", cursor);
      keys.push(...one.keys);
      cursor = one.nextCursor;
    } while (cursor !== undefined);
    expect(keys).toEqual([...numbered(7, "a__t"), ...numbered(7, "b__t")]);
  });

  it("that leaves it unable to give its second page ends its list early, once, and the others follow", async () => {
    const items = paged("resources/list", () => [resource("a:1"), resource("a:2")], 1);
    const a = new FakeSource("a", 0).list("resources/list", (cursor) => (cursor ? errorFrame(-32602) : items(cursor)));
    using all = rig({ sources: [a, new FakeSource("b", 1).list("resources/list", [resource("b:1")])] });
    expect(await all.all("resources/list")).toEqual(["a:1", "b:1"]);
    expect(a.asked.length).toBeLessThan(6);
    expect(all.warnings).toContainEqual(expect.objectContaining({ server: "a", reason: "error -32602: no" }));
  });

  it("during a listing: the rest comes with a new listing, of which the host is told", async () => {
    const a = new FakeSource("a", 0).list(
      "resources/list",
      numbered(4).map((uri) => resource(uri)),
      2,
    );
    using all = rig({
      sources: [a, new FakeSource("b", 1).list("resources/list", [resource("b:1")])],
      page: { items: 2 },
    });
    const first = await all.page("resources/list");
    a.ready = false;
    expect((await all.page("resources/list", first.nextCursor)).keys).toEqual(["b:1"]);
    a.ready = true;
    all.catalogue.refresh("a");
    await vi.advanceTimersByTimeAsync(200);
    expect(all.told).toEqual(["resources"]);
    expect(await all.all("resources/list")).toEqual([...numbered(4), "b:1"]);
  });
});

describe("items that come or go between two pages", () => {
  const list = (...items: string[]): FakeSource & { items: string[] } => {
    const source = Object.assign(new FakeSource("a", 0), { items });
    return source.list(
      "tools/list",
      paged("tools/list", () => source.items.map((name) => tool(name)), 4),
    ) as typeof source;
  };

  it("before the place that was reached move it, so that nothing is lost or repeated", async () => {
    for (const [before, after] of [
      [
        ["new", "newer", "t0", "t1", "t2", "t3"],
        ["t4", "t5", "t6", "t7"],
      ],
      [
        ["t2", "t3"],
        ["t4", "t5", "t6", "t7"],
      ],
      [
        ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "t3"],
        ["t4", "t5", "t6", "t7"],
      ],
    ] as const) {
      const a = list(...numbered(10, "t"));
      using all = rig({ sources: [a], page: { items: 4 } });
      const first = await all.page("tools/list");
      expect(first.keys).toEqual(["a__t0", "a__t1", "a__t2", "a__t3"]);
      a.items = [...before, ...numbered(10, "t").slice(4)];
      all.catalogue.refresh("a", "tools/list");
      expect((await all.page("tools/list", first.nextCursor)).keys).toEqual(after.map((name) => `a__${name}`));
    }
  });

  it("are no reason to repeat one where the last item itself is gone, or to refuse the cursor", async () => {
    const a = list(...numbered(10, "t"));
    using all = rig({ sources: [a], page: { items: 6 } });
    const first = await all.page("tools/list");
    a.items = a.items.filter((name) => name !== "t5");
    all.catalogue.refresh("a", "tools/list");
    const second = await all.page("tools/list", first.nextCursor);
    expect(second.keys.filter((name) => first.keys.includes(name))).toEqual([]);
    expect(second.keys.at(-1)).toBe("a__t9");
    a.items = ["other"];
    all.catalogue.refresh("a", "tools/list");
    expect((await all.page("tools/list", first.nextCursor)).text).toBe(`{"tools":[]}`);
  });

  it("together with a restart that voids all cursors lose and repeat nothing", async () => {
    let generation = 1;
    let uris = numbered(20);
    const a = new FakeSource("a", 0).list("resources/list", (cursor) =>
      paged(
        "resources/list",
        () => uris.map((uri) => resource(uri)),
        3,
        (n) => `${generation}:${n}`,
      )(cursor),
    );
    using all = rig({ sources: [a], page: { items: 5 } });
    const first = await all.page("resources/list");
    uris = ["x:new", "x:newer", ...uris];
    generation++;
    const second = await all.page("resources/list", first.nextCursor);
    expect([...first.keys, ...second.keys]).toEqual(numbered(10));
    await vi.advanceTimersByTimeAsync(100);
    expect(all.told).toEqual(["resources"]);
  });
});
