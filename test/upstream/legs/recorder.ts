/** What a leg reports, written down, and messages to send to it. */
import type { Log } from "../../../src/log.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import type { Leg, LegClosed, LegError, LegEvents, Outgoing } from "../../../src/wire/leg.ts";
import { until } from "../../support/until.ts";

export class Recorder implements LegEvents {
  readonly frames: Frame[] = [];
  readonly failures: { id: number; error: LegError }[] = [];
  readonly ends: LegClosed[] = [];
  /** "frame:ID", "failed:ID", "closed" in the order in which they were told. */
  readonly order: string[] = [];
  onFrame: ((frame: Frame) => void) | undefined;

  frame(frame: Frame): void {
    this.frames.push(frame);
    this.order.push(`frame:${frame.idText ?? frame.method}`);
    this.onFrame?.(frame);
  }

  failed(id: number, error: LegError): void {
    this.failures.push({ id, error });
    this.order.push(`failed:${id}`);
  }

  closed(why: LegClosed): void {
    this.ends.push(why);
    this.order.push("closed");
  }

  get texts(): string[] {
    return this.frames.map((frame) => frame.bytes.toString("utf8"));
  }

  answer(id: number): Promise<Frame> {
    const find = (): Frame | undefined =>
      this.frames.find((frame) => frame.kind === "response" && frame.idText === String(id));
    return until(find, { what: `an answer to ${id}` }) as Promise<Frame>;
  }

  failure(id: number): Promise<LegError> {
    const find = (): LegError | undefined => this.failures.find((failure) => failure.id === id)?.error;
    return until(find, { what: `a failure of ${id}` }) as Promise<LegError>;
  }

  end(): Promise<LegClosed> {
    return until(() => this.ends[0], { what: "the end of the leg" }) as Promise<LegClosed>;
  }
}

export function request(id: number, method = "tools/call", params: unknown = {}): Outgoing {
  const chunks = [Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }))];
  return { chunks, kind: "request", id, method };
}

export function notification(method: string, params: unknown = {}): Outgoing {
  return { chunks: [Buffer.from(JSON.stringify({ jsonrpc: "2.0", method, params }))], kind: "notification", method };
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** A log that keeps its lines. */
export function recordingLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      lines.push({ ...fields, level, message });
    };
  return { lines, trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export const SECRET = "s3cr3t-s3ntin3l";

export function redact(text: string): string {
  return text.replaceAll(SECRET, "[redacted]");
}

/** `await using`: the leg is closed after the test, whatever came of it. */
export function disposable<T extends Leg>(leg: T, graceMs = 2000): T & AsyncDisposable {
  return Object.assign(leg, { [Symbol.asyncDispose]: () => leg.close(graceMs) });
}
