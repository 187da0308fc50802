/**
 * A child's stderr: always drained, or a chatty server fills the pipe and freezes (field report F18); cut into lines,
 * bounded, redacted, logged with the server's name; the last lines are kept for the error that tells of its death.
 * Text on stderr is never taken for a failure (spec.md §1.18).
 */
import type { Log } from "../../log.ts";
import { REDACTION_MARGIN, shorten } from "./text.ts";

/** Characters of a line that are shown. */
const LINE_LIMIT = 4096;
/** Bytes of a line that are kept: what is shown, and enough behind it to recognise a secret on the edge. */
const KEPT_BYTES = LINE_LIMIT + REDACTION_MARGIN;
const TAIL_LINES = 20;
/** Lines of one process that are logged at "info": what it says at its start. Later ones are at "debug". */
const INFO_LINES = 20;

export interface StderrOptions {
  readonly server: string;
  readonly log: Log;
  redact(text: string): string;
}

export class StderrLines {
  readonly #options: StderrOptions;
  readonly #tail: string[] = [];
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #omitted = 0;
  #lines = 0;

  constructor(options: StderrOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      // CR ends a line, too: progress bars never write anything else.
      if (chunk[at] !== 0x0a && chunk[at] !== 0x0d) continue;
      this.#keep(chunk.subarray(start, at));
      this.#endLine();
      start = at + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The stream is at its end: what has no line end is a line, too. */
  end(): void {
    this.#endLine();
  }

  /** The last lines, oldest first. */
  get tail(): readonly string[] {
    return [...this.#tail];
  }

  #keep(part: Buffer): void {
    const room = KEPT_BYTES - this.#keptBytes;
    const kept = part.length > room ? part.subarray(0, room) : part;
    this.#omitted += part.length - kept.length;
    if (kept.length === 0) return;
    // Copied, so that a line of few bytes does not hold on to the whole chunk.
    this.#kept.push(Buffer.from(kept));
    this.#keptBytes += kept.length;
  }

  #endLine(): void {
    if (this.#keptBytes === 0) return;
    const { server, log, redact } = this.#options;
    const bytes = Buffer.concat(this.#kept, this.#keptBytes);
    const line = shorten(bytes, { limit: LINE_LIMIT, omitted: this.#omitted, redact });
    this.#kept = [];
    this.#keptBytes = 0;
    this.#omitted = 0;
    if (line === "") return;
    this.#tail.push(line);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    this.#lines += 1;
    if (this.#lines <= INFO_LINES) log.info({ server, stream: "stderr" }, line);
    else log.debug({ server, stream: "stderr" }, line);
    if (this.#lines === INFO_LINES) log.info({ server }, "further lines of its stderr are logged at level debug");
  }
}
