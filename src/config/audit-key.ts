/**
 * The key that signs checkpoints of the audit file, looked at when the file is loaded, so that `check` finds a wrong one.
 * What a right one is, is decided where it is used.
 */
import { statSync } from "node:fs";
import { Fault } from "../errors.ts";
import { loadSigner } from "../pipeline/audit/checkpoint.ts";
import type { Problem } from "./problem.ts";

/** Of a key that is right. */
export function auditKeyWarning(keyFile: string | undefined): Problem | undefined {
  if (keyFile === undefined || process.platform === "win32" || (statSync(keyFile).mode & 0o077) === 0) return undefined;
  const reason = "can be read by other users, who could sign in its name";
  return { path: ["audit", "signingKeyFile"], reason, remedy: `Write "chmod 600 ${keyFile}".` };
}

export function auditKeyProblem(keyFile: string | undefined, every: number | undefined): Problem | undefined {
  if (keyFile === undefined) {
    if (every === undefined) return undefined;
    const remedy = 'Add "signingKeyFile", or remove the key.';
    return { path: ["audit", "checkpointEvery"], reason: "has no effect without a key that signs", remedy };
  }
  try {
    loadSigner(keyFile);
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const remedy = 'Make one with "openssl genpkey -algorithm ed25519 -out FILE", readable for this user alone.';
    return { path: ["audit", "signingKeyFile"], reason: error.message, remedy };
  }
}
