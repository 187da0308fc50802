/**
 * A definition in its one canonical spelling: keys sorted, no white space, strings escaped in one way, whole numbers
 * written in one way. Two definitions are the same exactly if their canonical texts are; order in arrays counts.
 */
import { hash } from "node:crypto";

/** Nested deeper than anything of use: kept as it came, so that key order counts, rather than looked into. */
const MAX_DEPTH = 200;
/** Up to so many digits a number survives being read and written. */
const EXACT_DIGITS = 15;

interface Open {
  readonly isObject: boolean;
  readonly parts: { readonly key: string; readonly text: string }[];
  key: string | undefined;
}

/** `text`: valid JSON text. */
export function canonical(text: string): string {
  const open: Open[] = [];
  let at = 0;
  for (;;) {
    const c = text[at];
    let value: string | undefined;
    if (c === undefined) return text;
    if (c === "{" || c === "[") {
      if (open.length >= MAX_DEPTH) return text.trim();
      open.push({ isObject: c === "{", parts: [], key: undefined });
      at++;
    } else if (c === "}" || c === "]") {
      value = closed(open.pop()!);
      at++;
    } else if (c === '"') {
      const end = endOfString(text, at);
      const string = JSON.stringify(JSON.parse(text.slice(at, end)));
      at = end;
      const inside = open.at(-1);
      if (inside?.isObject === true && inside.key === undefined) inside.key = string;
      else value = string;
    } else if (c <= " " || c === "," || c === ":") {
      at++;
    } else {
      const end = endOfWord(text, at);
      value = word(text.slice(at, end));
      at = end;
    }
    if (value === undefined) continue;
    const inside = open.at(-1);
    if (inside === undefined) return value;
    inside.parts.push({ key: inside.key ?? "", text: value });
    inside.key = undefined;
  }
}

/** SHA-256 of a canonical text, in hex. */
export function digestOf(canonicalText: string): string {
  return hash("sha256", canonicalText, "hex");
}

/** Of two members with one key the order stays: it decides which one counts. */
function closed({ isObject, parts }: Open): string {
  if (!isObject) return `[${parts.map(({ text }) => text).join(",")}]`;
  const sorted = parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return `{${sorted.map(({ key, text }) => `${key}:${text}`).join(",")}}`;
}

/** Numbers are compared by value where that is certain: 1, 1.0 and 1e0 are one. */
function word(text: string): string {
  if (/^[tfn]/.test(text)) return text;
  const digits = text.replace(/[eE].*$/, "").replace(/[^0-9]/g, "").length;
  const value = Number(text);
  return digits <= EXACT_DIGITS && Number.isFinite(value) ? String(value === 0 ? 0 : value) : text;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    let from = quote;
    while (from > at && text[from - 1] === "\\") from--;
    at = quote + 1;
    if ((quote - from) % 2 === 0) return at;
  }
}

function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at++;
  return at;
}
