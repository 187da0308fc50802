/** What a host is told of, and when. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LISTS } from "../../src/router/lists.ts";
import { createSealer } from "../../src/wire/seal.ts";
import { errorFrame, FakeSource, paged, resource, resultFrame, rig, template, tool } from "./fake.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A source whose tools can be exchanged. */
function changing(name: string, rank: number, ...tools: string[]): FakeSource & { tools: string[] } {
  const source = Object.assign(new FakeSource(name, rank), { tools });
  source.list(
    "tools/list",
    paged("tools/list", () => source.tools.map((one) => tool(one))),
  );
  return source;
}

describe("a host that has asked for a list", () => {
  it("gets those of the servers that are there in time, and is told exactly once when a late one arrives", async () => {
    const [a, late] = [changing("a", 0, "t"), changing("late", 1, "t").starting()];
    using all = rig({ sources: [a, late] });
    const first = all.page("tools/list", undefined, 1500);
    await pass(1500);
    expect((await first).keys).toEqual(["a__t"]);
    await pass(2500);
    late.arrive();
    all.catalogue.refresh("late");
    await pass(200);
    expect(all.told).toEqual(["tools"]);
    expect((await all.page("tools/list")).keys).toEqual(["a__t", "late__t"]);
    await pass(10_000);
    expect(all.told).toEqual(["tools"]);
    expect(late.count("tools/list")).toBe(1);
  });

  it("waits for a server that is starting once, not at every list", async () => {
    const late = changing("late", 0, "t").starting();
    using all = rig({ sources: [late, changing("b", 1, "t")] });
    const first = all.page("tools/list", undefined, 1500);
    await pass(1000);
    const second = all.page("prompts/list", undefined, 1500);
    await pass(500);
    await Promise.all([first, second]);
    expect((await all.page("tools/list", undefined, 1500)).keys).toEqual(["b__t"]);
  });

  it("does not wait for a server that has failed, nor for one whose last list is known", async () => {
    const [failed, known] = [changing("failed", 0, "t").starting(), changing("known", 1, "t")];
    using all = rig({ sources: [failed, known] });
    const first = all.page("tools/list", undefined, 1500);
    failed.arrive(false);
    expect((await first).keys).toEqual(["known__t"]);
    known.ready = false;
    expect((await all.page("tools/list", undefined, 60_000)).keys).toEqual(["known__t"]);
  });

  it("is told once of many servers that arrive together", async () => {
    const sources = Array.from({ length: 10 }, (_, i) => changing(`s${i}`, i, "t").starting());
    using all = rig({ sources });
    await all.page("tools/list", undefined, 0);
    for (const source of sources) {
      source.arrive();
      all.catalogue.refresh(source.name);
    }
    await pass(200);
    expect(all.told).toEqual(["tools"]);
  });

  it("is told of a change within 200 ms, once for a burst, and the list after it is fresh", async () => {
    const a = changing("a", 0, "old");
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    a.tools = ["new"];
    for (let i = 0; i < 20; i++) all.catalogue.refresh("a", "tools/list");
    await pass(200);
    expect(all.told).toEqual(["tools"]);
    expect(a.count("tools/list")).toBe(2);
    expect((await all.page("tools/list")).keys).toEqual(["a__new"]);
  });

  it("and asks again right after the server's notification gets the new list at once", async () => {
    const a = changing("a", 0, "old");
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    a.tools = ["new"];
    all.catalogue.refresh("a", "tools/list");
    expect((await all.page("tools/list")).keys).toEqual(["a__new"]);
    await pass(200);
    expect(all.told).toEqual(["tools"]);
    expect(a.count("tools/list")).toBe(2);
  });

  it("is not told where nothing that it sees changed", async () => {
    const a = changing("a", 0, "t");
    a.list(
      "resources/list",
      Array.from({ length: 10 }, (_, i) => resource(`x:${i}`)),
      2,
    );
    using all = rig({ sources: [a], visible: ({ original }) => !original.startsWith("hidden"), page: { items: 3 } });
    for (const { method } of LISTS) await all.page(method);
    a.tools = ["t", "hidden"];
    all.catalogue.refresh("a", "tools/list");
    all.catalogue.refresh("a", "resources/list");
    await pass(200);
    a.ready = false;
    await pass(200);
    a.ready = true;
    all.catalogue.refresh("a");
    await pass(200);
    expect(all.told).toEqual([]);
    expect(a.count("tools/list")).toBe(3);
    // Two pages had been asked for; they are compared again, no more.
    expect(a.asked.filter((one) => one.startsWith("resources/list"))).toHaveLength(6);
  });

  it("is told of the kind that changed: templates go with resources", async () => {
    const templates = [template("x:{a}")];
    const a = changing("a", 0, "t")
      .list("resources/list", [])
      .list(
        "resources/templates/list",
        paged("resources/templates/list", () => templates),
      );
    using all = rig({ sources: [a] });
    for (const { method } of LISTS) await all.page(method);
    templates.push(template("y:{a}"));
    all.catalogue.refresh("a", "resources/list");
    await pass(200);
    expect(all.told).toEqual(["resources"]);
    expect(await all.all("resources/templates/list")).toEqual(["x:{a}", "y:{a}"]);
  });

  it("keeps what a server last listed while it is away, and is not told", async () => {
    const a = changing("a", 0, "t");
    using all = rig({ sources: [a] });
    const before = await all.page("tools/list");
    a.ready = false;
    all.catalogue.refresh("a", "tools/list");
    await pass(5000);
    expect((await all.page("tools/list")).text).toBe(before.text);
    expect(all.told).toEqual([]);
  });

  it("is told when a resource page that it was given has changed, not for pages it never asked for", async () => {
    let uris = Array.from({ length: 10 }, (_, i) => `x:${i}`);
    const a = new FakeSource("a", 0).list(
      "resources/list",
      paged("resources/list", () => uris.map((uri) => resource(uri)), 2),
    );
    using all = rig({ sources: [a], page: { items: 2 } });
    await all.page("resources/list");
    uris = [...uris.slice(0, -1), "x:other"];
    all.catalogue.refresh("a", "resources/list");
    await pass(200);
    expect(all.told).toEqual([]);
    uris = ["x:first", ...uris];
    all.catalogue.refresh("a", "resources/list");
    await pass(300);
    expect(all.told).toEqual(["resources"]);
  });

  it("is told of a tool whose view turned out to be another server's too", async () => {
    const a = new FakeSource("a", 0).list("resources/list", [resource("ui://v")]);
    const b = new FakeSource("b", 1).list("tools/list", [tool("t", ',"_meta":{"ui":{"resourceUri":"ui://v"}}')]);
    using all = rig({ sources: [a, b] });
    expect((await all.page("tools/list")).text).toContain('"ui://v"');
    await all.page("resources/list");
    await pass(100);
    expect(all.told).toEqual(["tools"]);
    expect((await all.page("tools/list")).text).toContain('"ui://b--v"');
  });

  it("is told when a list goes on where it had ended", async () => {
    const uris = ["x:1", "x:2"];
    const answer = paged("resources/list", () => uris.map((uri) => resource(uri)), 2);
    const a = new FakeSource("a", 0).list("resources/list", answer);
    using all = rig({ sources: [a] });
    await all.page("resources/list");
    uris.push("x:3");
    all.catalogue.refresh("a", "resources/list");
    await pass(200);
    expect(all.told).toEqual(["resources"]);
  });

  it("is told when a server turned out to have the URI that another's item has, which now needs an alias", async () => {
    const uris: string[] = [];
    const a = new FakeSource("a", 0).list(
      "resources/list",
      paged("resources/list", () => uris.map((uri) => resource(uri))),
    );
    const b = new FakeSource("b", 1).list("resources/list", [resource("x:1")]);
    using all = rig({ sources: [a, b], visible: ({ server }) => server === "b" });
    expect(await all.all("resources/list")).toEqual(["x:1"]);
    uris.push("x:1");
    all.catalogue.refresh("a", "resources/list");
    await pass(200);
    expect(all.told).toEqual(["resources"]);
    expect(await all.all("resources/list")).toEqual(["mux-b+x:1"]);
  });
});

