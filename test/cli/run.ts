/** Runs a whole command in this process, against a stand-in for the engine, and keeps what it wrote. */
import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { PassThrough, Readable, Writable } from "node:stream";
import type { Engine } from "../../src/cli/engine.ts";
import type { Io, Output } from "../../src/cli/io.ts";
import { main } from "../../src/cli/main.ts";
import type { Client, PublicItem, ServerReport } from "../../src/client.ts";
import { tempDir } from "../support/dir.ts";

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Options {
  /** Written to switchyard.json in the working directory. */
  config?: object | string;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
  engine?: Partial<Engine>;
  columns?: number;
  isTTY?: boolean;
  signals?: EventEmitter;
  stderr?: Output;
  exit?: (code: number) => void;
}

export async function run(argv: string[], options: Options = {}): Promise<Ran> {
  await using dir = await tempDir();
  const { config, isTTY, columns } = options;
  if (config !== undefined) {
    writeFileSync(dir.file("switchyard.json"), typeof config === "string" ? config : JSON.stringify(config, null, 2));
  }
  const stdout = capture({ isTTY, columns });
  const stderr = capture({ isTTY, columns });
  const unexpected = () => Promise.reject(new Error("the engine is not expected to run"));
  const io: Io = {
    stdin: Readable.from([options.stdin ?? ""]),
    stdout,
    stderr: options.stderr ?? stderr,
    env: { HOME: dir.path, ...options.env },
    cwd: dir.path,
    platform: process.platform,
    signals: options.signals ?? new EventEmitter(),
    engine: { startServe: unexpected, startClient: unexpected, ...options.engine },
    exit: options.exit ?? (() => {}),
  };
  const code = await main(argv, io);
  const shorten = (text: string) => text.replaceAll(`${dir.path}/`, "");
  return { code, stdout: shorten(stdout.text()), stderr: shorten(stderr.text()) };
}

/** An output that keeps what is written to it. */
export function capture(terminal: { isTTY?: boolean | undefined; columns?: number | undefined } = {}) {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  if (terminal.isTTY !== undefined) Object.assign(stream, { isTTY: terminal.isTTY });
  if (terminal.columns !== undefined) Object.assign(stream, { columns: terminal.columns });
  return Object.assign(stream as Output, { text: () => Buffer.concat(chunks).toString("utf8") });
}

/** An output that nobody reads: what is written stays in its buffer. */
export function unread(): Output {
  const stream = new PassThrough({ highWaterMark: 1 });
  stream.write("full");
  return stream;
}

/** An engine whose client answers as given. */
export function clientOf(client: Partial<Client>): { engine: Partial<Engine>; closed: () => boolean } {
  let closed = false;
  const whole: Client = {
    settled: async () => {},
    servers: () => [],
    catalogue: async () => ({ tools: [], prompts: [], resources: [], templates: [], hidden: [] }),
    call: async () => ({ result: { content: [] } }),
    unusedRules: () => [],
    definitions: async () => new Map(),
    explain: (name) => ({ name, unknown: true, lookedForAt: [], error: { code: -32602, message: "Unknown tool" } }),
    ...client,
    close: async () => {
      closed = true;
    },
  };
  return { engine: { startClient: async () => whole }, closed: () => closed };
}

export const ready = (name: string, more: Partial<ServerReport> = {}): ServerReport => ({
  name,
  state: "ready",
  era: "legacy",
  revision: "2025-11-25",
  counts: { tools: 3, prompts: 0, resources: 2, templates: 1 },
  connectMs: 120,
  ...more,
});

export const failed = (name: string, more: Partial<ServerReport> = {}): ServerReport => ({
  name,
  state: "backoff",
  stage: "spawn",
  reason: "npx: not found",
  nextRetryMs: 2_000,
  ...more,
});

export const item = (publicName: string, definition: Record<string, unknown> = {}): PublicItem => ({
  publicName,
  server: publicName.split("__")[0]!,
  original: publicName.split("__")[1] ?? publicName,
  definition,
});
