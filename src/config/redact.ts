/**
 * Secrets never leave in anything that people read: log, messages, tables, `--json`. Redact before you cut a text to a
 * length: the rest of a secret that was cut in two is not found.
 */

const mark = "[redacted]";
const minLength = 4;

/**
 * A function that puts "[redacted]" in the place of each secret of at least 4 characters, longest first, also where it
 * stands as JSON text, URI-encoded or in base64, and of each longer line of a secret of several lines.
 */
export function makeRedactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const part of [secret, secret.trim(), ...longLines(secret)]) {
      if (part.length >= minLength) for (const form of formsOf(part)) forms.add(form);
    }
  }
  if (forms.size === 0) return (text) => text;
  const longestFirst = [...forms].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = new RegExp(longestFirst.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  return (text) => text.replace(pattern, mark);
}

/**
 * The same for every string in a value, keys included, so that the value stays one that can be written as JSON.
 * Errors become { type, message, code, stack }; what JSON has no form for becomes a text.
 */
export function redactValue(value: unknown, redact: (text: string) => string, seen = new Set<object>()): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value === "number") {
    const text = String(value);
    return redact(text) === mark ? mark : value;
  }
  if (typeof value === "bigint" || typeof value === "symbol") return redact(String(value));
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return "[circular]";
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  seen.add(value);
  try {
    if (Array.isArray(value)) return value.map((item) => redactValue(item, redact, seen));
    if (value instanceof Error) return redactValue(errorFields(value), redact, seen);
    if (value instanceof Date || value instanceof URL) return redact(String(value.toJSON()));
    const items = value instanceof Map ? value.entries() : value instanceof Set ? value.values() : undefined;
    if (items !== undefined) return redactValue([...items], redact, seen);
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, item] of Object.entries(value)) copy[redact(key)] = redactValue(item, redact, seen);
    return copy;
  } finally {
    // Only what holds itself is circular; the same object twice side by side is not.
    seen.delete(value);
  }
}

function errorFields(error: Error): Record<string, unknown> {
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
    stack: error.stack,
  };
}

/** A server's stderr is read line by line: a key in PEM form would pass if it were looked for as a whole only. */
function longLines(secret: string): string[] {
  if (!/[\r\n]/.test(secret)) return [];
  return secret.split(/[\r\n]+/).filter((line) => line.length >= 8 && !line.startsWith("-----"));
}

function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const bytes = Buffer.from(secret, "utf8");
  const forms = [secret, json, JSON.stringify(json).slice(1, -1)];
  try {
    const uri = encodeURIComponent(secret);
    forms.push(
      uri,
      uri.replaceAll("%20", "+"),
      uri.replace(/%../g, (code) => code.toLowerCase()),
      encodeURI(secret),
    );
  } catch {
    // A lone surrogate has no URI form.
  }
  // Without the padding: what follows a match may or may not be "=".
  forms.push(bytes.toString("base64").replace(/=+$/, ""), bytes.toString("base64url"));
  return forms;
}
