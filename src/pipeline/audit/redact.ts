/**
 * Takes secrets out of what the audit file keeps of a call. Most payloads hold none: the raw JSON text is tested by a
 * few cheap expressions and, if none of them hits, kept as it is, unparsed. Only the others are parsed, masked and
 * written anew (then numbers are those of JavaScript). When in doubt it masks: the price is a "[redacted]".
 */
import { escapeRegExp, keyPatterns, MASK, type Pattern, SHAPES } from "./patterns.ts";

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
}

/** A shorter secret would blank out half of every record. */
const MIN_SECRET = 4;
const MAX_DEPTH = 128;

export function makeRedactor({ secrets, redactKeys }: RedactionOptions): Redactor {
  const keys = keyPatterns(redactKeys);
  const known = knownValues(secrets);
  const patterns: readonly Pattern[] = [...(known === undefined ? [] : [known]), ...SHAPES, ...keys.patterns];
  const hints = patterns.map((pattern) => pattern.hint).filter((hint) => hint.length > 0);

  function suspicious(raw: string): boolean {
    for (const hint of hints) if (hint[0]!.test(raw) && (hint.length === 1 || hint[1]!.test(raw))) return true;
    return false;
  }

  function text(value: string): string {
    if (!suspicious(value)) return value;
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

function embedded(value: string): unknown {
  if (!/^\s*[[{]/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** Each secret in every form in which it may stand in a text: as it is, in a URL, in base64, each within JSON. */
function knownValues(secrets: readonly string[]): Pattern | undefined {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const value of [secret, secret.trim(), ...longLines(secret)]) {
      if (value.length >= MIN_SECRET) for (const form of formsOf(value)) forms.add(form);
    }
  }
  if (forms.size === 0) return undefined;
  // Of two that begin alike the longer one first, or its rest would stay.
  const sources = [...forms].sort((a, b) => b.length - a.length).map(atAnyLevel);
  const all = new RegExp(sources.join("|"), "g");
  return { hint: [new RegExp(sources.join("|"))], mask: (text) => text.replace(all, MASK) };
}

/**
 * Matches the text itself and the same within JSON within JSON …, where each level doubles the backslashes. Of two
 * repeats of backslashes none follows the other, so that many backslashes are not tried in many ways.
 */
function atAnyLevel(text: string): string {
  let source = "";
  let behind = false;
  // By UTF-16 units, as JSON escapes them.
  for (const unit of text.split("")) {
    const lead = behind ? "" : "\\\\+";
    const code = unit.charCodeAt(0);
    const hex = code.toString(16).padStart(4, "0");
    if (unit === "\\") source += behind ? "" : "\\\\+";
    else if (unit === '"' || unit === "/") source += (behind ? "" : "\\\\*") + unit;
    else if (code < 0x20) source += `(?:\\u${hex}|${lead}(?:[nrtbf]|u${hex}|u${hex.toUpperCase()}))`;
    else if (code < 0x7f) source += escapeRegExp(unit);
    else source += `(?:\\u${hex}|${lead}(?:u${hex}|u${hex.toUpperCase()}))`;
    behind = unit === "\\";
  }
  return source;
}

function longLines(secret: string): string[] {
  if (!/[\r\n]/.test(secret)) return [];
  return secret.split(/[\r\n]+/).filter((line) => line.length >= 8 && !line.startsWith("-----"));
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  // Without padding: what follows a match may or may not be "=".
  const forms = [secret, bytes.toString("base64").replace(/=+$/, ""), bytes.toString("base64url")];
  try {
    const uri = encodeURIComponent(secret);
    forms.push(
      uri,
      uri.replaceAll("%20", "+"),
      uri.replace(/%../g, (code) => code.toLowerCase()),
      encodeURI(secret),
    );
  } catch {
    // A lone surrogate has no form in a URL.
  }
  return forms;
}
