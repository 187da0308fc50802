/** What a scripted stdio server wrote down: every message it got, raw, and what happened to its process. */
import { readFileSync } from "node:fs";

export interface Message {
  readonly jsonrpc: string;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: unknown };
}

export interface Entry {
  /** Date.now() at the server. */
  readonly at: number;
  readonly pid: number;
  /** The message as text; undefined for an event. Of more than 1 MiB only the start, with `length` and `sha256`. */
  readonly raw?: string;
  readonly length?: number;
  readonly sha256?: string;
  readonly cut?: boolean;
  readonly invalid?: boolean;
  /** "start" (with env and cwd), "eof", "SIGTERM", "grandchild" (with child). */
  readonly event?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly child?: number;
}

export interface Received {
  readonly at: number;
  readonly pid: number;
  readonly raw: string;
  readonly message: Message;
}

export interface Recording {
  entries(): Entry[];
  /** Messages in order of arrival; with `method`, those only ("" = responses to what the server asked). */
  received(method?: string): Received[];
  /** pids of all processes that were started, in order. */
  starts(): number[];
}

export function recording(file: string): Recording {
  const entries = (): Entry[] => {
    let text = "";
    try {
      text = readFileSync(file, "utf8");
    } catch {
      return [];
    }
    // The last line may still be in the middle of being written.
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Entry);
  };
  return {
    entries,
    received: (method) =>
      entries()
        .filter((entry) => entry.raw !== undefined && !entry.invalid && !entry.cut)
        .map((entry) => ({ at: entry.at, pid: entry.pid, raw: entry.raw!, message: JSON.parse(entry.raw!) as Message }))
        .filter(({ message }) => method === undefined || (message.method ?? "") === method),
    starts: () => entries().flatMap((entry) => (entry.event === "start" ? [entry.pid] : [])),
  };
}