describe("a host that goes on with a cursor of an earlier start", () => {
  it("is told when the server in whose list it was arrives too late", async () => {
    const sealer = createSealer();
    using before = rig({ sources: [changing("a", 0, "t", "u"), changing("b", 1, "t")], sealer, page: { items: 1 } });
    const { nextCursor } = await before.page("tools/list");
    const a = changing("a", 0, "t", "u").starting();
    using all = rig({ sources: [a, changing("b", 1, "t")], sealer, page: { items: 1 } });
    const page = all.page("tools/list", nextCursor, 1500);
    await pass(1500);
    expect((await page).keys).toEqual(["b__t"]);
    a.arrive();
    all.catalogue.refresh("a");
    await pass(200);
    expect(all.told).toEqual(["tools"]);
  });
});

describe("a host that has asked for nothing", () => {
  it("is not told of servers that arrive", async () => {
    const a = changing("a", 0, "t").starting();
    using all = rig({ sources: [a] });
    a.arrive();
    all.catalogue.refresh("a");
    await pass(1000);
    expect(all.told).toEqual([]);
    expect(all.catalogue.tool("a__t")).toBeDefined();
  });

  it("is told of changes after that", async () => {
    const a = changing("a", 0, "t");
    using all = rig({ sources: [a] });
    all.catalogue.refresh("a");
    await pass(1000);
    a.tools = ["u"];
    all.catalogue.refresh("a", "tools/list");
    await pass(200);
    expect(all.told).toEqual(["tools"]);
  });
});

