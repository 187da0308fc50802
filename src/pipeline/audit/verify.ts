/**
 * Re-computes the chain over a set of files and stops at the first line that is not what it was. What a crash or a
 * removed file has left behind is told as a note: the writer has marked it, and the marks are part of the chain.
 */
import { createHash, type Hash, type KeyObject } from "node:crypto";
import { Break, type Finding, type Place, recordsText } from "./finding.ts";
import { GENESIS, type Link, lineHash, type PlacedRecord, parseLine } from "./line.ts";
import { type Line, linesOfChain, openChain } from "./read.ts";
import { Signatures } from "./signatures.ts";

export interface ChainReport {
  readonly files: readonly string[];
  readonly records: number;
  readonly checkpoints: number;
  /** Numbers of the first and last record, and the hash of the last line: whoever keeps it can ask for it later. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly lastHash: string | undefined;
  readonly notes: readonly Finding[];
  /** The first bad line. */
  readonly problem: Finding | undefined;
}

export interface VerifyOptions {
  /** By key id; empty = signatures are not checked. */
  readonly keys: ReadonlyMap<string, KeyObject>;
  /** A record that must be there, with the hash of its line. */
  readonly contains?: { readonly seq: number; readonly hash: string } | undefined;
}

/** @param paths files of one chain, in order. @throws file system errors */
export function verifyChain(paths: readonly string[], options: VerifyOptions): ChainReport {
  const check = new ChainCheck(options);
  const files = openChain(paths);
  let problem: Finding | undefined;
  try {
    for (const line of linesOfChain(files)) check.line(line);
    check.end();
  } catch (error) {
    if (!(error instanceof Break)) throw error;
    problem = error.finding;
  }
  return { files: files.map(({ path }) => path), ...check.seen, notes: check.notes, problem };
}

/** Lines that are no records, until the record that seals them off. */
interface Remains {
  readonly at: Place;
  readonly hash: Hash;
  bytes: number;
  lines: number;
  lastHash: string;
}

interface Suspect {
  readonly at: Place;
  readonly before: Place;
  readonly hash: string;
}

const NO_RECORD = "is no record: it was altered, or put in";
const NOT_SEALED = "is no record: it was altered, or a crash has cut it and nobody has written to the file since";

class ChainCheck {
  readonly notes: Finding[] = [];
  readonly #contains: VerifyOptions["contains"];
  readonly #signatures: Signatures;
  #records = 0;
  #first: number | undefined;
  #last: number | undefined;
  #file: string | undefined;
  /** The file has had no record yet. */
  #atStart = true;
  #lastAt: Place = { file: "", line: 0 };
  /** Where the next record must stand. */
  #due: Link | undefined;
  #remains: Remains | undefined;
  #unfinished: { readonly at: Place; readonly bytes: number } | undefined;
  /** A record that does not follow; the next line tells whether it or the one before was altered. */
  #suspect: Suspect | undefined;
  #contained = false;

  constructor({ keys, contains }: VerifyOptions) {
    this.#contains = contains;
    this.#signatures = new Signatures(keys, (at, what) => this.#note(at, what));
  }

  get seen(): Pick<ChainReport, "records" | "checkpoints" | "first" | "last" | "lastHash"> {
    const lastHash = this.#due?.prev;
    return {
      records: this.#records,
      checkpoints: this.#signatures.count,
      first: this.#first,
      last: this.#last,
      lastHash,
    };
  }

