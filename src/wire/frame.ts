/**
 * A frame: one JSON-RPC message as the bytes it arrived in, plus the spans of the few fields a router needs. What is not
 * rewritten leaves byte for byte: 2^63, 1.0, key order, duplicate vendor keys and escapes survive because nobody parses
 * them. `scan.ts` makes frames; values are parsed only when a layer asks.
 *
 * Invariants: `bytes` is one valid JSON object in UTF-8 without LF or CR, without surrounding white space (a scanned
 * frame may share memory with the chunk it was read from: it is never written to). All spans are offsets into `bytes`,
 * start inclusive, end exclusive, of a JSON value without surrounding white space.
 */

export type FrameKind = "request" | "notification" | "response";

/** Which top-level member is the body: `params` of a request or notification, `result` or `error` of a response. */
export type BodyKey = "params" | "result" | "error";

export interface FrameParts {
  bytes: Buffer;
  kind: FrameKind;
  /** Span of the `id` value; -1, -1 where there is none. */
  idStart: number;
  idEnd: number;
  /** Decoded `method`; undefined exactly for responses. */
  method: string | undefined;
  bodyKey: BodyKey | undefined;
  /** Span of the body's value; -1, -1 where there is none. */
  bodyStart: number;
  bodyEnd: number;
  /**
   * Members of the body, if it is an object: decoded keys in order, and for the i-th key the value's span at
   * `spans[2 * i]` and `spans[2 * i + 1]`. Empty for other bodies.
   */
  keys: readonly string[];
  spans: readonly number[];
}

export class Frame {
  readonly bytes: Buffer;
  readonly kind: FrameKind;
  readonly idStart: number;
  readonly idEnd: number;
  readonly method: string | undefined;
  readonly bodyKey: BodyKey | undefined;
  readonly bodyStart: number;
  readonly bodyEnd: number;
  readonly keys: readonly string[];
  readonly spans: readonly number[];

  constructor(parts: FrameParts) {
    this.bytes = parts.bytes;
    this.kind = parts.kind;
    this.idStart = parts.idStart;
    this.idEnd = parts.idEnd;
    this.method = parts.method;
    this.bodyKey = parts.bodyKey;
    this.bodyStart = parts.bodyStart;
    this.bodyEnd = parts.bodyEnd;
    this.keys = parts.keys;
    this.spans = parts.spans;
  }

  /** The id as it was written (`0`, `"0"`, `9007199254740991`), or undefined. */
  get idText(): string | undefined {
    return this.idStart < 0 ? undefined : this.bytes.utf8Slice(this.idStart, this.idEnd);
  }

  /** True for a response whose body is `error`. */
  get isError(): boolean {
    return this.bodyKey === "error";
  }

  /** Index of a member of the body, or -1. Of two members with one key the last counts, as in JSON.parse. */
  indexOf(key: string): number {
    return this.keys.lastIndexOf(key);
  }

  has(key: string): boolean {
    return this.keys.includes(key);
  }

  /** Raw JSON text of a member of the body, or undefined. */
  text(key: string): string | undefined {
    const at = this.indexOf(key);
    return at < 0 ? undefined : this.bytes.utf8Slice(this.spans[2 * at]!, this.spans[2 * at + 1]!);
  }

  /** Parsed value of a member of the body; undefined where it is missing. */
  value(key: string): unknown {
    const text = this.text(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** A member of the body that is a string, decoded; undefined where it is missing or of another type. */
  string(key: string): string | undefined {
    const at = this.indexOf(key);
    if (at < 0) return undefined;
    const start = this.spans[2 * at]!;
    const end = this.spans[2 * at + 1]!;
    if (this.bytes[start] !== 0x22) return undefined;
    const text = this.bytes.utf8Slice(start + 1, end - 1);
    // Without an escape the text between the quotes is the string: names rarely have one, and this is asked on every call.
    return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
  }

  /** Raw JSON text of the body, or undefined. */
  get bodyText(): string | undefined {
    return this.bodyStart < 0 ? undefined : this.bytes.utf8Slice(this.bodyStart, this.bodyEnd);
  }

  /** Parsed body; undefined where there is none. */
  body(): unknown {
    const text = this.bodyText;
    return text === undefined ? undefined : JSON.parse(text);
  }
}
