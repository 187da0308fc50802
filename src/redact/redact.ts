/**
 * Takes secrets out of what is kept or shown of a call: audit records, the log, lines of stderr, errors. Most payloads
 * hold none: the raw JSON text is tested by a few cheap expressions and, if none of them hits, kept as it is, unparsed.
 * Only the others are parsed, masked and written anew (then numbers are those of JavaScript). When in doubt it masks:
 * the price is a "[redacted]".
 */
import { knownPattern } from "./known.ts";
import { encoded, keyPatterns, MASK, type Pattern, SHAPES } from "./patterns.ts";

export interface RedactionOptions {
  /** Known values: what the configuration expanded from variables or has under `env` and `headers`. */
  readonly secrets: readonly string[];
  /** Further key names under which everything is a secret. */
  readonly redactKeys: readonly string[];
}

export interface Redactor {
  /** One valid JSON text on one line in, the same without secrets out. */
  readonly json: (raw: string) => string;
  /** Plain text: an error's message, a URI. Redact before cutting: half a secret is not found. */
  readonly text: (text: string) => string;
  /** Does a key of this name stand before a secret, whatever its value is? */
  readonly isSecret: (key: string, value: unknown) => boolean;
}

const MAX_DEPTH = 128;

export function makeRedactor({ secrets, redactKeys }: RedactionOptions): Redactor {
  const keys = keyPatterns(redactKeys);
  const known = knownPattern(secrets);
  const patterns: readonly Pattern[] = [
    ...(known === undefined ? [] : [known]),
    encoded((decoded) => text(decoded)),
    ...SHAPES,
    ...keys.patterns,
  ];
  const hints = patterns.map((pattern) => pattern.hint).filter((hint) => hint.length > 0);

  function suspicious(raw: string): boolean {
    for (const hint of hints) if (hint[0]!.test(raw) && (hint.length === 1 || hint[1]!.test(raw))) return true;
    return false;
  }

  function text(value: string): string {
    if (!suspicious(value)) return value;
    const masked = maskAll(value);
    // Letters written as escapes, in JSON that is only a part of the text: nobody does that, but for whoever wants to hide.
    const plain = unescaped(masked);
    if (plain === masked) return masked;
    const again = maskAll(plain);
    return again === plain ? masked : again;
  }

  function maskAll(value: string): string {
    let masked = value;
    for (const pattern of patterns) masked = pattern.mask(masked);
    return masked;
  }

  function string(value: string, depth: number): string {
    if (!suspicious(value)) return value;
    // Tool results hold JSON within a text more often than not; as a value, nothing in it can hide.
    const inner = embedded(value);
    return inner === undefined ? text(value) : write(inner, depth + 1);
  }

  function write(value: unknown, depth: number): string {
    if (typeof value === "string") return JSON.stringify(string(value, depth));
    if (typeof value === "number") return suspicious(String(value)) ? JSON.stringify(MASK) : JSON.stringify(value);
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (depth > MAX_DEPTH) return JSON.stringify("[too deep]");
    if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(",")}]`;
    // Written key by key, not into an object: "__proto__" is a key like any other.
    const members = Object.entries(value).map(([key, item]) => {
      const written = keys.isSecret(key, item) ? JSON.stringify(MASK) : write(item, depth + 1);
      return `${JSON.stringify(text(key))}:${written}`;
    });
    return `{${members.join(",")}}`;
  }

  return {
    text,
    isSecret: keys.isSecret,
    json(raw) {
      if (!suspicious(raw)) return raw;
      try {
        return write(JSON.parse(raw), 0);
      } catch {
        // Nested deeper than the stack: what could not be looked at is not kept.
        return omitted(Buffer.byteLength(raw));
      }
    },
  };
}

/** Stands for a payload that is not kept. */
export function omitted(bytes: number): string {
  return `{"omitted":{"bytes":${bytes}}}`;
}

/** `\u0041` as "A", at any level of JSON within JSON; quotes and backslashes stay what they are. */
function unescaped(text: string): string {
  if (!/\\u00/.test(text)) return text;
  return text.replace(/\\+u00([2-7][0-9a-f])/gi, (whole: string, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16));
    return char === '"' || char === "\\" || char === "\x7f" ? whole : char;
  });
}

function embedded(value: string): unknown {
  if (!/^\s*[[{]/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