  /** @throws Break */
  line({ bytes, file, number, finished }: Line): void {
    const at = { file, line: number };
    const record = parseLine(bytes);
    if (this.#suspect !== undefined) this.#accuse(this.#suspect, record);
    if (file !== this.#file) this.#enter(file);
    if (record !== undefined) this.#follow(record, bytes, at);
    else if (finished) this.#keep(bytes, at);
    else this.#unfinished = { at, bytes: bytes.length };
  }

  /** @throws Break */
  end(): void {
    if (this.#suspect !== undefined) this.#accuse(this.#suspect, undefined);
    if (this.#remains !== undefined) throw new Break(this.#remains.at, NOT_SEALED);
    if (this.#unfinished !== undefined) {
      const { at, bytes } = this.#unfinished;
      this.#note(at, `is unfinished (${bytes} bytes): it is being written, or a crash has cut it`);
    }
    this.#signatures.end(this.#lastAt, this.#last);
    if (this.#contains !== undefined && !this.#contained) {
      throw new Break(
        this.#lastAt,
        `record ${this.#contains.seq} is not there: the end was cut off, or it is another chain`,
      );
    }
  }

  #enter(file: string): void {
    // Every file but the last was closed in order, or mended before the next one was begun.
    if (this.#remains !== undefined) throw new Break(this.#remains.at, NO_RECORD);
    if (this.#unfinished !== undefined) throw new Break(this.#unfinished.at, NO_RECORD);
    this.#file = file;
    this.#atStart = true;
  }

  #keep(bytes: Buffer, at: Place): void {
    this.#remains ??= { at, hash: createHash("sha256"), bytes: 0, lines: 0, lastHash: "" };
    const remains = this.#remains;
    if (remains.lines > 0) remains.hash.update("\n");
    remains.hash.update(bytes);
    remains.bytes += bytes.length + (remains.lines > 0 ? 1 : 0);
    remains.lines++;
    remains.lastHash = lineHash(bytes);
  }

  #follow(record: PlacedRecord, bytes: Buffer, at: Place): void {
    const { seq } = record;
    const before = this.#beforeOf(record, at);
    if (this.#atStart) this.#begin(record, before, at);
    const due = this.#due;
    const hash = lineHash(bytes);
    if (due !== undefined && seq > due.seq) {
      throw new Break(at, `${recordsText(due.seq, seq - 1)} should stand before it: removed, or swapped`);
    }
    if (due !== undefined && seq < due.seq) {
      throw new Break(at, `is record ${seq}, and ${due.seq} is due: it was put in, repeated or swapped`);
    }
    if (due !== undefined && before !== due.prev) this.#suspect = { at, before: this.#lastAt, hash };
    this.#remains = undefined;
    this.#atStart = false;
    this.#records++;
    this.#first ??= seq;
    this.#last = seq;
    this.#lastAt = at;
    this.#due = { seq: seq + 1, prev: hash };
    if (this.#suspect !== undefined) return;
    if (this.#contains?.seq === seq) {
      this.#contained = true;
      if (this.#contains.hash !== hash) throw new Break(at, "is another line than the one that must be there");
    }
    this.#signatures.record(record, bytes, at);
  }

  /** The hash of the record before, as this one has it. One that seals something off is held against what it seals. */
  #beforeOf(record: PlacedRecord, at: Place): string {
    const remains = this.#remains;
    const { event, lines, bytes, sha256, after, prev } = record;
    if (remains === undefined) {
      if (event === "sealed") throw new Break(at, "seals off a line that is not there");
      return prev;
    }
    if (event !== "sealed") throw new Break(remains.at, NO_RECORD);
    const right = remains.hash.digest("hex") === sha256 && remains.lines === lines && remains.bytes === bytes;
    if (!right || remains.lastHash !== prev || typeof after !== "string") {
      throw new Break(remains.at, `is not what line ${at.line} seals off: it was altered`);
    }
    this.#note(remains.at, `was cut by a crash (${remains.bytes} bytes) and is sealed off`);
    return after;
  }

  /** The first record of a file: does the chain begin here, or go on from the file before? */
  #begin({ seq, begins }: PlacedRecord, before: string, at: Place): void {
    const due = this.#due;
    if (due === undefined) {
      if (seq === 1 && before === GENESIS) return;
      if (seq === 1 || (begins !== "rotated" && begins !== "anew")) {
        throw new Break(at, `is record ${seq}, and what stood before it in this file is missing`);
      }
      const why =
        begins === "anew" ? "the file before it was gone while it was written" : "the files before it were not given";
      this.#note(at, `begins with record ${seq}: ${why}`);
    } else if (begins === "anew" && seq >= due.seq) {
      const gone = seq === due.seq ? "" : `, with ${recordsText(due.seq, seq - 1)}`;
      this.#note(at, `begins with record ${seq}: the file before it was gone while it was written${gone}`);
      if (seq > due.seq) this.#due = undefined;
    } else if (seq > due.seq) {
      throw new Break(at, `${recordsText(due.seq, seq - 1)} should stand before it: a file is missing`);
    }
  }

  #accuse({ at, before, hash }: Suspect, next: PlacedRecord | undefined): never {
    if (next?.prev === hash) throw new Break(before, "was altered: the line after it has another hash of it");
    throw new Break(at, "does not follow the line before it: one of the two was altered");
  }

  #note(at: Place, what: string): void {
    this.notes.push({ ...at, what });
  }
}
