/**
 * Server-sent events as bytes (WHATWG HTML §9.2.6): chunks in, events out. Data stays a Buffer: a line of 10 MiB is
 * never a string, is copied once at most, and costs linear time however it was cut. Used by every HTTP leg.
 * `eventsource-parser` is the oracle in the tests.
 */

export interface ServerEvent {
  /** "" where the stream names none, which means "message". */
  readonly type: string;
  /** The data lines joined by LF; for an event that is too large, its first bytes. */
  readonly data: Buffer;
  /** Set where the data exceeded `maxBytes`: its size and its last bytes. */
  readonly oversize: { readonly bytes: number; readonly tail: Buffer } | undefined;
}

export interface EventStreamOptions {
  /** Largest data of one event; 0 = no limit. */
  readonly maxBytes: number;
  event(event: ServerEvent): void;
  /** An event ended that set the last event id ("" takes it back); called before `event`, and also without data. */
  id(id: string): void;
  retry(ms: number): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const LF_BYTES = Buffer.from("\n");
/** Room for a field name, its colon and a space. */
const FIELD_BYTES = 16;
/** What is kept of an event that is too large. */
const HEAD_BYTES = 4096;
const TAIL_BYTES = 256;

export class EventStreamParser {
  readonly #options: EventStreamOptions;
  readonly #limit: number;
  /** Parts of the line that is not at its end yet. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  #atStart = true;
  #skipLf = false;
  #data: Buffer[] = [];
  #dataBytes = 0;
  /** Once the event is too large: its last bytes; its first ones stay in `#data`. */
  #tail: Buffer | undefined;
  #type = "";
  #id: string | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#limit = options.maxBytes === 0 ? Number.POSITIVE_INFINITY : options.maxBytes;
  }

  push(chunk: Buffer): void {
    let at = 0;
    let lf = chunk.indexOf(LF);
    let cr = chunk.indexOf(CR);
    if (this.#skipLf && chunk.length > 0) {
      this.#skipLf = false;
      if (lf === 0) at = 1;
    }
    while (at < chunk.length) {
      if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at);
      if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at);
      const end = lf < 0 ? cr : cr < 0 ? lf : Math.min(lf, cr);
      if (end < 0) {
        this.#keep(chunk.subarray(at));
        return;
      }
      this.#endLine(chunk.subarray(at, end));
      at = end + 1;
      if (end !== cr) continue;
      if (at === chunk.length) this.#skipLf = true;
      else if (chunk[at] === LF) at += 1;
    }
  }

  #keep(part: Buffer): void {
    const before = this.#lineBytes;
    this.#lineBytes += part.length;
    // The limit is for the event: the lines before this one count, too.
    if (this.#dataBytes + this.#lineBytes <= this.#limit + FIELD_BYTES) {
      this.#line.push(part);
      return;
    }
    if (before < HEAD_BYTES) this.#line.push(Buffer.from(part.subarray(0, HEAD_BYTES)));
    else if (this.#line.length > 1) this.#line = [Buffer.from(Buffer.concat(this.#line).subarray(0, HEAD_BYTES))];
    this.#tail = lastBytes(this.#tail, part);
  }

  #endLine(last: Buffer): void {
    let line = last;
    let bytes = last.length;
    if (this.#lineBytes > 0) {
      this.#keep(last);
      line = this.#line.length === 1 ? this.#line[0]! : Buffer.concat(this.#line);
      bytes = this.#lineBytes;
      this.#line = [];
      this.#lineBytes = 0;
    }
    if (this.#atStart) {
      this.#atStart = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) {
        line = line.subarray(3);
        bytes -= 3;
      }
    }
    if (bytes === 0) this.#endEvent();
    else this.#field(line, bytes);
  }

  /** `bytes` is the line's true length: of a line that is too long `line` holds the beginning only. */
  #field(line: Buffer, bytes: number): void {
    if (line[0] === COLON) return;
    const colon = line.subarray(0, FIELD_BYTES).indexOf(COLON);
    const name = colon < 0 ? (line.length > FIELD_BYTES ? "" : line.latin1Slice()) : line.latin1Slice(0, colon);
    const start = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    if (name === "data") {
      this.#addData(line.subarray(start), bytes - start);
      return;
    }
    const value = line.utf8Slice(start, line.length);
    if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) this.#options.retry(Number(value));
  }

  #addData(value: Buffer, bytes: number): void {
    const separator = this.#data.length === 0 ? 0 : 1;
    if (separator === 1) this.#data.push(LF_BYTES);
    this.#dataBytes += separator + bytes;
    if (this.#dataBytes <= this.#limit) {
      this.#data.push(value);
      return;
    }
    // Of a line that was too long by itself the tail was kept when it came.
    if (value.length === bytes) this.#tail = lastBytes(this.#tail, value);
    this.#data = [Buffer.from(Buffer.concat([...this.#data, value]).subarray(0, HEAD_BYTES))];
  }

  #endEvent(): void {
    const { event, id } = this.#options;
    const data = this.#data;
    const bytes = this.#dataBytes;
    const oversize = bytes > this.#limit ? { bytes, tail: this.#tail ?? LF_BYTES } : undefined;
    const type = this.#type;
    const lastId = this.#id;
    // Reset first: the callbacks may throw, or push again.
    this.#data = [];
    this.#dataBytes = 0;
    this.#tail = undefined;
    this.#type = "";
    this.#id = undefined;
    if (lastId !== undefined) id(lastId);
    if (data.length > 0) event({ type, data: data.length === 1 ? data[0]! : Buffer.concat(data), oversize });
  }
}

function lastBytes(before: Buffer | undefined, part: Buffer): Buffer {
  const joined = before === undefined || part.length >= TAIL_BYTES ? part : Buffer.concat([before, part]);
  return Buffer.from(joined.subarray(Math.max(0, joined.length - TAIL_BYTES)));
}