describe("a first page that was made across a change", () => {
  it("is not kept", async () => {
    const a = changing("a", 0, "t");
    let uris = ["x:old"];
    a.list(
      "resources/list",
      paged("resources/list", () => uris.map((uri) => resource(uri))),
    );
    const b = new FakeSource("b", 1).list("resources/list", [resource("b:1"), resource("b:2")], 1);
    using all = rig({ sources: [a, b] });
    const [answer] = [b.answers.get("resources/list")!];
    b.list("resources/list", async (cursor) => {
      if (cursor !== undefined) await new Promise((resolve) => setTimeout(resolve, 300));
      return answer(cursor);
    });
    const page = all.page("resources/list");
    await pass(10);
    uris = ["x:new"];
    all.catalogue.refresh("a", "resources/list");
    await pass(400);
    expect((await page).keys).toEqual(["x:old", "b:1", "b:2"]);
    expect(all.told).toEqual(["resources"]);
    expect((await all.page("resources/list")).keys).toEqual(["x:new", "b:1", "b:2"]);
  });
});

describe("a change announced while the list is being read", () => {
  it("has it read once more, and the host told once", async () => {
    const a = changing("a", 0, "old");
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    let release = (): void => {};
    a.list("tools/list", async () => {
      const answer = resultFrame(`{"tools":[${a.tools.map((one) => tool(one)).join()}]}`);
      await new Promise<void>((resolve) => (release = resolve));
      return answer;
    });
    a.tools = ["new"];
    all.catalogue.refresh("a", "tools/list");
    await pass(60);
    a.tools = ["newer"];
    for (let i = 0; i < 3; i++) all.catalogue.refresh("a", "tools/list");
    release();
    await pass(0);
    release();
    await pass(200);
    expect(a.count("tools/list")).toBe(3);
    expect((await all.page("tools/list")).keys).toEqual(["a__newer"]);
    expect(all.told).toEqual(["tools"]);
  });

  it("by a server that announces one at every list is no endless loop", async () => {
    const a = changing("a", 0, "t");
    using all = rig({ sources: [a] });
    a.list("tools/list", () => {
      all.catalogue.refresh("a", "tools/list");
      return resultFrame(`{"tools":[${tool("t")}]}`);
    });
    await all.page("tools/list");
    await pass(60_000);
    expect(a.count("tools/list")).toBeLessThan(40);
    expect(all.told).toEqual([]);
  });
});

