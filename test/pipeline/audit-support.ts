/** Audit files for the tests of the chain: written by the real sink, then altered. */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AuditConfig } from "../../src/config/types.ts";
import { loadPublicKey } from "../../src/pipeline/audit/checkpoint.ts";
import { chainsOf } from "../../src/pipeline/audit/read.ts";
import { setOf } from "../../src/pipeline/audit/set.ts";
import { type AuditSink, openAudit, type SinkOptions } from "../../src/pipeline/audit/sink.ts";
import { type ChainReport, verifyChain } from "../../src/pipeline/audit/verify.ts";
import { auditConfig, keptLog, linesOf, tempDir } from "./support.ts";

export function folder() {
  const dir = tempDir();
  onTestFinished(() => dir[Symbol.dispose]());
  return dir;
}

export function open(
  file: string,
  more: Partial<AuditConfig> = {},
  options: SinkOptions = {},
  log = keptLog(),
): AuditSink {
  const sink = openAudit(auditConfig(file, more), log, { retryMs: 0, ...options });
  onTestFinished(() => sink.close());
  return sink;
}

export const line = (n: number) => ({ time: "2026-01-01T00:00:00.000Z", rest: `"n":${n},"text":"${"x".repeat(80)}"` });

/** One after the other, so that each is a write of its own. */
export async function writeEach(sink: AuditSink, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) await sink.append(line(n));
}

/** One run of a process, from its start to its orderly end. */
export async function run(file: string, from: number, to: number, more: Partial<AuditConfig> = {}): Promise<void> {
  const sink = open(file, more);
  await writeEach(sink, from, to);
  await sink.close();
}

/** A key pair in the folder. */
export function keys(path: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const files = { keyFile: join(path, "key.pem"), publicFile: join(path, "public.pem") };
  writeFileSync(files.keyFile, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  writeFileSync(files.publicFile, publicKey.export({ type: "spki", format: "pem" }));
  return files;
}

export function verify(file: string, publicFile?: string, contains?: { seq: number; hash: string }): ChainReport {
  const [chain] = chainsOf([file]);
  const given = publicFile === undefined ? [] : [loadPublicKey(publicFile)];
  return verifyChain(chain!, { keys: new Map(given.map(({ id, key }) => [id, key])), contains });
}

/** All lines of a set, in order, without their ends. */
export function linesOfSet(file: string): string[] {
  return setOf(file).flatMap((path) => readFileSync(path, "utf8").split("\n").slice(0, -1));
}

export function numbersOfSet(file: string): number[] {
  return linesOfSet(file).flatMap((text) => {
    const { n } = JSON.parse(text) as { n?: number };
    return n === undefined ? [] : [n];
  });
}

export const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

/** A bad line is named; or the last lines, which a checkpoint signed before they were altered, are called unsigned. */
export function found({ problem, notes }: ChainReport): boolean {
  return problem !== undefined || notes.some(({ what }) => what.endsWith("not signed yet"));
}

/** Changes the lines of one file. */
export function change(file: string, how: (lines: string[]) => void): void {
  const lines = linesOf(file);
  how(lines);
  writeFileSync(file, lines.map((text) => `${text}\n`).join(""));
}
