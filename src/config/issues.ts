/** What zod found, as problems a person can act on. Imports zod: load it with `await import()`. */
import * as z from "zod";
import { foreignKeys, foreignTopKeys, hostKeys } from "./hosts.ts";
import { nearest } from "./nearest.ts";
import type { KeyPath, Problem } from "./problem.ts";

/**
 * Checks `value`, the part of the file at `path`. Issues name keys and kinds, never values: they may be secrets.
 */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  path: KeyPath,
): { data: z.output<S> } | { problems: Problem[] } {
  const result = schema.safeParse(value);
  if (result.success) return { data: result.data };
  return { problems: result.error.issues.flatMap((issue) => problemsOf(issue, schema, value, path)) };
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown, base: KeyPath): Problem[] {
  const inner = issue.path.filter((part) => typeof part !== "symbol");
  const path = [...base, ...inner];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) =>
        unknownKey([...path, key], key, knownKeys(schema, inner), inner.length === 0, base),
      );
    case "invalid_type":
      return [wrongType(path, issue.expected, at(value, inner))];
    case "invalid_value": {
      const values = path.at(-1) === "type" ? ["stdio", "http", "sse"] : issue.values;
      if (at(value, inner) === undefined) return [{ path, reason: "the key is missing", remedy: "Add it." }];
      return [{ path, reason: "is not one of the values that are known", remedy: `Write ${choice(values)}.` }];
    }
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") {
        return [{ path, reason: "is empty", remedy: "Write a value or remove the key." }];
      }
      return [{ path, reason: "is too small", remedy: `Write ${issue.minimum} or more.` }];
    case "too_big":
      return [{ path, reason: "is too large", remedy: `Write ${issue.maximum} or less.` }];
    case "invalid_key":
      return issue.issues.map((part) => ours(path, part.message));
    case "invalid_format":
      return [
        issue.format === "url"
          ? { path, reason: "is not an http or https address", remedy: "Write it in full, as in https://example.com." }
          : {
              path,
              reason: "is not of the form that is needed",
              remedy: "Write 64 hex digits, the SHA-256 of the token.",
            },
      ];
    default:
      return [ours(path, issue.message)];
  }
}

/** Messages of the schema's own checks read "reason. Remedy." */
function ours(path: KeyPath, message: string): Problem {
  const end = message.indexOf(". ");
  return end === -1
    ? { path, reason: message, remedy: "Correct it." }
    : { path, reason: message.slice(0, end), remedy: message.slice(end + 2) };
}

function unknownKey(path: KeyPath, key: string, known: readonly string[], outermost: boolean, base: KeyPath): Problem {
  const foreign = outermost ? (base.length === 0 ? foreignTopKeys : foreignKeys) : {};
  // A host's key that was mistyped may have any effect or none: the keys that mean something here come first.
  const own = known.filter((name) => !Object.hasOwn(hostKeys, name));
  const near = nearest(key, own) ?? nearest(key, known);
  const remedy = Object.hasOwn(foreign, key)
    ? foreign[key]!
    : near !== undefined
      ? `Did you mean "${near}"?`
      : `Remove it; the keys known here are ${own.join(", ")}.`;
  return { path, reason: "unknown key", remedy };
}

function wrongType(path: KeyPath, expected: string, found: unknown): Problem {
  if (found === undefined)
    return { path, reason: "the key is missing", remedy: `Add it, as ${kinds[expected] ?? expected}.` };
  const wanted = kinds[expected] ?? expected;
  return { path, reason: `must be ${wanted}, not ${kinds[kindOf(found)]}`, remedy: remedyFor(path, expected, found) };
}

function remedyFor(path: KeyPath, expected: string, found: unknown): string {
  const key = path.at(-1);
  const isFilter = key === "tools" || key === "prompts" || key === "resources";
  if (expected === "object" && isFilter) return `Write "${key}": { "allow": [ … ], "deny": [ … ] }.`;
  if (expected === "string" && (typeof found === "number" || typeof found === "boolean")) return "Put it in quotes.";
  if (typeof found === "string" && (expected === "number" || expected === "int" || expected === "boolean")) {
    return "Write it without quotes.";
  }
  if (expected === "array") return "Write it as a list: [ … ].";
  return expected === "object" || expected === "record" ? "Write it as an object: { … }." : "Correct it.";
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function choice(values: readonly unknown[]): string {
  const words = values.map((value) => JSON.stringify(value));
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function at(value: unknown, path: readonly (string | number)[]): unknown {
  let part = value;
  for (const key of path) {
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return undefined;
    part = (part as Record<string | number, unknown>)[key];
  }
  return part;
}

/** The keys of the object that the schema has at `path`. */
function knownKeys(schema: z.ZodType, path: readonly (string | number)[]): string[] {
  let current: unknown = schema;
  for (const key of [...path, undefined]) {
    while (current instanceof z.ZodExactOptional || current instanceof z.ZodOptional) current = current.unwrap();
    if (key === undefined) break;
    if (current instanceof z.ZodObject) current = current.shape[key];
    else if (current instanceof z.ZodRecord) current = current.valueType;
    else if (current instanceof z.ZodArray) current = current.element;
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}
