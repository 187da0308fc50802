/**
 * Where audit records go: gathers the records of one chunk of answers and writes them with one call, before any of
 * these answers leaves; begins a new file when one is full. Decides what happens while the file cannot be written, and
 * finds its way back by itself.
 */
import type { AuditConfig } from "../../config/types.ts";
import type { Fault } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { Backlog } from "./backlog.ts";
import { loadSigner } from "./checkpoint.ts";
import { type Entry, GroupCommit } from "./commit.ts";
import { AuditFile } from "./file.ts";
import { type FileLock, lockFor, lockFree } from "./lock.ts";
import type { AuditLine } from "./record.ts";
import { Trouble, unavailable } from "./trouble.ts";

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

/** How often a file that cannot be renamed is tried again. */
const SET_ASIDE_EVERY_MS = 10_000;
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
  readonly #commit: GroupCommit;
  readonly #trouble: Trouble;
  #lock: FileLock | undefined;
  #pending: Entry[] = [];
  #scheduled = false;
  readonly #backlog = new Backlog();
  #nextCheck = 0;
  #nextSetAside = 0;
  #closing: Promise<void> | undefined;
  readonly #onExit = (): void => {
    if (this.#pending.length > 0) this.#flush();
    this.#end();
  };

  constructor(config: AuditConfig, log: Log, options: SinkOptions) {
    this.#config = config;
    this.#log = log;
    this.#retryMs = options.retryMs ?? 1_000;
    const { durability, rotateBytes, checkpoints } = config;
    const signer = checkpoints && loadSigner(checkpoints.keyFile, checkpoints.every);
    let problem: unknown;
    let path = config.file;
    try {
      ({ path, lock: this.#lock } = lockFree(config.file, options.whenHeld === "beside" ? MAX_BESIDE : 1, log));
    } catch (error) {
      problem = error;
    }
    this.#file = new AuditFile(path, { durable: durability === "fsync", rotateBytes, signer });
    this.#trouble = new Trouble(path, config.onFailure, this.#retryMs, log);
    this.#commit = new GroupCommit(this.#file, (error, group) => {
      this.#noteFailure(error);
      this.#refuse(group);
    });
    try {
      if (problem !== undefined) throw problem;
      this.#ensureOpen(performance.now());
    } catch (error) {
      this.#noteFailure(error);
      if (config.onFailure === "deny") {
        this.#lock?.release();
        throw this.#trouble.fault!;
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
    if (this.#trouble.fault === undefined || this.#config.onFailure === "allow") return undefined;
    if (this.#trouble.mayTry(performance.now())) this.#flush();
    return this.#trouble.fault;
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
    await this.#commit.finished();
    this.#end();
    process.off("exit", this.#onExit);
  }

  /** Writes the backlog and what is pending, or notes why not. The only place that writes: order is fixed here. */
  #flush(): void {
    const batch = this.#pending;
    this.#pending = [];
    const late = this.#backlog.lines.length;
    let left = this.#backlog.lines.concat(batch.map((entry) => entry.line));
    /** Of the batch. */
    let written = 0;
    try {
      const now = performance.now();
      this.#ensureOpen(now);
      while (left.length > 0) {
        const count = now < this.#nextSetAside ? left.length : this.#file.room(left);
        if (count === 0) {
          this.#setAside(now);
          continue;
        }
        this.#file.write(left.slice(0, count));
        left = left.slice(count);
        const from = written;
        written = Math.max(0, batch.length - left.length);
        this.#settle(batch.slice(from, written));
      }
    } catch (error) {
      this.#noteFailure(error);
      this.#backlog.drop(late - Math.max(0, left.length - batch.length));
      const unwritten = batch.slice(written);
      this.#backlog.keep(unwritten.map((entry) => entry.line));
      this.#refuse(unwritten);
      return;
    }
    if (this.#trouble.fault === undefined) return;
    this.#trouble.over(late, this.#backlog.lost);
    this.#backlog.clear();
  }

  /** They are in the file. */
  #settle(entries: readonly Entry[]): void {
    if (this.#config.durability === "fsync") this.#commit.add(entries);
    else for (const entry of entries) entry.resolve();
  }

  /** @throws what hinders it; while it is broken at most one try in `retryMs` */
  #ensureOpen(now: number): void {
    if (!this.#trouble.mayTry(now)) throw this.#trouble.fault!;
    if (this.#file.isOpen && now >= this.#nextCheck) {
      this.#nextCheck = now + this.#retryMs;
      if (!this.#file.isInPlace()) this.#letGo();
    }
    if (this.#file.isOpen) return;
    if (this.#lock?.held() !== true) this.#lock = lockFor(this.#file.path, this.#log);
    this.#open();
    this.#nextCheck = now + this.#retryMs;
  }

  #open(): void {
    const { sealed, foreign } = this.#file.open();
    const { file } = this;
    if (sealed !== undefined) this.#log.warn({ file, bytes: sealed }, "an unfinished audit line was sealed off");
    if (foreign) this.#log.error({ file }, "the audit file was altered or replaced while it was being written");
  }

  /** The full file gets its name, and a new one is begun. A file that cannot be renamed grows on. @throws as `write` */
  #setAside(now: number): void {
    this.#file.sign();
    this.#letGo();
    try {
      this.#file.setAside();
    } catch (error) {
      this.#nextSetAside = now + SET_ASIDE_EVERY_MS;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error({ file: this.file, error: reason }, "the full audit file cannot be set aside: it grows on");
    }
    this.#open();
  }

  /** Closes the file; what waits for the next fsync has had it, or is refused. */
  #letGo(): void {
    const failure = this.#file.close();
    const waiting = this.#commit.take();
    if (failure !== undefined) this.#refuse(waiting, unavailable(this.file, failure));
    else for (const entry of waiting) entry.resolve();
  }

  /** The last of this process: signed, closed, and free for others. */
  #end(): void {
    try {
      if (this.#file.isOpen) this.#file.sign();
    } catch (error) {
      this.#noteFailure(error);
    }
    this.#letGo();
    this.#lock?.release();
  }

  #noteFailure(error: unknown): void {
    if (this.#trouble.note(error, this.#backlog.lost)) this.#letGo();
  }

  #refuse(entries: readonly Entry[], fault = this.#trouble.fault!): void {
    for (const entry of entries) {
      if (this.#config.onFailure === "deny") entry.reject(fault);
      else entry.resolve();
    }
  }

  #closed(): Fault {
    return unavailable(this.file, new Error("it is closed: Switchyard is shutting down"));
  }
}
