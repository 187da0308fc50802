import { describe, expect, it } from "vitest";
import { readPage } from "../../src/router/items.ts";
import { type ListMethod, listRow } from "../../src/router/lists.ts";
import { render } from "../../src/router/render.ts";
import { resultFrame } from "./fake.ts";

function read(method: ListMethod, ...items: string[]) {
  return readPage(resultFrame(`{"${listRow(method).member}":[${items.join(" , ")}]}`), listRow(method), "s");
}

function shown(method: ListMethod, item: string, more: Partial<Parameters<typeof render>[1]> = {}): string {
  const raw = read(method, item).items[0]!;
  return render(raw, { publicName: raw.key, rename: undefined, publicUri: (uri) => uri, ...more }).bytes.toString();
}

describe("a definition", () => {
  it("passes byte for byte but for its name: numbers, key order, vendor keys that stand twice, escapes, white space", () => {
    const before = `{ "x-b":9223372036854775808,"x-a":1.0,"e":1e21,"z":-0,"vendor":{"k":1,"k":2},`;
    const after = ` ,"description":"\\u00e9\\/\\ud83d","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":true},"type":"object","properties":{"name":{"type":"string"}},"__proto__":{"x":false}},"title" : null,"icons":[{"src":"javascript:x"}],"future":[{}]}`;
    expect(shown("tools/list", `${before}"name":"do"${after}`, { publicName: "s__do" })).toBe(
      `${before}"name":"s__do"${after}`,
    );
  });

  it("is the same buffer if nothing is to be changed", () => {
    const raw = read("resources/list", `{"uri":"file:///a","name":"x"}`).items[0]!;
    expect(render(raw, { publicName: raw.key, rename: undefined, publicUri: (uri) => uri }).bytes).toBe(raw.bytes);
  });

  it("has its public name everywhere where its name stands, so that first-wins and last-wins parsers agree", () => {
    const text = `{"name":"first","n\\u0061me":"last","inputSchema":{"type":"object"}}`;
    expect(read("tools/list", text).items[0]!.key).toBe("last");
    expect(shown("tools/list", text, { publicName: "p" })).toBe(
      `{"name":"p","n\\u0061me":"p","inputSchema":{"type":"object"}}`,
    );
  });

  it("takes title and description from a rename, replaced where they stand and added where they do not", () => {
    const rename = { title: "T", description: 'D "q"' };
    expect(
      shown("tools/list", `{"title":"a","name":"n","inputSchema":{"type":"object","title":"in"}}`, { rename }),
    ).toBe(`{"title":"T","name":"n","description":"D \\"q\\"","inputSchema":{"type":"object","title":"in"}}`);
    expect(
      shown("tools/list", `{"inputSchema":{"type":"object"},"description":null,"name":"n"}`, {
        rename,
        publicName: "p",
      }),
    ).toBe(`{"inputSchema":{"type":"object"},"description":"D \\"q\\"","name":"p","title":"T"}`);
  });

  it("names the alias of its view where there is one, in both keys, and nothing else", () => {
    const publicUri = (uri: string): string => (uri === "ui://v" ? "ui://s--v" : uri);
    const text = (uri: string): string =>
      `{"name":"n","inputSchema":{"type":"object","default":"ui://v"},"_meta":{"a":1.0,"ui":{"resourceUri":"${uri}","visibility":["app"]},"ui/resourceUri":"${uri}","other":"ui://v"},"ui":{"resourceUri":"ui://v"}}`;
    expect(shown("tools/list", text("ui://v"), { publicUri })).toBe(text("ui://s--v"));
    expect(shown("tools/list", text("ui://w"), { publicUri })).toBe(text("ui://w"));
    const twice = (uri: string): string =>
      `{"name":"n","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":7,"resourceUri":"${uri}"},"ui":"${uri}","ui/resourceUri":"${uri}"}}`;
    expect(shown("tools/list", twice("ui://v"), { publicUri })).toBe(
      twice("ui://s--v").replace('"ui":"ui://s--v"', '"ui":"ui://v"'),
    );
  });

  it("that demands a task says it is optional, and is known to demand one", () => {
    const text = (support: string): string =>
      `{"name":"n","execution":{"x":1,"taskSupport":"${support}"},"inputSchema":{"type":"object"}}`;
    expect(shown("tools/list", text("required"))).toBe(text("optional"));
    expect(shown("tools/list", text("forbidden"))).toBe(text("forbidden"));
    expect(read("tools/list", text("required"), text("optional")).items.map((one) => one.taskRequired)).toEqual([
      true,
      false,
    ]);
  });

  it("is parsed as the server sent it", () => {
    const raw = read(
      "tools/list",
      `{"name":"n","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`,
    ).items[0]!;
    const item = render(raw, { publicName: "s__n", rename: { title: "t" }, publicUri: (uri) => uri });
    expect(item.definition()).toEqual({
      name: "n",
      inputSchema: { type: "object" },
      annotations: { destructiveHint: true },
    });
    expect(item.definition()).toBe(item.definition());
    expect(item).toMatchObject({ server: "s", kind: "tool", method: "tools/list", original: "n", publicName: "s__n" });
  });

  it("that hosts would refuse the whole list for is withheld, with the reason, and the others pass", () => {
    const { items, withheld } = read(
      "tools/list",
      `{"name":"good1","inputSchema":{"type":"object"}}`,
      `7`,
      `{"inputSchema":{"type":"object"}}`,
      `{"name":3,"inputSchema":{"type":"object"}}`,
      `{"name":"missing"}`,
      `{"name":"null","inputSchema":null}`,
      `{"name":"string","inputSchema":{"type":"string"}}`,
      `{"name":"list","inputSchema":{"type":["object"]}}`,
      `{"name":"untyped","inputSchema":{"properties":{}}}`,
      `{"name":"last","inputSchema":{"type":"object","type":"int"}}`,
      `{"name":"good2","inputSchema":{"type":"obj\\u0065ct","properties":{"a":{"type":"int"}}},"outputSchema":{"$ref":"#/nowhere"}}`,
    );
    expect(items.map((one) => one.key)).toEqual(["good1", "good2"]);
    expect(withheld).toEqual(
      [
        ["#1", "it is not an object"],
        ["#2", 'its "name" is missing or not a string'],
        ["#3", 'its "name" is missing or not a string'],
        ["missing", 'its "inputSchema" is missing'],
        ["null", 'its "inputSchema" is not an object'],
        ["string", 'the "type" of its "inputSchema" is "string", not "object"'],
        ["list", 'the "type" of its "inputSchema" is ["object"], not "object"'],
        ["untyped", 'its "inputSchema" has no "type"; it must be "object"'],
        ["last", 'the "type" of its "inputSchema" is "int", not "object"'],
      ].map(([original, why]) => ({ server: "s", kind: "tool", original, why })),
    );
  });

  it.each([
    ["prompts/list", `{"name":"p"}`, [`{}`, `"p"`]],
    ["resources/list", `{"uri":"u:1","name":"r"}`, [`{"uri":"u:1"}`, `{"name":"r"}`, `{"uri":null,"name":"r"}`, `[]`]],
    [
      "resources/templates/list",
      `{"uriTemplate":"u:{x}","name":"t"}`,
      [`{"uri":"u:1","name":"t"}`, `{"uriTemplate":"u:{x}"}`],
    ],
  ] as const)("of %s needs its key and a name", (method, good, bad) => {
    const { items, withheld } = read(method, ...bad, good);
    expect(items).toHaveLength(1);
    expect(withheld).toHaveLength(bad.length);
  });

  it("page without an array of items is no answer", () => {
    for (const result of [`{}`, `{"tools":{}}`, `{"tools":null}`, `[]`]) {
      expect(() => readPage(resultFrame(result), listRow("tools/list"), "s")).toThrow(/no array "tools"/);
    }
  });

  it("page gives its cursor as it was written; null is none, a number ends the list", () => {
    const cursor = (text: string) =>
      readPage(resultFrame(`{"nextCursor":${text},"tools":[]}`), listRow("tools/list"), "s");
    expect(cursor(`"c%2F1=\\u003d"`).nextCursor).toBe(`"c%2F1=\\u003d"`);
    expect(cursor(`""`).nextCursor).toBe(`""`);
    expect(cursor(`null`)).toMatchObject({ nextCursor: undefined, oddCursor: undefined });
    expect(cursor(`7`)).toMatchObject({ nextCursor: undefined, oddCursor: "7" });
  });
});
