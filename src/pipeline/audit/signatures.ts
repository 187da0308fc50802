/**
 * The checkpoints of a chain, and what no checkpoint vouches for. A process signs where it takes over, then at least
 * every so many records, and at its orderly end: so of a process that was killed a few records stay unsigned, and
 * a longer stretch was written by somebody without the key.
 */
import type { KeyObject } from "node:crypto";
import { checkpointOf, isSignedBy } from "./checkpoint.ts";
import { Break, type Place, recordsText } from "./finding.ts";
import type { PlacedRecord } from "./line.ts";

const NOT_OURS = "longer than from one checkpoint to the next: somebody without the key wrote them";

export class Signatures {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #note: (at: Place, what: string) => void;
  #count = 0;
  #every: number | undefined;
  /** The first record since the last checkpoint. */
  #open: { readonly seq: number; readonly at: Place } | undefined;

  /** Without keys nothing is checked. */
  constructor(keys: ReadonlyMap<string, KeyObject>, note: (at: Place, what: string) => void) {
    this.#keys = keys;
    this.#note = note;
  }

  get count(): number {
    return this.#count;
  }

  /** In order. @throws Break */
  record(record: PlacedRecord, line: Buffer, at: Place): void {
    const { seq } = record;
    if (record["event"] !== "checkpoint") {
      this.#open ??= { seq, at };
      return;
    }
    this.#count++;
    const checkpoint = checkpointOf(record);
    if (checkpoint === undefined) throw new Break(at, "is a checkpoint that lacks something");
    if (this.#keys.size === 0) return;
    const key = this.#keys.get(checkpoint.key);
    if (key === undefined) throw new Break(at, `is signed with a key that was not given (${checkpoint.key})`);
    if (!isSignedBy(line, key))
      throw new Break(at, "has a wrong signature: it was altered, or signed by somebody else");
    const { from, every } = checkpoint;
    if (this.#open !== undefined && this.#open.seq < from) this.#unsigned(from - 1, every);
    this.#open = undefined;
    this.#every = every;
  }

  /** @throws Break */
  end(last: Place, seq: number | undefined): void {
    if (this.#keys.size === 0) {
      if (this.#count > 0)
        this.#note(last, `${this.#count} signed checkpoints were not checked: no public key was given`);
      return;
    }
    if (this.#open === undefined || seq === undefined) return;
    if (this.#every === undefined) throw new Break(this.#open.at, "no record from here on is signed");
    const count = seq - this.#open.seq + 1;
    if (count > this.#every)
      throw new Break(this.#open.at, `${recordsText(this.#open.seq, seq)}: not signed, ${NOT_OURS}`);
    this.#note(this.#open.at, `${recordsText(this.#open.seq, seq)}, the last ones, are not signed yet`);
  }

  /** Up to `last`, where a process took over that signs from there on. */
  #unsigned(last: number, every: number): void {
    const { seq, at } = this.#open!;
    const records = recordsText(seq, last);
    if (this.#every === undefined)
      throw new Break(at, `${records}: from before the first signature; somebody without the key wrote them`);
    if (last - seq + 1 > Math.max(this.#every, every)) throw new Break(at, `${records}: not signed, ${NOT_OURS}`);
    this.#note(at, `${records}: not signed; the process that wrote them did not end in order`);
  }
}
