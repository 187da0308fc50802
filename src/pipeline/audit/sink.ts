/**
 * Where audit records go: gathers the records of one chunk of answers and writes them with one call, before any of
 * these answers leaves; with "fsync" one fsync serves all records that were written while the last one ran (group
 * commit). Decides what happens while the file cannot be written, and finds its way back by itself.
 */
import type { AuditConfig } from "../../config/types.ts";
import { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { Backlog } from "./backlog.ts";
import { AuditFile } from "./file.ts";
import { type FileLock, lockFor, lockFree } from "./lock.ts";
import type { AuditLine } from "./record.ts";

export interface AuditSink {
  /** The file that is really written. */
  readonly file: string;
  /** Why no call may go out now; undefined while records can be kept, or need not be ("allow"). */
  refusal(): Fault | undefined;
  /** Resolves once the record is in the file (and on the disk, with "fsync"). @throws Fault AUDIT_UNAVAILABLE */
  append(line: AuditLine): Promise<void>;
  /** Writes what is left and lets the file go. Idempotent. */
  close(): Promise<void>;
}

export interface SinkOptions {
  /** Where another process writes this file: refuse to start, or write "NAME.2.EXT", "NAME.3.EXT", … beside it. */
  readonly whenHeld?: "refuse" | "beside";
  /** How often a lost file is looked for, and a broken one tried again. */
  readonly retryMs?: number;
}

interface Entry {
  readonly line: AuditLine;
  readonly resolve: () => void;
  readonly reject: (fault: Fault) => void;
}

const LOG_EVERY_MS = 10_000;
const MAX_BESIDE = 64;

/** @throws Fault AUDIT_UNAVAILABLE where the file cannot be written and `onFailure` is "deny" */
export function openAudit(config: AuditConfig, log: Log, options: SinkOptions = {}): AuditSink {
  return new FileSink(config, log, options);
}

class FileSink implements AuditSink {
  readonly #config: AuditConfig;
  readonly #log: Log;
  readonly #retryMs: number;
  readonly #file: AuditFile;
  #lock: FileLock | undefined;
  #pending: Entry[] = [];
  #scheduled = false;
  /** Written, waiting for an fsync. */
  #unsynced: Entry[] = [];
  #syncing = false;
  #failure: Fault | undefined;
  readonly #backlog = new Backlog();
  #nextCheck = 0;
  #nextTry = 0;
  #nextLog = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;
  readonly #onExit = (): void => {
    if (this.#pending.length > 0) this.#flush();
    this.#letGo();
    this.#lock?.release();
  };

  constructor(config: AuditConfig, log: Log, options: SinkOptions) {
    this.#config = config;
    this.#log = log;
    this.#retryMs = options.retryMs ?? 1_000;
    let problem: unknown;
    let path = config.file;
    try {
      ({ path, lock: this.#lock } = lockFree(config.file, options.whenHeld === "beside" ? MAX_BESIDE : 1, log));
    } catch (error) {
      problem = error;
    }
    this.#file = new AuditFile(path, config.durability === "fsync");
    try {
      if (problem !== undefined) throw problem;
      this.#ensureOpen(performance.now());
    } catch (error) {
      this.#noteFailure(error);
      if (config.onFailure === "deny") {
        this.#lock?.release();
        throw this.#failure!;
      }
    }
    if (path !== config.file) {
      log.warn({ file: path, held: config.file }, "another process writes the audit file; this one is used");
    }
    process.once("exit", this.#onExit);
  }

  get file(): string {
    return this.#file.path;
  }

  refusal(): Fault | undefined {
    if (this.#closing !== undefined) return this.#config.onFailure === "deny" ? this.#closed() : undefined;
    if (this.#failure === undefined || this.#config.onFailure === "allow") return undefined;
    if (performance.now() >= this.#nextTry) this.#flush();
    return this.#failure;
  }

  append(line: AuditLine): Promise<void> {
    if (this.#closing !== undefined) {
      this.#log.error({ file: this.file }, "a request ended after the audit file was closed; its record is lost");
      return this.#config.onFailure === "deny" ? Promise.reject(this.#closed()) : Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ line, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      // After all answers of the chunk that is being read; setImmediate would gather more and cost each call more.
      process.nextTick(() => {
        this.#scheduled = false;
        if (this.#pending.length > 0) this.#flush();
      });
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    if (this.#pending.length > 0 || this.#backlog.lines.length > 0) this.#flush();
    if (this.#syncing) await new Promise<void>((resolve) => (this.#idle = resolve));
    this.#letGo();
    this.#lock?.release();
    process.off("exit", this.#onExit);
  }

  /** Writes the backlog and what is pending, or notes why not. The only place that writes: order is fixed here. */
  #flush(): void {
    const batch = this.#pending;
    this.#pending = [];
    const lines = batch.map((entry) => entry.line);
    try {
      this.#ensureOpen(performance.now());
      const all = this.#backlog.lines.length === 0 ? lines : this.#backlog.lines.concat(lines);
      if (all.length > 0) this.#file.write(all);
    } catch (error) {
      this.#noteFailure(error);
      this.#backlog.keep(lines);
      this.#refuse(batch);
      return;
    }
    if (this.#failure !== undefined) this.#noteRecovery();
    if (this.#config.durability === "fsync") {
      this.#unsynced.push(...batch);
      this.#sync();
    } else {
      for (const entry of batch) entry.resolve();
    }
  }

  #sync(): void {
    if (this.#syncing || this.#unsynced.length === 0) return;
    const group = this.#unsynced;
    this.#unsynced = [];
    this.#syncing = true;
    this.#file.sync((error) => {
      this.#syncing = false;
      if (error === null) {
        for (const entry of group) entry.resolve();
      } else {
        // They are in the file, perhaps not on the disk: not written again, but nobody may rely on them.
        this.#noteFailure(error);
        this.#refuse(group);
      }
      this.#sync();
      if (!this.#syncing) this.#idle?.();
    });
  }

  /** @throws what hinders it; while it is broken at most one try in `retryMs` */
  #ensureOpen(now: number): void {
    if (this.#failure !== undefined && now < this.#nextTry) throw this.#failure;
    if (this.#file.isOpen && now >= this.#nextCheck) {
      this.#nextCheck = now + this.#retryMs;
      if (!this.#file.isInPlace()) this.#letGo();
    }
    if (this.#file.isOpen) return;
    if (this.#lock?.held() !== true) this.#lock = lockFor(this.#file.path, this.#log);
    this.#file.open();
    this.#nextCheck = now + this.#retryMs;
  }

  /** Closes the file; what waits for the next fsync has had it, or is refused. */
  #letGo(): void {
    const failure = this.#file.close();
    const waiting = this.#unsynced;
    this.#unsynced = [];
    if (failure === undefined) {
      for (const entry of waiting) entry.resolve();
    } else {
      this.#refuse(waiting, unavailable(this.file, failure));
    }
  }

  #noteFailure(error: unknown): void {
    // Only repeats what is known: no new try was made.
    if (error === this.#failure) return;
    const now = performance.now();
    this.#nextTry = now + this.#retryMs;
    this.#failure =
      error instanceof Fault && error.code === "AUDIT_UNAVAILABLE" ? error : unavailable(this.file, error);
    this.#letGo();
    if (now < this.#nextLog) return;
    this.#nextLog = now + LOG_EVERY_MS;
    const { onFailure } = this.#config;
    const effect = onFailure === "deny" ? "requests are refused until it can" : "REQUESTS GO ON WITHOUT A RECORD";
    this.#log.error(
      { file: this.file, error: this.#failure.message, lost: this.#backlog.lost },
      `audit file cannot be written: ${effect}`,
    );
  }

  #noteRecovery(): void {
    const { lines, lost } = this.#backlog;
    this.#log.warn({ file: this.file, late: lines.length, lost }, "audit file can be written again");
    this.#failure = undefined;
    this.#backlog.clear();
    this.#nextLog = 0;
  }

  #refuse(entries: readonly Entry[], fault = this.#failure!): void {
    for (const entry of entries) {
      if (this.#config.onFailure === "deny") entry.reject(fault);
      else entry.resolve();
    }
  }

  #closed(): Fault {
    return unavailable(this.file, new Error("it is closed: Switchyard is shutting down"));
  }
}

function unavailable(file: string, cause: unknown): Fault {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Fault(
    "AUDIT_UNAVAILABLE",
    `The audit file ${file} cannot be written: ${reason}. Requests go on as soon as it can be written again.`,
    { retrySafe: true, cause },
  );
}
