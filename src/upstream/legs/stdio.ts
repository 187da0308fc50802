/**
 * The stdio leg: one child process, one JSON text a line on its stdin and stdout (spec.md §1.18). `child.ts` starts it,
 * `intake.ts` reads its lines, `stderr.ts` and `noise.ts` what is for the log, `kill.ts` ends what is left of its group.
 *
 * Life: open -> running -> (exit, or a stream closed by the child) -> drained -> closed. `closed` waits for the answers
 * that were written just before the exit, but not for a grandchild that holds the pipe open.
 */
import type { StdioTarget } from "../../config/types.ts";
import type { Log } from "../../log.ts";
import { byLine } from "../../redact/lines.ts";
import { type Leg, type LegClosed, LegError, type LegEvents, type Outgoing } from "../../wire/leg.ts";
import { LineFramer } from "../../wire/lines.ts";
import { Outbox } from "../../wire/outbox.ts";
import { type Child, endChild, endRemains, startChild, within } from "./child.ts";
import { type Intake, takeMessage, takeOversize } from "./intake.ts";
import { leaderGone } from "./kill.ts";
import { NoiseLog } from "./noise.ts";
import { StderrLines } from "./stderr.ts";

/** Bytes a child may leave unread before further messages are refused. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** After the exit: how long the rest of the output may take, if a grandchild holds the pipes open. */
const DRAIN_MS = 500;
const DRAIN_LIMIT_MS = 900;
/** After a stream that the child closed: how long its exit may take, whose code says more. */
const EXIT_MS = 1000;

export interface StdioLegOptions {
  /** Key in `mcpServers`, for the log. */
  readonly server: string;
  readonly target: StdioTarget;
  readonly log: Log;
  /** 0 = no limit. */
  readonly maxMessageBytes: number;
  /** What the safe base of the child's environment is taken from; ours, unless a test sets another. */
  readonly baseEnv?: NodeJS.ProcessEnv;
  redact(text: string): string;
}

export function createStdioLeg(options: StdioLegOptions): Leg {
  return new StdioLeg(options);
}