describe("a reload", () => {
  it("keeps the lists of servers that stay, asks the new ones, and tells once", async () => {
    const [a, b, c] = [changing("a", 0, "t"), changing("b", 1, "t"), changing("c", 1, "t").starting()];
    using all = rig({ sources: [a, b] });
    await all.page("tools/list");
    all.reconfigure({ sources: [a, c] });
    expect((await all.page("tools/list", undefined, 0)).keys).toEqual(["a__t"]);
    await pass(1000);
    expect(all.told).toEqual([]);
    c.arrive();
    all.catalogue.refresh("c");
    await pass(200);
    expect(all.told).toEqual(["tools"]);
    expect(await all.all("tools/list")).toEqual(["a__t", "c__t"]);
    expect(a.count("tools/list")).toBe(1);
    expect(all.catalogue.tool("b__t")).toBeUndefined();
  });

  it("does not wait longer than the start may take for servers that do not come", async () => {
    const [a, b, c] = [changing("a", 0, "t"), changing("b", 1, "t"), changing("c", 1, "t").starting()];
    using all = rig({ sources: [a, b] });
    await all.page("tools/list");
    all.reconfigure({ sources: [a, c] });
    await pass(1600);
    expect(all.told).toEqual(["tools"]);
  });

  it("with another prefix, filter or rename tells, without asking any server; one that changes nothing does not", async () => {
    const a = changing("a", 0, "t", "u");
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    all.reconfigure({ sources: [a] });
    await pass(100);
    expect(all.told).toEqual([]);
    all.reconfigure({
      sources: [a],
      servers: { a: { prefix: "z", rename: { t: { description: "D" } } } },
      visible: ({ original }) => original === "t",
    });
    await pass(100);
    expect(all.told).toEqual(["tools"]);
    expect((await all.page("tools/list")).text).toBe(
      `{"tools":[{"name":"z__t","description":"D","inputSchema":{"type":"object"}}]}`,
    );
    expect(a.asked).toHaveLength(1);
  });

  it("that ends a server in the middle of its list leaves nothing of it", async () => {
    const a = changing("a", 0, "t");
    a.held = new Promise((resolve) => setTimeout(resolve, 500));
    using all = rig({ sources: [a] });
    const page = all.page("tools/list");
    all.reconfigure({ sources: [] });
    await pass(500);
    expect((await page).keys).toEqual([]);
    expect(all.catalogue.tool("a__t")).toBeUndefined();
  });
});

describe("lists of an earlier start", () => {
  it("stand in until the server has answered; then the host is told only if they differ", async () => {
    const first = changing("a", 0, "t", "u").list("resources/list", [resource("x:1", ',"size":1.0')]);
    using before = rig({ sources: [first] });
    for (const { method } of LISTS) await before.page(method);
    const stored = before.catalogue.stored("a");

    for (const same of [true, false]) {
      const a = changing("a", 0, ...(same ? ["t", "u"] : ["t"]))
        .list("resources/list", [resource("x:1", ',"size":1.0')])
        .starting();
      using all = rig({ sources: [a] });
      all.catalogue.restore("a", stored);
      expect((await all.page("tools/list", undefined, 60_000)).keys).toEqual(["a__t", "a__u"]);
      expect((await all.page("resources/list")).text).toBe(`{"resources":[${resource("x:1", ',"size":1.0')}]}`);
      a.arrive();
      all.catalogue.refresh("a");
      await pass(200);
      expect(all.told).toEqual(same ? [] : ["tools"]);
    }
  });

  it("are kept only if they were walked to the end", async () => {
    const a = changing("a", 0, "t").list("resources/list", [resource("x:1"), resource("x:2")], 1);
    using all = rig({ sources: [a], page: { items: 1 } });
    await all.page("tools/list");
    await all.page("resources/list");
    expect([...all.catalogue.stored("a").keys()]).toEqual(["tools/list"]);
    await all.all("resources/list");
    expect([...all.catalogue.stored("a").keys()]).toEqual(["tools/list", "resources/list"]);
  });

  it("that got damaged are left out", async () => {
    const a = changing("a", 0, "t").starting();
    using all = rig({ sources: [a] });
    all.catalogue.restore(
      "a",
      new Map([
        ["tools/list", Buffer.from(`[{"name":`)],
        ["prompts/list", Buffer.from("{}")],
      ]),
    );
    expect(all.catalogue.counts("a").tools).toBe(0);
    all.catalogue.restore("a", new Map([["tools/list", Buffer.from(`[\n${tool("x")},\r\n3]`)]]));
    const page = await all.page("tools/list");
    expect(page.keys).toEqual(["a__x"]);
    expect(page.text).not.toMatch(/[\r\n]/);
  });
});

describe("a failing refresh", () => {
  it("tells nobody anything", async () => {
    const a = changing("a", 0, "t");
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    a.list("tools/list", () => errorFrame(-32000));
    all.catalogue.refresh("a", "tools/list");
    await pass(120_000);
    expect(all.told).toEqual([]);
    expect(a.count("tools/list")).toBeLessThan(10);
  });
});
