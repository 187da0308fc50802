/** Why the audit file cannot be written now, when that is tried again, and how often it is said. */
import { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";

const LOG_EVERY_MS = 10_000;

export class Trouble {
  readonly #log: Log;
  readonly #file: string;
  readonly #effect: string;
  readonly #retryMs: number;
  #fault: Fault | undefined;
  #nextTry = 0;
  #nextLog = 0;

  constructor(file: string, onFailure: "deny" | "allow", retryMs: number, log: Log) {
    this.#file = file;
    this.#log = log;
    this.#retryMs = retryMs;
    this.#effect = onFailure === "deny" ? "requests are refused until it can" : "REQUESTS GO ON WITHOUT A RECORD";
  }

  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** While it lasts, at most one try in `retryMs`. */
  mayTry(now: number): boolean {
    return this.#fault === undefined || now >= this.#nextTry;
  }

  /** False if it only repeats what is known: no new try was made. */
  note(error: unknown, lost: number): boolean {
    if (error === this.#fault) return false;
    const now = performance.now();
    this.#nextTry = now + this.#retryMs;
    this.#fault = error instanceof Fault && error.code === "AUDIT_UNAVAILABLE" ? error : unavailable(this.#file, error);
    if (now < this.#nextLog) return true;
    this.#nextLog = now + LOG_EVERY_MS;
    const fields = { file: this.#file, error: this.#fault.message, lost };
    this.#log.error(fields, `audit file cannot be written: ${this.#effect}`);
    return true;
  }

  /** `late` records were made up for, `lost` ones found no room. */
  over(late: number, lost: number): void {
    this.#log.warn({ file: this.#file, late, lost }, "audit file can be written again");
    this.#fault = undefined;
    this.#nextLog = 0;
  }
}

export function unavailable(file: string, cause: unknown): Fault {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Fault(
    "AUDIT_UNAVAILABLE",
    `The audit file ${file} cannot be written: ${reason}. Requests go on as soon as it can be written again.`,
    { retrySafe: true, cause },
  );
}
