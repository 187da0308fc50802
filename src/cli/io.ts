/** What a command touches of the world. `main` takes one, so that tests run whole commands in one process. */
import type { Readable, Writable } from "node:stream";
import { type Engine, engine } from "./engine.ts";

export type Output = Writable & { isTTY?: boolean; columns?: number };

export interface Io {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** Where SIGINT, SIGTERM and SIGHUP arrive. */
  readonly signals: Pick<NodeJS.EventEmitter, "on" | "off">;
  readonly engine: Engine;
  /** Ends the process without waiting for anything. */
  readonly exit: (code: number) => void;
}

export function realIo(): Io {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    platform: process.platform,
    signals: process,
    engine,
    exit: (code) => process.exit(code),
  };
}

/** Resolves when the text has left, or never will: a reader that has gone away is no error of ours. */
export function write(stream: Output, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
