import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { parseJson } from "../../src/config/source.ts";
import { tempDir } from "../support/dir.ts";
import { load, refusal } from "./support.ts";

const text = '{"mcpServers": {"a": {"command": "x"}}}';

describe("the file", () => {
  it("may begin with a byte order mark", async () => {
    expect((await load(`\ufeff${text}`)).servers).toHaveLength(1);
  });
  it("may be UTF-16, as Windows PowerShell writes it", async () => {
    expect((await load(Buffer.from(`\ufeff${text}`, "utf16le"))).servers).toHaveLength(1);
  });
  it("may end its lines as Windows does, and lines are counted all the same", async () => {
    expect(await refusal('{\r\n// c\r\n"mcpServers": {},\r\n"x": 1}')).toMatch(/^switchyard\.json:4: x: unknown key/);
  });
  it("with a mistake of syntax is refused with line and column", async () => {
    expect(await refusal('{\n  "mcpServers": {\n    "a" {}\n  }\n}')).toBe(
      "switchyard.json:3:9: not valid JSON: colon expected. Correct the file at this place.",
    );
  });
  it("that ends too early is refused with line and column", async () => {
    expect(await refusal('{"mcpServers": {')).toMatch(/^switchyard\.json:1:17: not valid JSON: close brace expected/);
  });
  it.each([
    ["empty", "", "the file is empty"],
    ["only a comment", "// nothing", "not valid JSON"],
    ["a list", "[]", "(top level): is not an object"],
    ["a text", '"x"', "(top level): is not an object"],
    ["not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "not UTF-8"],
    ["nested too deeply", "[".repeat(200_000), "nested too deeply"],
  ])("that is %s is refused", async (_, content, reason) => {
    expect(await refusal(content)).toContain(reason);
  });
  it("with two servers of one name is refused, naming both lines", async () => {
    const twice = '{"mcpServers": {\n"a": {"command": "x"},\n"a": {"command": "y"}}}';
    expect(await refusal(twice)).toContain("mcpServers.a: the key is given twice, in line 2 and in line 3");
  });
  it("with a key that would change the prototype is refused", async () => {
    expect(await refusal('{"mcpServers": {"__proto__": {"command": "x"}}}')).toContain("this key cannot be used");
    expect(await refusal('{"mcpServers": {}, "__proto__": {"policy": {}}}')).toContain("this key cannot be used");
  });
  it("that is not there is refused with its path, and so is a folder", async () => {
    await using dir = await tempDir();
    await expect(loadConfig(dir.file("none.json"), {})).rejects.toThrow(
      /none\.json: cannot read .*: there is no such file/,
    );
    mkdirSync(dir.file("folder"));
    await expect(loadConfig(dir.file("folder"), {})).rejects.toThrow(/folder: cannot read .*: it is a folder/);
  });
});

describe("JSON on the command line", () => {
  it("is strict, and its mistakes have a place", () => {
    expect(parseJson('{"a": [1, 2.5, null]}')).toEqual({ value: { a: [1, 2.5, null] } });
    expect(parseJson('{\n "a": b}')).toMatchObject({ line: 2, column: 7 });
    expect(parseJson('{"a": 1,}')).toMatchObject({ line: 1 });
    expect(parseJson('{"a": 1} // c')).toMatchObject({ line: 1 });
    expect(parseJson('"a\tb"')).toMatchObject({ line: 1 });
  });
});
