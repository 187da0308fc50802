import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/errors.ts";
import { compileGlob, type GlobStyle } from "../../src/pipeline/policy/glob.ts";
import { plainSpellings } from "../../src/pipeline/policy/spelling.ts";

const matches = (glob: string, name: string, style: GlobStyle) => compileGlob(glob, style, "rules[0].tools").test(name);

describe("globs on names of tools and prompts", () => {
  test.each([
    ["*", "anything", true],
    ["*", "", true],
    ["*", "..", true],
    ["*", "a/b\nc", true],
    ["read_*", "read_file", true],
    ["read_*", "read_", true],
    ["read_*", "read_a/b", true],
    ["read_*", "read_\nfile", true],
    ["read_*", "read_\u2028", true],
    ["read_*", "Read_file", false],
    ["read_*", "xread_file", false],
    ["*_file", "read_file", true],
    ["*_file", ".hidden_file", true],
    ["*_file", "read_files", false],
    ["a*b*c", "a--b--b--c", true],
    ["a*b*c", "abc", true],
    ["a*b*c", "acb", false],
    ["a*a", "a", false],
    ["query", "query", true],
    ["query", "query2", false],
    ["query", "query ", false],
    ["v1.tools", "v1xtools", false],
    ["a+b", "a+b", true],
    ["get_?", "get_x", true],
    ["get_?", "get_/", true],
    ["get_?", "get_xy", false],
    ["{get,put}_*", "put_x/y", true],
    ["{get,put}_*", "post_x", false],
    ["[ab]*", "b/../c", true],
    ["[ab]*", "c", false],
    ["@(a|b)_*", "b_1", true],
    ["./x*", "x1", false],
    ["./x?", "x1", false],
    ["./x?", "./x1", true],
    ["a/?*", "a/b", true],
    ["weird[name]", "weird[name]", true],
    ["\\*star", "*star", true],
    ["\\*star", "xstar", false],
  ])("%j and %j: %s", (glob, name, expected) => {
    expect(matches(glob, name, "flat")).toBe(expected);
  });

  test("a star stands for any characters, whatever they are", () => {
    const part = fc.string({ unit: "binary" }).filter((text) => !/[*?[\]{}()!+@|\\]/.test(text));
    fc.assert(
      fc.property(part, part, fc.string({ unit: "binary" }), (before, after, any) => {
        fc.pre(`${before}*${after}`.trim() !== "");
        expect(matches(`${before}*${after}`, before + any + after, "flat")).toBe(true);
      }),
    );
  });

  test("a hostile name cannot make matching slow: it is left undecided", () => {
    const started = performance.now();
    expect(matches("*a*a*a*a*a*a*b", "a".repeat(100_000), "flat")).toBe(false);
    expect(matches("[a]*a*a*a*a*a*b", "a".repeat(100_000), "flat")).toBe(undefined);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("globs on URIs", () => {
  test.each([
    ["*", "docs://a/b/c", true],
    ["**", "file:///a/../b", true],
    ["docs://**", "docs://a/b/c", true],
    ["docs://**", "docs://", true],
    ["docs://**", "docs:/a", false],
    ["docs://*", "docs://x", true],
    ["docs://*", "docs://.hidden", true],
    ["docs://*", "docs://x/y", false],
    ["docs://*", "docs://x/", false],
    ["docs://*/readme", "docs://x/readme", true],
    ["docs://*/readme", "docs://x/y/readme", false],
    ["docs://**/readme", "docs://x/y/readme", true],
    ["file:///**", "file:///a/b", true],
    ["file:///*", "file:///a", true],
    ["file:///*", "file:///a/b", false],
    ["file:///srv/**/*.md", "file:///srv/a/b/c.md", true],
    ["file:///srv/**/*.md", "file:///srv/c.md", true],
    ["file:///srv/**/*.md", "file:///srv/c.txt", false],
    ["ui://app/*", "ui://app/main", true],
    ["ui://**", "ui://app/main", true],
    ["docs://{id}", "docs://{id}", true],
    ["docs://{id}/*", "docs://{id}/x", true],
    ["docs://{+path}", "docs://{+path}", true],
    ["docs://{a,b}/x", "docs://b/x", true],
    ["Docs://x", "docs://x", false],
  ])("%j and %j: %s", (glob, uri, expected) => {
    expect(matches(glob, uri, "path")).toBe(expected);
  });
});

test.each(["", " ", "!secret", "a!(b)", "[", "(a"])("the glob %j is refused", (glob) => {
  expect(() => matches(glob, "x", "flat")).toThrow(ConfigError);
  expect(() => matches(glob, "x", "flat")).toThrow(/rules\[0\]\.tools/);
});

describe("other spellings of a URI", () => {
  test.each([
    ["file:///pub/../secret/x", ["file:///secret/x"]],
    ["file:///%73ecret/x", ["file:///secret/x"]],
    ["file:///pub/%2e%2e/secret", ["file:///secret"]],
    ["file:///pub/./x", ["file:///pub/x"]],
    ["file:///pub//x", ["file:///pub/x"]],
    ["file:////secret", ["file:///secret"]],
    ["file:///pub\\..\\secret", ["file:///secret"]],
    ["FILE:///secret", ["file:///secret"]],
    ["https://Example.com/A", ["https://example.com/A"]],
    ["docs://public/../secret", ["docs://public/secret", "docs://secret"]],
    ["docs://a/b/..", ["docs://a/"]],
    ["docs://a/b", []],
    ["file:///a/b.txt", []],
    ["file:///a/.env", []],
    ["mailto:a@b", []],
    ["%zz", []],
    ["no uri", []],
  ])("%j has %j", (uri, plain) => {
    expect(plainSpellings(uri)).toEqual(plain);
  });

  test("a plain form is in its plain form", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "..", ".", "", "%2e", "b", "\\", "~")), (parts) => {
        for (const plain of plainSpellings(`docs://h/${parts.join("/")}`)) {
          expect(plainSpellings(plain).filter((again) => again !== plain)).toEqual([]);
        }
      }),
    );
  });
});
