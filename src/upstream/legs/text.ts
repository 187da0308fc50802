/**
 * What a server wrote, made fit for the log and for error messages: redacted, on one line, without control codes,
 * bounded. Used for stderr lines, noise on stdout and snippets of HTTP bodies.
 */

/**
 * How many characters more than it shows a caller should hand in. A secret that begins before the cut must be whole for
 * redaction to know it; one longer than this could show its beginning.
 */
export const REDACTION_MARGIN = 4096;

// CSI and OSC sequences, then every other control character.
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

export interface ShortenOptions {
  /** Most characters of the result, the "…" not counted. */
  readonly limit: number;
  /** Bytes that were left out behind `bytes` already. */
  readonly omitted?: number;
  redact(text: string): string;
}

export function shorten(bytes: Buffer, options: ShortenOptions): string {
  const omitted = options.omitted ?? 0;
  // Redaction comes before any cut: the rest of a secret would no longer be recognised. Colours in the midst of one go first.
  let text = options.redact(bytes.toString("utf8").replace(ANSI, ""));
  // The end of cut bytes may be the beginning of a secret, so it is never shown.
  if (omitted > 0) text = text.slice(0, Math.max(0, text.length - REDACTION_MARGIN));
  text = text.replace(CONTROLS, " ").trim();
  if (text.length <= options.limit && omitted === 0) return text;
  return `${text.slice(0, options.limit)}…`;
}