class StdioLeg implements Leg {
  readonly #options: StdioLegOptions;
  readonly #noise: NoiseLog;
  readonly #stderr: StderrLines;
  readonly #framer: LineFramer;
  #state: "new" | "starting" | "running" | "closing" | "closed" = "new";
  #events: LegEvents | undefined;
  #starting: Promise<Child> | undefined;
  #child: Child | undefined;
  #outbox: Outbox | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  /** Why it will be over soon: the first thing that ended. */
  #ending: string | undefined;
  #endingSince = 0;
  #stdoutDone = false;
  #stderrDone = false;
  #bytesRead = 0;
  #paused = false;
  #drainTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #remains: Promise<void> = Promise.resolve();
  #exited: Promise<void> = Promise.resolve();
  #isFinished: (() => void) | undefined;
  readonly #finished = new Promise<void>((resolve) => {
    this.#isFinished = resolve;
  });

  constructor(options: StdioLegOptions) {
    const { server, log, maxMessageBytes } = options;
    const redact = (text: string): string => options.redact(text);
    this.#options = options;
    this.#noise = new NoiseLog({ server, log, redact });
    this.#stderr = new StderrLines({ server, log, redact: byLine(redact) });
    const intake: Intake = {
      frame: (frame) => this.#events?.frame(frame),
      failed: (id, error) => this.#events?.failed(id, error),
      noise: (bytes, why) => this.#noise.add(bytes, why),
    };
    this.#framer = new LineFramer({
      maxBytes: maxMessageBytes,
      line: (bytes) => takeMessage(bytes, intake),
      tooLong: (head, length, tail) => takeOversize(head, length, tail, maxMessageBytes, intake),
    });
  }

  async open(events: LegEvents): Promise<void> {
    this.#events = events;
    if (this.#state !== "new") return this.#refuse(closedError("closed"));
    this.#state = "starting";
    try {
      this.#starting = startChild(this.#options.target, this.#options.baseEnv ?? process.env);
      this.#child = await this.#starting;
    } catch (error) {
      return this.#refuse(error);
    }
    this.#attach(this.#child);
    // Closed in the meantime: `close` waits for the child, ends it and calls `closed`.
    if ((this.#state as string) !== "starting") throw closedError("closed");
    this.#state = "running";
  }

  #refuse(error: unknown): never {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = this.#state === "closing" || this.#state === "closed";
    this.#state = "closed";
    const events = this.#events;
    this.#events = undefined;
    events?.closed({ reason, expected });
    throw error;
  }

  #attach(child: Child): void {
    this.#outbox = new Outbox(child.stdin, { highWaterBytes: Number.POSITIVE_INFINITY });
    child.stdin.on("error", () => this.#end("closed its standard input"));
    child.stdout.on("data", (chunk: Buffer) => {
      this.#bytesRead += chunk.length;
      this.#framer.push(chunk);
    });
    child.stdout.on("close", () => {
      this.#stdoutDone = true;
      this.#end("closed its standard output");
    });
    child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    child.stderr.on("close", () => {
      this.#stderrDone = true;
      if (this.#exit !== undefined) this.#drain();
    });
    this.#exited = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        leaderGone(child.pid);
        this.#exit = { code, signal };
        // Counts more than a stream that closed a moment before.
        this.#ending = undefined;
        this.#end(signal === null ? `exited with code ${code}` : `killed by ${signal}`);
        resolve();
      });
    });
    if (this.#paused) child.stdout.pause();
  }

  send(message: Outgoing): void {
    if (this.#state !== "running" || this.#outbox === undefined || this.#ending !== undefined) {
      throw closedError(this.#ending ?? "closed");
    }
    const queued = this.#outbox.queuedBytes;
    // A cancel that is lost would leave a request running that nobody waits for: what is no request is taken for longer.
    if (queued > (message.kind === "request" ? MAX_QUEUED_BYTES : 2 * MAX_QUEUED_BYTES)) {
      const text = `the server does not read its standard input: ${queued} bytes are waiting`;
      throw new LegError("full", text, { delivered: "no" });
    }
    this.#outbox.write(message.chunks);
  }

  pause(): void {
    this.#paused = true;
    if (this.#state === "closing") return;
    clearTimeout(this.#drainTimer);
    this.#child?.stdout.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#child?.stdout.resume();
    if (this.#ending !== undefined) this.#drain();
  }

  /** Something ended that ends the connection; the rest of the output may still be on its way. */
  #end(reason: string): void {
    if (this.#state === "closed") return;
    if (this.#ending === undefined) {
      this.#ending = reason;
      this.#endingSince = performance.now();
    }
    this.#drain();
  }

  #drain(): void {
    clearTimeout(this.#drainTimer);
    if (this.#state === "closed" || this.#ending === undefined) return;
    if (this.#exit !== undefined && this.#stdoutDone && this.#stderrDone) return this.#finish();
    // While reading is stopped nothing can be said about what is left to read.
    if (this.#paused && this.#state !== "closing") return;
    this.#drainTimer = setTimeout(() => this.#drained(), this.#exit === undefined ? EXIT_MS : DRAIN_MS);
  }

  /** Time is up; but if we were kept from reading, there may be output that we could have read long ago. */
  #drained(): void {
    const before = this.#bytesRead;
    const late = performance.now() - this.#endingSince > DRAIN_LIMIT_MS;
    setImmediate(() =>
      setImmediate(() => {
        if (this.#bytesRead === before || late) this.#finish();
        else this.#drained();
      }),
    );
  }

  #finish(): void {
    const child = this.#child;
    if (this.#state === "closed" || child === undefined) return;
    const expected = this.#state === "closing";
    this.#framer.end();
    this.#stderr.end();
    this.#noise.flush();
    clearTimeout(this.#drainTimer);
    this.#state = "closed";
    this.#outbox?.kill();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    const why: LegClosed = {
      reason: this.#ending ?? "closed",
      expected,
      stderrTail: this.#stderr.tail,
      ...(this.#exit === undefined ? {} : { exitCode: this.#exit.code, signal: this.#exit.signal }),
    };
    const events = this.#events;
    this.#events = undefined;
    if (!expected) this.#remains = endRemains(child.pid);
    this.#isFinished?.();
    events?.closed(why);
  }

  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    if (this.#state !== "closed") this.#state = this.#starting === undefined ? "closed" : "closing";
    // A start that is under way is waited for: its child has to be ended. Whatever `open` makes of it comes first.
    await this.#starting?.catch(() => {});
    const child = this.#child;
    if (child === undefined || this.#outbox === undefined || (this.#state as string) === "closed") return this.#remains;
    await endChild(child, this.#outbox, this.#exited, graceMs);
    // What it wrote before its end may still have to be read; only one that left its group can hold the pipes open now.
    this.#end("closed");
    await within(this.#finished, DRAIN_LIMIT_MS);
    this.#finish();
  }
}

function closedError(reason: string): LegError {
  return new LegError("closed", `the server's process is not running (${reason})`, { delivered: "no" });
}
