/** The built program, run once to its end. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { TempDir } from "./dir.ts";

const BIN = fileURLToPath(new URL("../../bin/switchyard.js", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `dir` stands for the home folder and is the working directory. */
export function switchyard(args: readonly string[], dir: TempDir): Promise<Ran> {
  const env = { ...process.env, HOME: dir.path, XDG_CACHE_HOME: `${dir.path}/.cache` };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { env, cwd: dir.path }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
