/**
 * Characters that a person does not see, and that a model or a program reads all the same: direction controls, zero
 * widths, tag characters, control characters. Shown as `\u{202E}` wherever a person decides on a text.
 */

export interface Hidden {
  /** "U+202E". */
  readonly code: string;
  /** What it is, for a person: "bidi control", "zero width", "tag character (a)", … */
  readonly what: string;
  /** Position in the text, in UTF-16 units. */
  readonly at: number;
}

/**
 * Everything without a glyph but blank, line feed and tab; U+2028 and U+2029, which some programs take for line breaks;
 * and the letters of Braille and Hangul that are blank.
 */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u115f\u1160\u3164\uffa0](?<![\n\t])/gu;

/** Joins two emoji, or picks their coloured form: part of a picture that is seen. */
const WITHIN_EMOJI = /\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?$/u;

/** Every character of the text that cannot be seen, in order. */
export function findInvisible(text: string): Hidden[] {
  const found: Hidden[] = [];
  for (const match of text.matchAll(UNSEEN)) {
    if (isSeen(text, match.index, match[0])) continue;
    const point = match[0].codePointAt(0)!;
    found.push({ code: codeOf(point), what: kindOf(point), at: match.index });
  }
  return found;
}

/** The text with every such character as `\u{…}`. Line feeds and tabs stay. */
export function reveal(text: string): string {
  return text.replace(UNSEEN, (character: string, at: number) =>
    isSeen(text, at, character) ? character : `\\u{${character.codePointAt(0)!.toString(16).toUpperCase()}}`,
  );
}

/**
 * Words whose letters are of alphabets that look alike, as in "аdmin" with a Cyrillic first letter: a hint, no proof.
 */
export function mixedAlphabets(text: string): string[] {
  const words = text.match(/[\p{L}\p{M}]+/gu) ?? [];
  return [
    ...new Set(
      words.filter((word) => /\p{Script=Latin}/u.test(word) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(word)),
    ),
  ];
}

function isSeen(text: string, at: number, character: string): boolean {
  if (character !== "\u200d" && character !== "\ufe0f") return false;
  return WITHIN_EMOJI.test(text.slice(Math.max(0, at - 4), at));
}

function codeOf(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

function kindOf(point: number): string {
  if (point === 0x61c || point === 0x200e || point === 0x200f) return "bidi control";
  if ((point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069)) return "bidi control";
  if ((point >= 0x200b && point <= 0x200d) || (point >= 0x2060 && point <= 0x2064) || point === 0xfeff)
    return "zero width";
  if (point >= 0xe0020 && point <= 0xe007e) return `tag character (${String.fromCharCode(point - 0xe0000)})`;
  if (point >= 0xe0000 && point <= 0xe007f) return "tag character";
  if ((point >= 0xfe00 && point <= 0xfe0f) || (point >= 0xe0100 && point <= 0xe01ef)) return "variation selector";
  if (point === 0x2028 || point === 0x2029) return "line separator";
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return "control character";
  if (point >= 0xd800 && point <= 0xdfff) return "half a character";
  return "no glyph";
}
