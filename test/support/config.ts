/** Entries of `mcpServers` for scripted servers, and configuration files. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Script } from "./behaviour.mjs";
import type { TempDir } from "./dir.ts";
import { type Recording, recording } from "./record.ts";

export type { Script, Step } from "./behaviour.mjs";

export const SERVER = fileURLToPath(new URL("./server.mjs", import.meta.url));

export interface StdioServer extends Recording {
  readonly name: string;
  /** For `mcpServers`; spread it to add keys: `{ ...a.entry, prefix: "" }`. */
  readonly entry: { command: string; args: string[] };
  /** Replaces the script: counts from the next start of the process on. */
  rewrite(script: Script): void;
}

let count = 0;

/** A scripted server: writes its script into `dir` and gives the entry that starts it. `name` is its serverInfo.name. */
export function stdioServer(dir: TempDir, name: string, script: Script = {}): StdioServer {
  const base = dir.file(`server-${++count}`);
  const record = `${base}.jsonl`;
  const rewrite = (next: Script) => writeFileSync(`${base}.json`, JSON.stringify({ name, record, ...next }));
  rewrite(script);
  return { name, entry: { command: process.execPath, args: [SERVER, `${base}.json`] }, rewrite, ...recording(record) };
}

/** The entry of an HTTP server; `type: undefined` leaves the choice to the proxy. */
export function httpServer(url: string, more: { type?: "http" | "sse"; headers?: Record<string, string> } = {}) {
  return { url, ...more };
}

/**
 * Writes a configuration file. `startupMs` is long unless the test says otherwise, so that the first list has all the
 * servers that will ever answer, on a busy machine too.
 */
export function configFile(dir: TempDir, config: object, name = "switchyard.json"): string {
  const { timeouts, ...rest } = config as { timeouts?: object };
  const path = dir.file(name);
  writeFileSync(path, JSON.stringify({ timeouts: { startupMs: 20_000, ...timeouts }, ...rest }, undefined, 2));
  return path;
}

/** A tool definition. */
export const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });
