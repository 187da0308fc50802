/** Names and URIs through the whole catalogue: what is listed can be found, and what cannot be found is nobody's. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeSource, paged, prompt, resource, rig, template, tool } from "./fake.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a listed tool", () => {
  it("is found by its public name, with its server and its original name", async () => {
    const originals = ["send_email", "r.f", "r/f", "r_f", "x".repeat(90), `${"x".repeat(89)}y`, "b__c", "constructor"];
    const sources = ["a", "a__b", "ue"].map((name, i) =>
      new FakeSource(name, i).list(
        "tools/list",
        originals.map((one) => tool(one)),
      ),
    );
    using all = rig({ sources });
    const keys = await all.all("tools/list");
    expect(new Set(keys).size).toBe(3 * originals.length);
    const found = keys.map((key) => all.catalogue.tool(key)!);
    expect(found.map(({ server, original }) => [server, original])).toEqual(
      sources.flatMap(({ name }) => originals.map((original) => [name, original])),
    );
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_-]{1,47}$/);
  });

  it("and a prompt may have the same name", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [tool("x")]).list("prompts/list", [prompt("x")]);
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    await all.page("prompts/list");
    expect(all.catalogue.tool("a__x")?.kind).toBe("tool");
    expect(all.catalogue.prompt("a__x")?.kind).toBe("prompt");
  });

  it("is not found by anything else: case, spaces, look-alikes, its bare name, its server's", async () => {
    using all = rig({ sources: [new FakeSource("a", 0).list("tools/list", [tool("echo")])] });
    await all.page("tools/list");
    for (const name of [
      "A__echo",
      "a__Echo",
      "a__echo ",
      " a__echo",
      "a__есho",
      "echo",
      "a",
      "a__",
      "",
      "__proto__",
      "toString",
    ]) {
      expect(all.catalogue.tool(name)).toBeUndefined();
      expect(await all.catalogue.refreshForLookup("tool", name)).toBeUndefined();
    }
  });

  it("that the policy hides is missing from the list, but found, for policy to refuse it by its rule", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [tool("ok"), tool("drop")]);
    using all = rig({ sources: [a], visible: (item) => item.original !== "drop" });
    expect(await all.all("tools/list")).toEqual(["a__ok"]);
    expect(all.catalogue.items("tools/list").map((item) => item.publicName)).toEqual(["a__ok"]);
    expect(all.catalogue.tool("a__drop")?.original).toBe("drop");
    expect(all.catalogue.hidden()).toEqual([{ server: "a", kind: "tool", original: "drop", why: "hidden by policy" }]);
    expect(all.catalogue.counts("a")).toEqual({ tools: 2, prompts: 0, resources: 0, resourceTemplates: 0 });
  });

  it("is shown to the policy with its definition", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [
      tool("x", ',"annotations":{"destructiveHint":true}'),
      tool("y"),
    ]);
    const destructive = (item: object): boolean =>
      (item as { definition(): { annotations?: { destructiveHint?: boolean } } }).definition().annotations
        ?.destructiveHint ?? false;
    using all = rig({ sources: [a], visible: (item) => !destructive(item) });
    expect(await all.all("tools/list")).toEqual(["a__y"]);
  });

  it("of a server that is away is still found", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [tool("x")]);
    using all = rig({ sources: [a] });
    await all.page("tools/list");
    a.ready = false;
    expect(all.catalogue.tool("a__x")?.server).toBe("a");
  });
});

describe("a name that is not in the catalogue", () => {
  it("is looked for once more, only at servers whose prefix it has, once a second at most", async () => {
    const lists = { a: [tool("old")], b: [tool("old")], free: [tool("old")] };
    const sources = Object.entries(lists).map(([name, items], i) =>
      new FakeSource(name, i).list(
        "tools/list",
        paged("tools/list", () => items),
      ),
    );
    using all = rig({ sources, servers: { free: { prefix: "" } } });
    await all.page("tools/list");
    lists.a.push(tool("new"));
    expect((await all.catalogue.refreshForLookup("tool", "a__new"))?.original).toBe("new");
    expect(sources.map((source) => source.asked.length)).toEqual([2, 1, 2]);
    for (let i = 0; i < 5; i++) expect(await all.catalogue.refreshForLookup("tool", "a__none")).toBeUndefined();
    expect(sources.map((source) => source.asked.length)).toEqual([2, 1, 2]);
    vi.advanceTimersByTime(1000);
    await Promise.all([1, 2, 3].map(() => all.catalogue.refreshForLookup("tool", "a__none")));
    expect(sources.map((source) => source.asked.length)).toEqual([3, 1, 3]);
    await vi.advanceTimersByTimeAsync(100);
    expect(all.told).toEqual(["tools"]);
  });

  it("waits for a server that is starting", async () => {
    const a = new FakeSource("a", 0).list("tools/list", [tool("x")]).starting();
    using all = rig({ sources: [a] });
    const found = all.catalogue.refreshForLookup("tool", "a__x");
    a.arrive();
    expect((await found)?.original).toBe("x");
  });

  it("is unknown at once where its server is down or its list fails", async () => {
    const a = new FakeSource("a", 0).list("tools/list", () => Promise.reject(new Error("gone")));
    using all = rig({ sources: [a] });
    expect(await all.catalogue.refreshForLookup("tool", "a__x")).toBeUndefined();
    expect(await all.catalogue.refreshForLookup("resource", "a__x")).toBeUndefined();
  });
});

describe("a listed URI", () => {
  const shared = () => [
    new FakeSource("a", 0)
      .list("resources/list", [resource("file:///shared", ',"size":1.0')])
      .list("resources/templates/list", [template("file:///{p}")]),
    new FakeSource("b", 1)
      .list("resources/list", [
        resource("file:///shared", ',"_meta":{"ui":{"resourceUri":"file:///shared"}}'),
        resource("file:///b"),
      ])
      .list("resources/templates/list", [template("file:///{p}"), template("b:{x}")]),
  ];

  it("is that of its server, and what two servers list can be read from both", async () => {
    using all = rig({ sources: shared() });
    const listed = await all.page("resources/list");
    expect(listed.text).toBe(
      `{"resources":[${resource("file:///shared", ',"size":1.0')},{"uri":"mux-b+file:///shared","name":"r","_meta":{"ui":{"resourceUri":"file:///shared"}}},${resource("file:///b")}]}`,
    );
    expect(listed.keys.map((uri) => all.catalogue.ownersOf(uri).certain)).toEqual([
      { server: "a", original: "file:///shared" },
      { server: "b", original: "file:///shared" },
      { server: "b", original: "file:///b" },
    ]);
    expect(all.catalogue.publicUri("b", "file:///shared")).toBe("mux-b+file:///shared");
    expect(all.catalogue.originalUri("mux-b+file:///shared")).toEqual({ server: "b", original: "file:///shared" });
    expect([all.catalogue.hasAliases("a"), all.catalogue.hasAliases("b")]).toEqual([false, true]);
  });

  it("does not get another name when a server restarts, is away, or came first", async () => {
    const sources = shared();
    sources[0]!.starting();
    using all = rig({ sources });
    await all.page("resources/list", undefined, 0);
    sources[0]!.arrive();
    all.catalogue.refresh("a");
    await vi.advanceTimersByTimeAsync(200);
    const whole = await all.all("resources/list");
    expect(whole).toEqual(["file:///shared", "mux-b+file:///shared", "file:///b"]);
    for (const ready of [false, true, false]) {
      sources[0]!.ready = ready;
      if (ready) all.catalogue.refresh("a");
      await vi.advanceTimersByTimeAsync(200);
      expect(await all.all("resources/list")).toEqual(whole);
    }
  });

  it("template that two servers have is told apart the same way", async () => {
    using all = rig({ sources: shared() });
    expect(await all.all("resources/templates/list")).toEqual(["file:///{p}", "mux-b+file:///{p}", "b:{x}"]);
    expect(all.catalogue.ownersOf("b:1").certain).toEqual({ server: "b", original: "b:1" });
  });

  it("of a view that two servers' tools name stays ui://, and each tool names its own", async () => {
    const meta = ',"_meta":{"ui":{"resourceUri":"ui://view/main.html"}}';
    const sources = ["a", "b"].map((name, i) => new FakeSource(name, i).list("tools/list", [tool("show", meta)]));
    using all = rig({ sources });
    const { items } = await all.page("tools/list");
    const uris = items.map((item) => (item as { _meta: { ui: { resourceUri: string } } })._meta.ui.resourceUri);
    expect(uris).toEqual(["ui://view/main.html", "ui://b--view/main.html"]);
    expect(uris.map((uri) => all.catalogue.ownersOf(uri).certain?.server)).toEqual(["a", "b"]);
  });

  it("that nobody lists is asked for at servers that have resources, those that named it first", async () => {
    const sources = ["a", "b", "c"].map((name, i) => new FakeSource(name, i).list("resources/list", []));
    sources.push(
      new FakeSource("tools-only", 3).list("tools/list", []),
      new FakeSource("unseen", 4).list("resources/list", []).starting(),
    );
    using all = rig({ sources });
    expect(all.catalogue.ownersOf("x:1").candidates.map((one) => one.server)).toEqual(["a", "b", "c"]);
    all.catalogue.remember("x:1", "c");
    expect(all.catalogue.ownersOf("x:1").candidates.map((one) => one.server)).toEqual(["c", "a", "b"]);
    all.reconfigure({ sources });
    expect(all.catalogue.ownersOf("x:1").candidates.map((one) => one.server)).toEqual(["c", "a", "b"]);
  });
});
