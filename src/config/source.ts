/**
 * First step of loading: the file's text as a value, with the line of every key. JSON with comments and trailing commas;
 * the only door to jsonc-parser.
 */
import { readFileSync } from "node:fs";
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { ConfigError } from "../errors.ts";
import type { KeyPath, Problem } from "./problem.ts";

export interface Source {
  /** The file's value. Objects keep the first of two equal keys; the second is in `problems`. */
  readonly value: unknown;
  /** Keys given twice, and `__proto__`. */
  readonly problems: readonly Problem[];
  /** Keys of the object at `path` in the order of the file (JavaScript would put "2" before "a"). */
  keys(path: KeyPath): readonly string[];
  /** Line (from 1) of the key at `path`, or of its nearest parent that is in the file. */
  line(path: KeyPath): number | undefined;
}

/** @throws ConfigError if the file cannot be read or is not JSON */
export function readSource(file: string): Source {
  const text = decode(file, readBytes(file));
  const { root, errors } = parse(file, text);
  const problem = errors[0];
  const locate = locator(text);
  if (text.trim() === "") {
    throw new ConfigError(`${file}: the file is empty. Write at least { "mcpServers": { … } }.`);
  }
  if (problem !== undefined || root === undefined) {
    const { line, column } = locate(problem?.offset ?? 0);
    const reason = problem === undefined ? "not JSON" : wordsOf(problem);
    throw new ConfigError(`${file}:${line}:${column}: not valid JSON: ${reason}. Correct the file at this place.`);
  }
  const problems: Problem[] = [];
  const value = build(root, [], problems, locate);
  const keyOffset = (path: KeyPath): number | undefined => {
    const node = findNodeAtLocation(root, [...path]);
    if (node === undefined) return undefined;
    return node.parent?.type === "property" ? node.parent.offset : node.offset;
  };
  return {
    value,
    problems,
    keys(path) {
      const node = findNodeAtLocation(root, [...path]);
      return [...new Set((node?.children ?? []).map((property) => String(property.children?.[0]?.value)))];
    },
    line(path) {
      for (let length = path.length; length >= 0; length--) {
        const offset = keyOffset(path.slice(0, length));
        if (offset !== undefined) return locate(offset).line;
      }
      return undefined;
    },
  };
}

/** Strict JSON from a command line. @returns the value, or where (line and column from 1) and why it is not JSON */
export function parseJson(text: string): { value: unknown } | { line: number; column: number; reason: string } {
  const errors: ParseError[] = [];
  parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const error = errors[0];
  if (error !== undefined) return { ...locator(text)(error.offset), reason: wordsOf(error) };
  try {
    return { value: JSON.parse(text) };
  } catch (thrown) {
    // jsonc-parser is a little more lenient than JSON (control characters in strings, for one).
    return { line: 1, column: 1, reason: thrown instanceof Error ? thrown.message : "not JSON" };
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const [reason, remedy] =
      code === "ENOENT"
        ? ["there is no such file", "Check the path, or create the file."]
        : code === "EISDIR"
          ? ["it is a folder", "Name the file in it."]
          : code === "EACCES" || code === "EPERM"
            ? ["permission denied", "Make it readable for the user who starts switchyard."]
            : [(error as Error).message, "Check the path."];
    throw new ConfigError(`${file}: cannot read the configuration: ${reason}. ${remedy}`);
  }
}

function decode(file: string, bytes: Buffer): string {
  // Windows PowerShell's `>` writes UTF-16.
  const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    // TextDecoder takes the byte order mark away.
    return new TextDecoder(utf16 ? "utf-16le" : "utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${file}: the text is not UTF-8. Save the file as UTF-8.`);
  }
}

function parse(file: string, text: string): { root: Node | undefined; errors: ParseError[] } {
  const errors: ParseError[] = [];
  try {
    return { root: parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true }), errors };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(`${file}: nested too deeply. A configuration has fewer than ten levels.`);
  }
}

function build(node: Node, path: KeyPath, problems: Problem[], locate: Locate): unknown {
  if (node.type === "array") {
    return (node.children ?? []).map((child, index) => build(child, [...path, index], problems, locate));
  }
  if (node.type !== "object") return node.value;
  const value: Record<string, unknown> = {};
  const lines = new Map<string, number>();
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const line = locate(keyNode.offset).line;
    const first = lines.get(key);
    if (first !== undefined) {
      problems.push({
        path: [...path, key],
        reason: `the key is given twice, in line ${first}${first === line ? "" : ` and in line ${line}`}`,
        remedy: "Remove one of the two.",
      });
    } else if (key === "__proto__") {
      // Setting it would change the object's prototype.
      problems.push({ path: [...path, key], reason: "this key cannot be used", remedy: "Choose another name." });
    } else {
      lines.set(key, line);
      value[key] = build(valueNode, [...path, key], problems, locate);
    }
  }
  return value;
}

type Locate = (offset: number) => { line: number; column: number };

/** Line and column from 1. The starts of the lines are found once: a file may have thousands of keys. */
function locator(text: string): Locate {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), (match) => match.index + match[0].length)];
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** "CloseBraceExpected" → "close brace expected". */
function wordsOf(error: ParseError): string {
  return printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
}
