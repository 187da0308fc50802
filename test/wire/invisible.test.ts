import { expect, test } from "vitest";
import { findInvisible, mixedAlphabets, reveal } from "../../src/wire/invisible.ts";

test.each([
  ["\u202e", "bidi control"],
  ["\u2066", "bidi control"],
  ["\u061c", "bidi control"],
  ["\u200b", "zero width"],
  ["\u200d", "zero width"],
  ["\u2060", "zero width"],
  ["\ufeff", "zero width"],
  ["\u{e0061}", "tag character (a)"],
  ["\u{e0001}", "tag character"],
  ["\ufe0f", "variation selector"],
  ["\u{e0100}", "variation selector"],
  ["\u2028", "line separator"],
  ["\u0000", "control character"],
  ["\u001b", "control character"],
  ["\u0085", "control character"],
  ["\u00ad", "no glyph"],
  ["\u180e", "no glyph"],
  ["\u2800", "no glyph"],
  ["\u3164", "no glyph"],
  ["\ud800", "half a character"],
])("%j is found, named and shown", (character, what) => {
  const text = `a${character}b`;
  const code = character.codePointAt(0)!.toString(16).toUpperCase();
  expect(findInvisible(text)).toEqual([{ code: `U+${code.padStart(4, "0")}`, what, at: 1 }]);
  expect(reveal(text)).toBe(`a\\u{${code}}b`);
});

test("what is seen stays: text of all kinds, emoji of several parts, line feeds and tabs", () => {
  for (const text of ["plain", "line\n\tnext", "ü\u0308 ё 漢字 עברית عربي हिन्दी", "👩‍👩‍👧 ❤️ 👍🏽 🏳️‍🌈", "a\u00a0b"]) {
    expect(findInvisible(text)).toEqual([]);
    expect(reveal(text)).toBe(text);
  }
});

test("words of several alphabets are named", () => {
  expect(mixedAlphabets("the \u0430dmin reads αlpha and админ")).toEqual(["\u0430dmin", "αlpha"]);
});
