/**
 * The stdio leg that faces a host: lines of stdin into the session, the session's messages onto stdout. Stops reading
 * while the host does not read what is waiting for it (its own doing; nobody else is delayed by that).
 */
import type { Readable, Writable } from "node:stream";
import { LineFramer } from "../wire/lines.ts";
import { Outbox } from "../wire/outbox.ts";
import { idOfHead, scan } from "../wire/scan.ts";
import type { HostSession } from "./session.ts";

/** Answers the host has not read yet, in bytes, at which we stop working for it and reading from the servers. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024;
/** What is still read from it then, unworked: only a stream that is read tells of its end. */
const STALLED_BYTES = 4 * 1024 * 1024;

export interface StdioLegOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxMessageBytes: number;
  /** The host does not keep up (true), or has caught up (false). */
  onPressure(pressed: boolean): void;
  /** stdin ended, or stdout is closed. Called once. */
  onGone(why: "eof" | "broken"): void;
}

export class StdioHostLeg {
  readonly #options: StdioLegOptions;
  readonly #outbox: Outbox;
  #gone = false;
  #pressed = false;
  #stalled: Buffer[] = [];
  #stalledBytes = 0;
  #take: (chunk: Buffer) => void = () => {};

  constructor(options: StdioLegOptions) {
    this.#options = options;
    const { input, output } = options;
    this.#outbox = new Outbox(output, {
      highWaterBytes: HIGH_WATER_BYTES,
      onPressure: (pressed) => {
        this.#pressed = pressed;
        if (!pressed) this.#catchUp();
        options.onPressure(pressed);
      },
    });
    // EPIPE when the host has died: without a listener it would be thrown, and thrown again while it is reported.
    output.on("error", () => this.#leave("broken"));
    input.on("error", () => this.#leave("broken"));
  }

  write(chunks: readonly Buffer[]): void {
    this.#outbox.write(chunks);
  }

  /** Begins to read. */
  serve(session: HostSession): void {
    const { input, maxMessageBytes } = this.#options;
    const framer = new LineFramer({
      maxBytes: maxMessageBytes,
      line: (bytes) => session.receive(scan(bytes), bytes),
      tooLong: (head, length, tail) => {
        const { idText, kind } = idOfHead(head, tail);
        session.tooLong(
          idText,
          kind,
          `a message of ${length} bytes was refused: maxMessageBytes is ${maxMessageBytes}`,
        );
      },
    });
    this.#take = (chunk) => framer.push(chunk);
    input.on("data", (chunk: Buffer) => {
      if (!this.#pressed) return framer.push(chunk);
      this.#stalled.push(chunk);
      this.#stalledBytes += chunk.length;
      if (this.#stalledBytes > STALLED_BYTES) input.pause();
    });
    input.on("end", () => {
      framer.end();
      this.#leave("eof");
    });
    input.on("close", () => this.#leave("eof"));
  }

  /** Resolves when the host has been given everything, or is gone. */
  flushed(): Promise<void> {
    return this.#outbox.flushed();
  }

  close(): void {
    this.#options.input.pause();
    this.#options.input.destroy();
  }

  #catchUp(): void {
    const stalled = this.#stalled;
    this.#stalled = [];
    this.#stalledBytes = 0;
    for (const chunk of stalled) this.#take(chunk);
    this.#options.input.resume();
  }

  #leave(why: "eof" | "broken"): void {
    if (why === "broken") this.#outbox.kill();
    if (this.#gone) return;
    this.#gone = true;
    this.#options.onGone(why);
  }
}
