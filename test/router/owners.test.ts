import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Owners } from "../../src/router/owners.ts";
import { uriTags, withoutTag, withTag } from "../../src/router/uri.ts";

const LIST = "resources/list";

function owners(...names: string[]): Owners {
  return new Owners(names.map((name) => ({ name, prefix: name })));
}

describe("a tag", () => {
  it("is the prefix in letters that a scheme may have, else the key", () => {
    const tags = uriTags([
      { name: "x", prefix: "GitHub_1" },
      { name: "Own key", prefix: "" },
    ]);
    expect([...tags.values()]).toEqual(["github-1", "own-key"]);
  });

  it("differs for servers whose prefixes differ only in what a scheme cannot have", () => {
    const tags = uriTags([
      { name: "one", prefix: "a_b" },
      { name: "two", prefix: "A-b" },
      { name: "three", prefix: "a.b" },
    ]);
    expect(tags.get("one")).toBe("a-b");
    expect(tags.get("two")).toMatch(/^a-b-[0-9a-f]{8}$/);
    expect(tags.get("three")).toBe("a.b");
  });
});

describe("an alias", () => {
  it("is a longer scheme; a view keeps the scheme ui", () => {
    expect(withTag("b", "file:///p")).toBe("mux-b+file:///p");
    expect(withTag("b", "ui://a/b")).toBe("ui://b--a/b");
    expect(withTag("b", "file:///{+path}")).toBe("mux-b+file:///{+path}");
  });

  it("is a valid URI and can be turned back, whatever the URI and the prefix", () => {
    const scheme = fc.stringMatching(/^[a-z][a-z0-9+.-]{0,8}$/);
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), scheme, fc.webPath(), (prefix, name, path) => {
        const tag = uriTags([{ name: "server", prefix }]).get("server")!;
        for (const uri of [`${name}://${path}`, `${name}:x`, `ui://${path}`]) {
          const alias = withTag(tag, uri);
          expect(alias).toMatch(/^[A-Za-z][A-Za-z0-9+.-]*:/);
          expect(alias.startsWith("ui:")).toBe(uri.startsWith("ui://"));
          expect(withoutTag(tag, alias)).toBe(uri);
        }
      }),
    );
  });
});

