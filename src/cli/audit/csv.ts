/** Records as CSV (RFC 4180) that a spreadsheet can open without running any of it. */
import type { PlacedRecord } from "../../pipeline/audit/line.ts";

/** The fields of the record, those within others with a dot. */
const COLUMNS = [
  "time",
  "seq",
  "event",
  "session",
  "client.name",
  "client.version",
  "principal",
  "era",
  "direction",
  "method",
  "requestId",
  "server",
  "name",
  "publicName",
  "decision.effect",
  "decision.rule",
  "decision.reason",
  "outcome",
  "error.code",
  "error.message",
  "durationMs",
  "queuedMs",
  "upstreamMs",
  "requestBytes",
  "responseBytes",
  "truncated.fromBytes",
  "truncated.toBytes",
  "argumentsSha256",
  "arguments",
  "result",
  "traceparent",
];
const PATHS = COLUMNS.map((column) => column.split("."));

export const csvHeader = `${COLUMNS.join(",")}\r\n`;

export function csvRow(record: PlacedRecord): string {
  return `${PATHS.map((path) => cell(valueAt(record, path))).join(",")}\r\n`;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  // A number is one, also with a minus in front.
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `"${inert(text).replaceAll('"', '""')}"`;
}

/**
 * A spreadsheet takes what begins with one of these for a formula, and then runs what a server or a model has written.
 * An apostrophe in front makes it text (OWASP, "CSV Injection"); full-width forms count in some locales, and white
 * space in front of them is no protection.
 */
function inert(text: string): string {
  return /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/.test(text) ? `'${text}` : text;
}

function valueAt(record: PlacedRecord, path: readonly string[]): unknown {
  let value: unknown = record;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
