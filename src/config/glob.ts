/** Whether a text is a glob that can match something (picomatch's syntax), said when the file is loaded. */
import picomatch from "picomatch";

/** @returns "reason. Remedy." or undefined */
export function globProblem(glob: string): string | undefined {
  if (glob.trim() === "") return 'is an empty glob and matches nothing. Write a name, or "*" for all.';
  try {
    picomatch.makeRe(glob, { strictBrackets: true });
    return undefined;
  } catch {
    return "is not a glob: a bracket has no partner. Close it, or put a backslash before it.";
  }
}

/** @param glob without a problem */
export function globMatcher(glob: string): (text: string) => boolean {
  return picomatch(glob);
}
