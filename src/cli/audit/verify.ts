/** `audit verify`: is every line what it was when it was written? */
import { ConfigError, Fault } from "../../errors.ts";
import { loadPublicKey } from "../../pipeline/audit/checkpoint.ts";
import type { Finding } from "../../pipeline/audit/finding.ts";
import { baseOf } from "../../pipeline/audit/set.ts";
import { type ChainReport, verifyChain } from "../../pipeline/audit/verify.ts";
import type { Shell } from "../shell.ts";
import { auditChains, besideFiles, type FileOptions } from "./files.ts";

interface VerifyOptions extends FileOptions {
  publicKey?: string[];
  contains?: { seq: number; hash: string };
  json?: boolean;
}

export async function verify(shell: Shell, files: readonly string[], options: VerifyOptions): Promise<number> {
  const keys = new Map(
    (options.publicKey ?? []).map((file) => {
      const { id, key } = publicKey(file);
      return [id, key] as const;
    }),
  );
  const { contains } = options;
  const chains = await auditChains(shell, files, options);
  if (contains !== undefined && chains.length > 1) {
    throw new ConfigError("--contains is about one chain, and these are several. Name the files of one.");
  }
  const reports = chains.map((paths) => verifyChain(paths, { keys, contains }));
  const ok = reports.every(({ problem }) => problem === undefined);
  if (options.json === true) await shell.json({ ok, chains: reports });
  else await shell.print(reports.map((report) => asText(report)).join("") + others(chains));
  return ok ? 0 : 1;
}

function publicKey(file: string): ReturnType<typeof loadPublicKey> {
  try {
    return loadPublicKey(file);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const make = '"openssl pkey -in KEY -pubout" prints it';
    throw new ConfigError(`--public-key ${file}: ${error.message}. Name the public key of signingKeyFile: ${make}.`);
  }
}

function asText({ files, records, checkpoints, first, last, lastHash, notes, problem }: ChainReport): string {
  const name = baseOf(files.at(-1)!);
  const count = files.length === 1 ? "" : `${files.length} files, `;
  const range = records === 0 ? "no records" : `records ${first} to ${last}`;
  const signed = checkpoints === 0 ? "" : `, ${checkpoints} checkpoints`;
  const verdict = problem === undefined ? "ok" : "BROKEN";
  const lines = [`${name}: ${count}${range}${signed}: ${verdict}`];
  if (problem !== undefined) lines.push(`  ${sentence(problem)}`, "  What stands behind it was not looked at.");
  else if (last !== undefined) lines.push(`  last record ${last}:${lastHash}`);
  lines.push(...notes.map((note) => `  note: ${sentence(note)}`));
  return `${lines.join("\n")}\n`;
}

function sentence({ file, line, what }: Finding): string {
  return `${file}:${line}: ${what}`;
}

function others(chains: readonly (readonly string[])[]): string {
  const given = new Set(chains.flat());
  const beside = chains.flatMap((files) => besideFiles(baseOf(files.at(-1)!))).filter((file) => !given.has(file));
  return beside.map((file) => `note: ${file} is a chain of its own, written by another process\n`).join("");
}
