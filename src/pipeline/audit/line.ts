/** A line of an audit file: how it is written, and what whoever reads it sees of it. */
import { hash } from "node:crypto";
import type { AuditLine } from "./record.ts";

/** `prev` of the first line of all. */
export const GENESIS = "0".repeat(64);

/** Where a line stands: its number, and the SHA-256 of the line before. */
export interface Link {
  readonly seq: number;
  readonly prev: string;
}

/**
 * Stands in the first line of a file that is not the first of its chain: the file before was set aside ("rotated"), or
 * was gone while a process wrote it ("anew"). Without it lines are missing at the beginning.
 */
export type Begins = "rotated" | "anew";

export function lineHash(line: string | Buffer): string {
  return hash("sha256", line, "hex");
}

/** Whole but for its LF. */
export function lineAt({ seq, prev }: Link, { time, rest }: AuditLine, begins?: Begins): string {
  const mark = begins === undefined ? "" : `"begins":"${begins}",`;
  return `{"time":"${time}","seq":${seq},"prev":"${prev}",${mark}${rest}}`;
}

export interface PlacedRecord {
  readonly time: string;
  readonly seq: number;
  readonly prev: string;
  readonly [field: string]: unknown;
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const HASH = /^[0-9a-f]{64}$/;

/** undefined for what is no record: cut by a crash, or altered. */
export function parseLine(line: Buffer): PlacedRecord | undefined {
  if (line[0] !== OPEN || line.at(-1) !== CLOSE) return undefined;
  let record: Partial<PlacedRecord>;
  try {
    record = JSON.parse(line.toString("utf8")) as Partial<PlacedRecord>;
  } catch {
    return undefined;
  }
  const { time, seq, prev } = record;
  if (typeof time !== "string" || typeof seq !== "number" || typeof prev !== "string") return undefined;
  return Number.isSafeInteger(seq) && seq > 0 && HASH.test(prev) ? (record as PlacedRecord) : undefined;
}