describe("the owner of a URI", () => {
  it("is the server that lists it, though another stands before", () => {
    const all = owners("a", "b");
    all.claimUris("a", LIST, ["x:1"], true);
    all.claimUris("b", LIST, ["x:2"], true);
    expect(all.ownersOf("x:2", ["a", "b"])).toEqual({ certain: { server: "b", original: "x:2" }, candidates: [] });
    expect(all.hasAliases("b")).toBe(false);
  });

  it("of a URI that two list is the one configured first, whoever came first; the other's copy has an alias", () => {
    for (const order of [
      ["a", "b"],
      ["b", "a"],
    ]) {
      const all = owners("a", "b");
      for (const server of order) all.claimUris(server, LIST, ["file:///shared", "ui://v/1"], true);
      expect(all.publicUri("a", "file:///shared")).toBe("file:///shared");
      expect(all.publicUri("b", "file:///shared")).toBe("mux-b+file:///shared");
      expect(all.publicUri("b", "ui://v/1")).toBe("ui://b--v/1");
      for (const uri of ["file:///shared", "ui://v/1"]) {
        expect(all.ownersOf(uri, []).certain).toEqual({ server: "a", original: uri });
        expect(all.ownersOf(all.publicUri("b", uri), []).certain).toEqual({ server: "b", original: uri });
      }
      expect([all.hasAliases("a"), all.hasAliases("b")]).toEqual([false, true]);
    }
  });

  it("of an alias is known by the alias alone where it can be", () => {
    const fresh = owners("a", "b");
    expect(fresh.originalUri("mux-b+file:///never/listed")).toEqual({ server: "b", original: "file:///never/listed" });
    expect(fresh.originalUri("MUX-B+file:///x")).toEqual({ server: "b", original: "file:///x" });
    expect(fresh.originalUri("mux-zz+file:///x")).toBeUndefined();
    expect(fresh.originalUri("ui://b--x")).toBeUndefined();
    expect(fresh.originalUri("file:///x")).toBeUndefined();
  });

  it("of what looks like an alias is the server that lists it so, and the alias then looks otherwise", () => {
    const all = owners("inner", "b", "c");
    all.claimUris("inner", LIST, ["mux-c+file:///x", "file:///x"], true);
    all.claimUris("c", LIST, ["file:///x"], true);
    expect(all.ownersOf("mux-c+file:///x", []).certain).toEqual({ server: "inner", original: "mux-c+file:///x" });
    const alias = all.publicUri("c", "file:///x");
    expect(alias).toMatch(/^mux-c-[0-9a-f]{8}\+file:\/\/\/x$/);
    expect(all.ownersOf(alias, []).certain).toEqual({ server: "c", original: "file:///x" });
  });

  it("of a view that only tools name is the server of the tool", () => {
    const all = owners("a", "b");
    all.claimUris("a", "tools/list", ["ui://view"], true);
    all.claimUris("b", "tools/list", ["ui://view"], true);
    expect(all.publicUri("b", "ui://view")).toBe("ui://b--view");
    expect(all.ownersOf("ui://b--view", []).certain).toEqual({ server: "b", original: "ui://view" });
  });

  it("of an unlisted URI is the one server whose template makes it", () => {
    const all = owners("a", "b");
    all.claimTemplates("b", ["note://{id}"]);
    expect(all.ownersOf("note://1", ["a", "b"]).certain).toEqual({ server: "b", original: "note://1" });
  });

  it("is asked for where several templates make the URI, the most literal first", () => {
    const all = owners("a", "b", "c");
    all.claimTemplates("a", ["file:///{+path}"]);
    all.claimTemplates("b", ["file:///docs/{name}"]);
    const { certain, candidates } = all.ownersOf("file:///docs/x", ["a", "b", "c"]);
    expect(certain).toBeUndefined();
    expect(candidates.map((one) => one.server)).toEqual(["b", "a", "c"]);
  });

  it("of a URI of one of two equal templates is told by the alias of the template", () => {
    const all = owners("a", "b");
    all.claimTemplates("a", ["file:///{path}", "ui://{v}/x"]);
    all.claimTemplates("b", ["file:///{path}", "ui://{v}/x"]);
    expect(all.publicTemplate("a", "file:///{path}")).toBe("file:///{path}");
    expect(all.publicTemplate("b", "file:///{path}")).toBe("mux-b+file:///{path}");
    expect(all.publicTemplate("b", "ui://{v}/x")).toBe("ui://b--{v}/x");
    expect(all.ownersOf("mux-b+file:///1", []).certain).toEqual({ server: "b", original: "file:///1" });
    expect(all.ownersOf("ui://b--1/x", []).certain).toEqual({ server: "b", original: "ui://1/x" });
    expect(all.ownersOf("mux-b+file:///{path}", []).certain).toEqual({ server: "b", original: "file:///{path}" });
    expect(all.ownersOf("file:///{path}", []).certain).toEqual({ server: "a", original: "file:///{path}" });
    // What b answers about file:///1 is known to hosts by the alias that they asked for.
    expect(all.publicUri("b", "file:///1")).toBe("mux-b+file:///1");
    expect(all.ownersOf("file:///1", ["a", "b"]).candidates.map((one) => one.server)).toEqual(["a", "b"]);
  });

  it("of a URI from a result is first asked of the server that named it", () => {
    const all = owners("a", "b", "c");
    all.remember("https://x/1", "b");
    expect(all.ownersOf("https://x/1", ["a", "b", "c"]).candidates.map((one) => one.server)).toEqual(["b", "a", "c"]);
    all.claimTemplates("c", ["https://x/{n}"]);
    expect(all.ownersOf("https://x/1", ["a", "b", "c"]).candidates.map((one) => one.server)).toEqual(["b", "c", "a"]);
    all.remember("https://x/2", "c");
    expect(all.ownersOf("https://x/2", []).certain).toEqual({ server: "c", original: "https://x/2" });
  });

  it("of a URI that a server names but another lists stays the server that named it, by an alias", () => {
    const all = owners("a", "b");
    all.claimUris("a", LIST, ["file:///shared", "ui://shared"], true);
    expect(all.publicUri("b", "file:///shared")).toBe("mux-b+file:///shared");
    const view = all.publicUri("b", "ui://shared");
    expect(all.ownersOf(view, []).certain).toEqual({ server: "b", original: "ui://shared" });
  });

  it("of a URI that nobody has is asked for in the order of the configuration", () => {
    expect(owners("a", "b").ownersOf("x:1", ["a", "b"])).toEqual({
      certain: undefined,
      candidates: [
        { server: "a", original: "x:1" },
        { server: "b", original: "x:1" },
      ],
    });
  });

  it("changes the version of the aliases only where two servers meet", () => {
    const all = owners("a", "b");
    all.claimUris("a", LIST, ["x:1", "x:2"], true);
    all.claimUris("b", LIST, ["y:1"], true);
    expect(all.version).toBe(0);
    all.claimUris("b", LIST, ["x:2"], false);
    expect(all.version).toBe(1);
    all.claimUris("b", LIST, ["x:2", "y:2"], true);
    expect(all.version).toBe(1);
    all.claimUris("a", LIST, ["x:1"], true);
    expect(all.version).toBe(2);
    expect(all.publicUri("b", "x:2")).toBe("x:2");
  });
});
