/** Kinds of values in conditions, by the names of the library's types, and what they are called towards a person. */

export type Kind = string;

/** Variables whose members are known. To a function they are maps. */
export const STRUCTS: Readonly<Record<Kind, Readonly<Record<string, Kind>>>> = {
  item: { name: "string", title: "string", description: "string", annotations: "map", _meta: "map" },
  resource: {
    uri: "string",
    name: "string",
    title: "string",
    description: "string",
    mimeType: "string",
    annotations: "map",
    _meta: "map",
  },
  client: { name: "string", version: "string" },
};

export const VARIABLES = {
  server: "string",
  tool: "item",
  prompt: "item",
  resource: "resource",
  args: "map",
  client: "client",
  principal: "string",
} as const;
export type Variable = keyof typeof VARIABLES;

/** Known of every item, listed or not. */
export const IDENTITY: Readonly<Record<string, string>> = { tool: "name", prompt: "name", resource: "uri" };

export const CONSTANTS: Readonly<Record<string, Kind>> = {
  boolValue: "bool",
  int64Value: "int",
  uint64Value: "uint",
  doubleValue: "double",
  stringValue: "string",
  bytesValue: "bytes",
  nullValue: "null_type",
};
export const TYPES: ReadonlySet<string> = new Set([
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "bytes",
  "list",
  "map",
  "null_type",
  "type",
]);
const NUMBERS: ReadonlySet<Kind> = new Set(["int", "uint", "double"]);
export const MACROS = ["all", "exists", "exists_one", "filter", "map", "has"];
const WORDS: Readonly<Record<Kind, string>> = {
  bool: "true or false",
  int: "a whole number",
  uint: "an unsigned number",
  double: "a number with a fraction",
  string: "a text",
  bytes: "bytes",
  list: "a list",
  map: "a map",
  null_type: "null",
  dyn: "any value",
};

export function isA(kind: Kind, wanted: Kind): boolean {
  return kind === wanted || kind === "dyn" || wanted === "dyn" || (wanted === "map" && STRUCTS[kind] !== undefined);
}

export function comparable(a: Kind, b: Kind): boolean {
  return isA(a, b) || isA(b, a) || (NUMBERS.has(a) && NUMBERS.has(b));
}

export function words(kind: Kind): string {
  return WORDS[STRUCTS[kind] === undefined ? kind : "map"] ?? kind;
}

/** `_+_` and `@in` as they are written. */
export function symbol(name: string): string {
  return name.replace(/^[_@]|_$/g, "");
}
