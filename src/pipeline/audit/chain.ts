/**
 * The hash chain: every line holds its number and the SHA-256 of the line before it (of its bytes, without LF), so that a
 * line that was changed, removed, swapped or put in is found out. Number and hash are given out here, in the order of
 * the file.
 */
import { hash } from "node:crypto";
import type { AuditLine } from "./record.ts";

/** `prev` of the first line of all. */
export const GENESIS = "0".repeat(64);

/** Where the next line goes. */
export interface Link {
  readonly seq: number;
  readonly prev: string;
}

export const FIRST: Link = { seq: 1, prev: GENESIS };

export function lineHash(line: string | Buffer): string {
  return hash("sha256", line, "hex");
}

/** The lines of a batch as one text, and where the line after them goes. */
export function chained(from: Link, lines: readonly AuditLine[]): { text: string; next: Link } {
  let { seq, prev } = from;
  let text = "";
  for (const { time, rest } of lines) {
    const line = `{"time":"${time}","seq":${seq},"prev":"${prev}",${rest}}`;
    prev = lineHash(line);
    seq++;
    text += line;
    text += "\n";
  }
  return { text, next: { seq, prev } };
}
