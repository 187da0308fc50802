/** Exchanges and configurations for the tests of the layers, and an independent reading of the audit file. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditConfig, ServerConfig } from "../../src/config/types.ts";
import {
  type Answer,
  aimAt,
  type Caller,
  Cancellation,
  type Exchange,
  newTrail,
  type PolicyItem,
  type Resolved,
} from "../../src/exchange.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { Frame } from "../../src/wire/frame.ts";
import { rowOf } from "../../src/wire/methods.ts";
import { scan } from "../../src/wire/scan.ts";

export function frame(message: unknown): Frame {
  const scanned = scan(Buffer.from(typeof message === "string" ? message : JSON.stringify(message)));
  if (!(scanned instanceof Frame)) throw new Error(`no frame: ${JSON.stringify(scanned)}`);
  return scanned;
}

export const caller: Caller = {
  session: "session-1",
  client: { name: "claude-code", version: "2.1" },
  principal: undefined,
  revision: "2025-11-25",
  era: "legacy",
};

export function exchange(method: string, params: unknown, more: Partial<Exchange> = {}): Exchange {
  return exchangeOf(frame({ jsonrpc: "2.0", id: 7, method, params }), more);
}

export function exchangeOf(request: Frame, more: Partial<Exchange> = {}): Exchange {
  return {
    direction: "toServer",
    frame: request,
    row: rowOf(request.method!)!,
    caller,
    cancellation: new Cancellation(),
    trail: newTrail(),
    progress: undefined,
    server: undefined,
    target: undefined,
    ...more,
  };
}

export function resolved(from: Exchange, item: PolicyItem): Resolved {
  const { server, kind, original } = item;
  from.trail.server = server;
  from.trail.name = original;
  from.trail.publicName = `${server}__${original}`;
  return aimAt(from, { type: "item", server, kind, original, item });
}

export function answer(result: unknown = { content: [{ type: "text", text: "done" }] }): Answer {
  return frame({ jsonrpc: "2.0", id: 7, result });
}

export function errorAnswer(code: number, message: string): Answer {
  return frame({ jsonrpc: "2.0", id: 7, error: { code, message } });
}

export function server(name: string, more: Partial<ServerConfig> = {}): ServerConfig {
  const all = { allow: undefined, deny: [] };
  return {
    name,
    rank: 0,
    target: { type: "stdio", command: "node", args: [], env: {}, cwd: undefined },
    prefix: name,
    tools: all,
    prompts: all,
    resources: all,
    rename: {},
    era: "auto",
    isolation: "auto",
    timeouts: { connectMs: 1, requestMs: 0, totalMs: 0, resetOnProgress: true, startupMs: 0, drainMs: 0 },
    concurrency: undefined,
    queueLimit: 1000,
    maxResultBytes: 0,
    pin: "off",
    secrets: [],
    ...more,
  };
}

export interface TempDir extends Disposable {
  readonly path: string;
  readonly file: string;
}

export function tempDir(): TempDir {
  const path = mkdtempSync(join(tmpdir(), "switchyard-audit-"));
  return {
    path,
    file: join(path, "audit.jsonl"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export function auditConfig(file: string, more: Partial<AuditConfig> = {}): AuditConfig {
  return {
    file,
    payloads: "redacted",
    durability: "write",
    onFailure: "deny",
    rotateBytes: undefined,
    checkpoints: undefined,
    redactKeys: [],
    ...more,
  };
}

export interface KeptLog extends Log {
  readonly lines: { level: string; fields: LogFields; message: string }[];
}

export function keptLog(): KeptLog {
  const lines: KeptLog["lines"] = [];
  const at = (level: string) => (fields: LogFields, message: string) => {
    lines.push({ level, fields, message });
  };
  return { lines, trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

export type AuditRecord = Record<string, unknown> & { seq: number; prev: string };

export function linesOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  if (text === "") return [];
  if (!text.endsWith("\n")) throw new Error("the last line is unfinished");
  return text.slice(0, -1).split("\n");
}

export function recordsOf(file: string): AuditRecord[] {
  return linesOf(file).map((line) => JSON.parse(line) as AuditRecord);
}

/** Re-computes the chain from the bytes of the file. Returns the line number of the first break, or undefined. */
export function firstBreak(file: string, from = "0".repeat(64), seq = 1): number | undefined {
  let prev = from;
  let next = seq;
  const bytes = readFileSync(file);
  let start = 0;
  for (let line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    const one = bytes.subarray(start, end);
    let record: AuditRecord | undefined;
    try {
      record = JSON.parse(one.toString("utf8")) as AuditRecord;
    } catch {
      // A line that a crash has cut: the chain goes over its bytes.
    }
    if (record !== undefined && (record.prev !== prev || record.seq !== next++)) return line;
    prev = createHash("sha256").update(one).digest("hex");
    start = end + 1;
  }
  return undefined;
}
