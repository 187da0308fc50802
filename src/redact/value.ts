/** Values on their way into the log or onto a terminal as JSON. */
import { MASK } from "./patterns.ts";

/** What is done to a value: texts are redacted; what stands under the key of a secret goes, if there is such a test. */
export interface Redaction {
  readonly text: (text: string) => string;
  readonly isSecret?: (key: string, value: unknown) => boolean;
}

/**
 * Every string in a value redacted, keys included, so that the value stays one that can be written as JSON.
 * Errors become { type, message, code, stack }; what JSON has no form for becomes a text.
 */
export function redactValue(value: unknown, redaction: Redaction, seen = new Set<object>()): unknown {
  const { text: redact, isSecret } = redaction;
  if (typeof value === "string") return redact(value);
  if (typeof value === "number") return redact(String(value)) === MASK ? MASK : value;
  if (typeof value === "bigint" || typeof value === "symbol") return redact(String(value));
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return "[circular]";
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  seen.add(value);
  try {
    if (Array.isArray(value)) return value.map((item) => redactValue(item, redaction, seen));
    if (value instanceof Error) return redactValue(errorFields(value), redaction, seen);
    if (value instanceof Date || value instanceof URL) return redact(String(value.toJSON()));
    const items = value instanceof Map ? value.entries() : value instanceof Set ? value.values() : undefined;
    if (items !== undefined) return redactValue([...items], redaction, seen);
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, item] of Object.entries(value)) {
      copy[redact(key)] = isSecret?.(key, item) === true ? MASK : redactValue(item, redaction, seen);
    }
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
