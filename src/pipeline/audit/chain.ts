/**
 * The hash chain: every line holds its number and the SHA-256 of the line before it (of its bytes, without LF), so that a
 * line that was changed, removed, swapped or put in is found out. Number and hash are given out here, in the order of
 * the file, across all files of a rotated set.
 */
import { type Signer, signedLine } from "./checkpoint.ts";
import { type Begins, GENESIS, type Link, lineAt, lineHash } from "./line.ts";
import type { AuditLine } from "./record.ts";

/** Where the next line goes, as the process that writes knows it. */
export interface Position extends Link {
  /** First record of this process that none of its checkpoints covers yet. */
  readonly unsigned: number;
  /** This process has not signed anything yet: its first checkpoint says where it took over. */
  readonly fresh: boolean;
}

export const FIRST: Link = { seq: 1, prev: GENESIS };

/** `link` is where a process begins to write. */
export function startAt(link: Link): Position {
  return { seq: link.seq, prev: link.prev, unsigned: link.seq, fresh: true };
}

/** The lines of a batch as one text, with the checkpoints that are due, and where the line after them goes. */
export function chained(
  from: Position,
  lines: readonly AuditLine[],
  signer?: Signer,
  begins?: Begins,
): { text: string; next: Position } {
  let { seq, unsigned, fresh } = from;
  let mark = begins;
  let text = "";
  let last: string | undefined;
  const prev = (): string => (last === undefined ? from.prev : lineHash(last));
  const add = (line: string): void => {
    last = line;
    seq++;
    mark = undefined;
    text += line;
    text += "\n";
  };
  const sign = (by: Signer): void => {
    add(signedLine({ seq, prev: prev() }, unsigned, by, mark));
    unsigned = seq;
    fresh = false;
  };
  if (signer !== undefined && fresh) sign(signer);
  for (const line of lines) {
    add(lineAt({ seq, prev: prev() }, line, mark));
    if (signer !== undefined && seq - unsigned >= signer.every) sign(signer);
  }
  return { text, next: new Place(seq, last ?? from.prev, last === undefined, unsigned, fresh) };
}

/** The hash of the last line is needed only by the line after it: answers do not wait for it. */
class Place implements Position {
  readonly seq: number;
  readonly unsigned: number;
  readonly fresh: boolean;
  #text: string;
  #hashed: boolean;

  constructor(seq: number, text: string, hashed: boolean, unsigned: number, fresh: boolean) {
    this.seq = seq;
    this.unsigned = unsigned;
    this.fresh = fresh;
    this.#text = text;
    this.#hashed = hashed;
  }

  get prev(): string {
    if (!this.#hashed) {
      this.#text = lineHash(this.#text);
      this.#hashed = true;
    }
    return this.#text;
  }
}

/** A checkpoint over all that is not covered yet; undefined where nothing is. */
export function closing(from: Position, signer: Signer): { text: string; next: Position } | undefined {
  if (from.fresh || from.seq === from.unsigned) return undefined;
  const line = signedLine(from, from.unsigned, signer, undefined);
  const seq = from.seq + 1;
  return { text: `${line}\n`, next: { seq, prev: lineHash(line), unsigned: seq, fresh: false } };
}
