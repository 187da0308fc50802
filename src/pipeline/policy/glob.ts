/**
 * Globs of filters and rules, compiled once. What is matched comes from servers and hosts and is hostile: no spelling
 * may slip past a deny entry. picomatch was made for paths and has such gaps (its stars match neither "." and ".." nor
 * a line break), so the plain forms that nearly every entry has are matched here, and picomatch gets the rest.
 */
import picomatch from "picomatch";
import { ConfigError } from "../../errors.ts";

export interface Glob {
  readonly source: string;
  /** `undefined`: the name is so long that matching could take seconds. The caller decides against the name. */
  readonly test: (name: string) => boolean | undefined;
}

/** `flat`: `*` stands for any characters (names). `path`: `*` stays within one segment, `**` crosses "/" (URIs). */
export type GlobStyle = "flat" | "path";

/** Backtracking grows with a power of the length; up to here it stays far below a millisecond for usual globs. */
const MAX_REGEXP_NAME = 2048;
const special = /[*?[\]{}()!+@|\\]/;
/** Stands in for "/" where "/" has no meaning. */
const FLAT_SLASH = "\uE02F";

/** @throws ConfigError naming `where` */
export function compileGlob(source: string, style: GlobStyle, where: string): Glob {
  if (source.trim() === "")
    throw new ConfigError(`${where}: an empty glob matches nothing. Write a name, or "*" for all.`);
  if (source.startsWith("!") || source.includes("!(")) {
    throw new ConfigError(
      `${where}: ${JSON.stringify(source)} is a negation, which is not supported. ` +
        `Put the glob without "!" under the opposite effect (allow or deny).`,
    );
  }
  const test = plain(source, style) ?? byPicomatch(source, style, where);
  return { source, test };
}

function plain(source: string, style: GlobStyle): Glob["test"] | undefined {
  // A lone "*" means all; for URIs, too: an entry that says "all" and matches nothing would be a trap.
  if (source === "*" || source === "**") return () => true;
  if (!special.test(source)) return (name) => name === source;
  if (style === "path") {
    const prefix = source.endsWith("**") ? source.slice(0, -2) : undefined;
    return prefix === undefined || special.test(prefix) ? undefined : (name) => name.startsWith(prefix);
  }
  const parts = source.split(/\*+/);
  return parts.some((part) => special.test(part)) ? undefined : byParts(parts);
}

/** `a*b*c`: each part is looked for behind the one before; linear, and the first place is as good as any. */
function byParts(parts: readonly string[]): Glob["test"] {
  const first = parts[0]!;
  const last = parts[parts.length - 1]!;
  const middle = parts.slice(1, -1);
  return (name) => {
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const part of middle) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

function byPicomatch(source: string, style: GlobStyle, where: string): Glob["test"] {
  const flat = style === "flat";
  const pattern = flat ? source.replaceAll("/", FLAT_SLASH) : source;
  let expression: RegExp;
  try {
    expression = picomatch.makeRe(pattern.startsWith("./") ? `\\${pattern}` : pattern, {
      dot: true,
      strictSlashes: true,
      nonegate: true,
      strictBrackets: true,
      windows: false,
      // Without it a faulty glob becomes one that matches nothing: a deny entry would be silently off.
      debug: true,
      // "." takes line breaks as well.
      flags: "s",
    });
  } catch (error) {
    throw new ConfigError(
      `${where}: ${JSON.stringify(source)} is not a glob: ${(error as Error).message}. ` +
        "Correct it, or put a backslash before the bracket.",
    );
  }
  return (name) => {
    // A name that is written exactly like the glob: URI templates hold braces.
    if (name === source) return true;
    if (name.length > MAX_REGEXP_NAME) return undefined;
    return expression.test(flat && name.includes("/") ? name.replaceAll("/", FLAT_SLASH) : name);
  };
}
