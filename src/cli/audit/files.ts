/** Which audit files a command is about: those that are named, else that of the configuration. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { findConfig } from "../../config/find.ts";
import { loadConfig } from "../../config/load.ts";
import { ConfigError } from "../../errors.ts";
import { chainsOf } from "../../pipeline/audit/read.ts";
import { setOf } from "../../pipeline/audit/set.ts";
import type { Shell } from "../shell.ts";

export interface FileOptions {
  config?: string;
}

/** @returns the files of each chain, in order; at least one chain, none of them empty */
export async function auditChains(shell: Shell, files: readonly string[], options: FileOptions): Promise<string[][]> {
  const { cwd } = shell.io;
  const named = files.length > 0 ? files.map((file) => resolve(cwd, file)) : [await configuredFile(shell, options)];
  const chains = chainsOf(named);
  const missing = [...named, ...chains.flat()].find((file) => !existsSync(file) && setOf(file).length === 0);
  if (missing !== undefined) throw new ConfigError(`${missing}: there is no such file. Name an audit file.`);
  if (chains.length === 0) throw new ConfigError(`${named[0]}: this is a lock file. Name the audit file beside it.`);
  // A file that is set aside at this very moment has no successor yet.
  return chains.map((paths) => paths.filter((path) => existsSync(path)));
}

async function configuredFile({ io }: Shell, { config: given }: FileOptions): Promise<string> {
  const { env, cwd, platform } = io;
  const { audit, file } = await loadConfig(findConfig(given, env, cwd, platform), env);
  if (audit === undefined) throw new ConfigError(`${file}: audit: the key is missing. Name an audit file instead.`);
  return audit.file;
}

/** What other processes wrote beside this file, because it was taken: chains of their own. */
export function besideFiles(file: string): string[] {
  const extension = extname(file);
  const stem = basename(file, extension);
  const folder = dirname(file);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${stem}.`) && name.endsWith(extension))
    .filter((name) => /^\d{1,2}$/.test(name.slice(stem.length + 1, name.length - extension.length)))
    .map((name) => join(folder, name));
}
