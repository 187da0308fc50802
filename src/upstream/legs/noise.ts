/**
 * What a server writes to stdout that is not a message: banners, logs, blank lines (field report H14). It goes to the
 * log with the server's name, so many lines in a while and then their number, and is never an error of the connection.
 */
import type { Log } from "../../log.ts";
import { REDACTION_MARGIN, shorten } from "./text.ts";

const LINE_LIMIT = 200;
const LINES = 20;
const WINDOW_MS = 10_000;

export interface NoiseOptions {
  readonly server: string;
  readonly log: Log;
  redact(text: string): string;
}

export class NoiseLog {
  readonly #options: NoiseOptions;
  #shown = 0;
  #suppressed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NoiseOptions) {
    this.#options = options;
  }

  /** `why` says what is wrong with the line. */
  add(line: Buffer, why: string): void {
    if (isBlank(line)) return;
    // The window begins with its first line; no timer runs for a server that keeps to the rules.
    this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref();
    if (this.#shown >= LINES) {
      this.#suppressed += 1;
      return;
    }
    this.#shown += 1;
    const { server, log, redact } = this.#options;
    const kept = line.subarray(0, LINE_LIMIT + REDACTION_MARGIN);
    const text = shorten(kept, { limit: LINE_LIMIT, omitted: line.length - kept.length, redact });
    log.info({ server, line: text }, `ignored on its stdout: ${why}`);
  }

  /** Ends the window: says how much was left out. Also called when the stream ends. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#suppressed > 0) {
      const { server, log } = this.#options;
      log.info({ server, lines: this.#suppressed }, `ignored ${this.#suppressed} more lines on its stdout`);
    }
    this.#shown = 0;
    this.#suppressed = 0;
  }
}

function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
