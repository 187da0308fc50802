/**
 * The files of one chain. A file that is full is set aside under its name with the number of its last record behind it
 * (`audit.jsonl.000000012345`): such names never come twice, sort in the order of the chain, and tell where to look for a
 * record. The file that is being written keeps its name.
 */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const DIGITS = 12;
const ASIDE = /^(.+)\.(\d{12,16})(?:-(\d+))?$/;

interface Aside {
  readonly path: string;
  readonly base: string;
  readonly last: number;
  /** A second file that ends with the same record: the first was brought back from somewhere. */
  readonly copy: number;
}

/** Where the file goes whose last record is `seq`. */
export function asideName(file: string, seq: number): string {
  const name = `${file}.${String(seq).padStart(DIGITS, "0")}`;
  if (!existsSync(name)) return name;
  for (let copy = 2; ; copy++) if (!existsSync(`${name}-${copy}`)) return `${name}-${copy}`;
}

/** The file that `path` is or was before it was set aside. */
export function baseOf(path: string): string {
  return parse(path)?.base ?? path;
}

/** The files that were set aside, oldest first. @throws file system errors, but not for a folder that is not there */
export function asideFiles(file: string): string[] {
  const folder = dirname(file);
  const name = basename(file);
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return inOrder(names.filter((one) => one.startsWith(`${name}.`)).map((one) => join(folder, one))).filter(
    (path) => path !== file && baseOf(path) === join(folder, name),
  );
}

/** The whole set, oldest first; the file itself last, if it is there. */
export function setOf(file: string): string[] {
  const aside = asideFiles(file);
  return existsSync(file) ? [...aside, file] : aside;
}

/** Files that were set aside by the number of their last record, then the one that is being written. */
export function inOrder(paths: readonly string[]): string[] {
  const key = (path: string): readonly [number, number] => {
    const aside = parse(path);
    return aside === undefined ? [Number.POSITIVE_INFINITY, 0] : [aside.last, aside.copy];
  };
  return paths
    .map((path) => ({ path, key: key(path) }))
    .sort((a, b) => (a.key[0] === b.key[0] ? a.key[1] - b.key[1] : a.key[0] - b.key[0]))
    .map(({ path }) => path);
}

function parse(path: string): Aside | undefined {
  const [, name, last, copy] = ASIDE.exec(basename(path)) ?? [];
  if (name === undefined) return undefined;
  return { path, base: join(dirname(path), name), last: Number(last), copy: Number(copy ?? 1) };
}
