/**
 * The stream of a stdio leg -> lines, each one message. A line ends with LF alone: CR is white space to JSON, and
 * U+2028, U+2029 and U+0085 are characters of a string. First step of `scan.ts` on stdio.
 *
 * A line that came in one chunk is a part of that chunk. Of one that came in several the chunks are kept and joined
 * once, so a long message costs one copy; small chunks are gathered in blocks, so a message that comes byte by byte
 * costs no object a byte.
 */

const LF = 0x0a;
const HEAD_BYTES = 64 * 1024;
const TAIL_BYTES = 256;
/** A shorter chunk is copied into a block. */
const SMALL_CHUNK = 1024;
const BLOCK_BYTES = 16 * 1024;

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
  /** The unfinished line: its parts, then `#block` from `#blockFrom` to `#blockTo`. */
  #parts: Buffer[] = [];
  #length = 0;
  #block: Buffer | undefined;
  #blockFrom = 0;
  #blockTo = 0;
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
    this.#block = undefined;
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
      this.#closeBlock();
      if (rest.length > 0) this.#parts.push(rest);
      line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, length);
      this.#parts = [];
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
      this.#closeBlock();
      this.#dropped = { head: Buffer.allocUnsafe(HEAD_BYTES), headLength: 0, tail: Buffer.alloc(0) };
      for (const part of this.#parts) this.#drop(part);
      this.#parts = [];
    }
    this.#length += piece.length;
    if (this.#dropped !== undefined) this.#drop(piece);
    else if (piece.length >= SMALL_CHUNK) {
      this.#closeBlock();
      this.#parts.push(piece);
    } else this.#gather(piece);
  }

  #gather(piece: Buffer): void {
    if (this.#block === undefined || this.#block.length - this.#blockTo < piece.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#blockFrom = 0;
      this.#blockTo = 0;
    }
    this.#blockTo += piece.copy(this.#block, this.#blockTo);
  }

  /** What was gathered becomes a part; the rest of the block serves for what comes next and is never written twice. */
  #closeBlock(): void {
    if (this.#block === undefined || this.#blockTo === this.#blockFrom) return;
    this.#parts.push(this.#block.subarray(this.#blockFrom, this.#blockTo));
    this.#blockFrom = this.#blockTo;
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
