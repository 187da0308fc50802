/**
 * JSON text -> what a person is shown of it. Strings are decoded and written anew, so that `\u0072\u006d` reads "rm";
 * numbers, order and twins stay as they were sent; nothing in a string can end a line or turn the direction of the text.
 */
import { reveal } from "../../wire/invisible.ts";

const MAX_STRING = 160;

/** Valid JSON text, indented, in at most about `limit` characters; what is left out is said. */
export function shownJson(text: string, limit: number): string {
  const whole = print(text, limit, Infinity);
  if (whole.ended) return whole.text;
  // One long text must not push the others out of sight.
  const short = print(text, limit, MAX_STRING);
  if (short.ended) return short.text;
  return `${short.text}\n… [cut: ${text.length - short.upTo} more characters are not shown]`;
}

/** A name of a server's, in quotes. */
export function shownName(name: string, limit = 200): string {
  return shortened(name, limit);
}

function print(text: string, limit: number, maxString: number): { text: string; ended: boolean; upTo: number } {
  let out = "";
  let depth = 0;
  let at = 0;
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, 20))}`;
  while (at < text.length) {
    const from = at;
    const c = text[at]!;
    let piece = "";
    if (c === '"') {
      at = endOfString(text, at);
      // Six characters of JSON text may be one of the string's; not decoded only to see that it is too long.
      if (maxString === Infinity && at - from > 6 * limit + 2) return { text: out, ended: false, upTo: from };
      piece = shortened(JSON.parse(text.slice(from, at)) as string, maxString);
    } else if (c === "{" || c === "[") {
      at = skipSpace(text, at + 1);
      if (text[at] === "}" || text[at] === "]") piece = c + text[at++]!;
      else {
        depth++;
        piece = c + newLine();
      }
    } else if (c === "}" || c === "]") {
      depth--;
      piece = newLine() + c;
      at++;
    } else if (c === ",") {
      piece = `,${newLine()}`;
      at++;
    } else if (c === ":") {
      piece = ": ";
      at++;
    } else if (c <= " ") {
      at++;
    } else {
      while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at++;
      piece = text.slice(from, at);
    }
    if (out.length + piece.length > limit) return { text: cutAt(out + piece, limit), ended: false, upTo: from };
    out += piece;
  }
  return { text: out, ended: true, upTo: at };
}

function shortened(value: string, limit: number): string {
  if (value.length <= limit) return reveal(JSON.stringify(value));
  const kept = cutAt(value, limit);
  return `${reveal(JSON.stringify(kept))}… [cut: ${value.length - kept.length} more characters]`;
}

/** Never between the halves of a character. */
function cutAt(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    let slashes = quote;
    while (text[slashes - 1] === "\\" && slashes > at) slashes--;
    at = quote + 1;
    if ((quote - slashes) % 2 === 0) return at;
  }
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at]! <= " ") at++;
  return at;
}
