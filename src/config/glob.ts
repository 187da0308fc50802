/**
 * Globs of the file, said to be wrong when it is loaded and under the entry they stand in. What a glob means is decided in
 * one place, the policy's: a second opinion here would let through what fails there, or the other way round.
 */
import { ConfigError } from "../errors.ts";
import { compileGlob, type GlobStyle } from "../pipeline/policy/glob.ts";

export type { GlobStyle };

/** @returns "reason. Remedy." or undefined */
export function globProblem(glob: string, style: GlobStyle): string | undefined {
  try {
    compileGlob(glob, style, "");
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.replace(/^: /, "");
  }
}

/** Of a glob without a problem, on names. */
export function globMatcher(glob: string): (name: string) => boolean {
  const { test } = compileGlob(glob, "flat", "");
  return (name) => test(name) === true;
}
