/**
 * The stream of a stdio leg -> lines, each one message. A line ends with LF alone: CR is white space to JSON, and
 * U+2028, U+2029 and U+0085 are characters of a string. First step of `scan.ts` on stdio.
 *
 * A line that came in one chunk is a part of that chunk. One that came in several is copied into a buffer of its own as
 * it comes: the chunks can go at once (kept until the end, a 10 MiB message cost a fifth of its time in garbage
 * collection), the copying is done while the sender is still writing, and a message that comes byte by byte costs no
 * object a byte.
 */

const LF = 0x0a;
const HEAD_BYTES = 64 * 1024;
const TAIL_BYTES = 256;
const FIRST_BYTES = 4 * 1024;
/** The room that the last long line needed is a good guess for the next, up to this size. */
const MAX_GUESS_BYTES = 32 * 1024 * 1024;
const LONG_BYTES = 256 * 1024;

interface LineFramerOptions {
  /** Longest line, without its LF; 0 = no limit. */
  readonly maxBytes: number;
  /** One line without its LF, not blank. Must not throw. The buffer is not written to afterwards. */
  line(bytes: Buffer): void;
  /**
   * A line was longer than `maxBytes` and is lost: its first 64 KiB, its length, and its last 256 bytes, in which
   * `idOfHead` looks for an id that stands last. Called when its end has come.
   */
  tooLong(head: Buffer, length: number, tail: Buffer): void;
}

export class LineFramer {
  readonly #options: LineFramerOptions;
  /** The unfinished line: the first `#length` bytes. It is handed over with the line and never written again. */
  #store: Buffer | undefined;
  #length = 0;
  #guess = 0;
  /** Set while a line that is too long is dropped. */
  #dropped: { head: Buffer; headLength: number; tail: Buffer } | undefined;

  constructor(options: LineFramerOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const lf = chunk.indexOf(LF, from);
      if (lf < 0) break;
      this.#finish(chunk.subarray(from, lf));
      from = lf + 1;
    }
    if (from < chunk.length) this.#keep(from === 0 ? chunk : chunk.subarray(from));
  }

  /** The stream has ended: an unfinished line is one too. */
  end(): void {
    this.#finish(Buffer.alloc(0));
  }

  #finish(rest: Buffer): void {
    const length = this.#length + rest.length;
    if (this.#exceeds(length)) {
      this.#keep(rest);
      const { head, headLength, tail } = this.#dropped!;
      this.#dropped = undefined;
      this.#length = 0;
      this.#options.tooLong(head.subarray(0, headLength), length, tail);
      return;
    }
    let line = rest;
    if (this.#length > 0) {
      this.#append(rest);
      line = this.#store!.subarray(0, length);
      this.#guess = length > LONG_BYTES && length <= MAX_GUESS_BYTES ? length + (length >> 4) : 0;
      this.#store = undefined;
      this.#length = 0;
    }
    if (!isBlank(line)) this.#options.line(line);
  }

  #exceeds(length: number): boolean {
    return this.#options.maxBytes > 0 && length > this.#options.maxBytes;
  }

  /** Takes a piece of the unfinished line. */
  #keep(piece: Buffer): void {
    if (this.#dropped === undefined && this.#exceeds(this.#length + piece.length)) {
      this.#dropped = { head: Buffer.allocUnsafe(HEAD_BYTES), headLength: 0, tail: Buffer.alloc(0) };
      if (this.#store !== undefined) this.#drop(this.#store.subarray(0, this.#length));
      this.#store = undefined;
    }
    if (this.#dropped === undefined) return this.#append(piece);
    this.#length += piece.length;
    this.#drop(piece);
  }

  #append(piece: Buffer): void {
    const needed = this.#length + piece.length;
    if (this.#store === undefined || this.#store.length < needed) {
      const grown = Buffer.allocUnsafeSlow(this.#roomFor(needed));
      this.#store?.copy(grown, 0, 0, this.#length);
      this.#store = grown;
    }
    piece.copy(this.#store, this.#length);
    this.#length = needed;
  }

  #roomFor(needed: number): number {
    // Not before the line has shown that it is a long one: a short one after it must not cost megabytes.
    if (needed > LONG_BYTES && this.#guess >= needed) return this.#guess;
    return Math.max(FIRST_BYTES, needed * 2);
  }

  #drop(piece: Buffer): void {
    const dropped = this.#dropped!;
    dropped.headLength += piece.copy(dropped.head, dropped.headLength);
    const tail = piece.length >= TAIL_BYTES ? piece : Buffer.concat([dropped.tail, piece]);
    // A copy, so that the chunk can go.
    dropped.tail = Buffer.from(tail.subarray(Math.max(0, tail.length - TAIL_BYTES)));
  }
}

function isBlank(line: Buffer): boolean {
  for (const c of line) if (c !== 0x20 && c !== 0x0d && c !== 0x09) return false;
  return true;
}
