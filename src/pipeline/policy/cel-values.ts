/**
 * What conditions read, as CEL sees it. Two worlds: arguments are strict, so that leaving one out is an error and denies,
 * since whoever calls could else slip past a rule; what a server says of its items is lenient, since annotations and
 * titles are optional in MCP: what it leaves out is null (a text is empty), and no rule denies a tool for that.
 */
import type { PolicyItem } from "../../exchange.ts";
import type { Frame } from "../../wire/frame.ts";
import { readTree, type Scalar, type TreeBounds, TreeFault, type TreeShapes } from "../../wire/tree.ts";
import { celEngine, type Input, type Library, type Value } from "./cel.ts";
import type { PolicyCaller } from "./policy.ts";

/** Of arguments and definitions. They are promises of the README. */
export const TREE_BOUNDS: TreeBounds = { bytes: 4_194_304, values: 20_000, depth: 64 };

type Definition = Readonly<Record<string, unknown>>;

type Members = ReadonlyMap<string, Input>;
type CelMap = ReturnType<Library["celMap"]>;

/** The library's own map, but for what a member is that is not there. */
function mapOf(members: Members): CelMap {
  const map: { -readonly [key in keyof CelMap]: CelMap[key] } = celEngine().library.celMap(members);
  // The library takes a member that is null for one that is not there; JSON knows the difference.
  map.has = (key) => members.has(key as string);
  return map;
}

/** A member that is not there is null. */
function lenientMap(members: Members, has = (key: string) => members.has(key)): CelMap {
  const map: { -readonly [key in keyof CelMap]: CelMap[key] } = celEngine().library.celMap(members);
  const get = map.get.bind(map);
  map.has = (key) => has(key as string);
  map.get = (key) => get(key) ?? null;
  return map;
}

const SHAPES: TreeShapes<Value | Scalar> = {
  list: (items) => celEngine().library.celList(items),
  map: (members) => mapOf(members),
};

/** `arguments` of a call; an empty map where there are none. @throws TreeFault */
export function argumentsOf(frame: Frame): Value {
  const at = frame.indexOf("arguments");
  if (at < 0) return mapOf(new Map());
  const start = frame.spans[2 * at]!;
  if (frame.bytes[start] !== 0x7b) throw new TreeFault("they are not an object");
  return readTree<Value>(frame.bytes, start, frame.spans[2 * at + 1]!, SHAPES, TREE_BOUNDS);
}

export function callerValue({ client, version }: PolicyCaller): Value {
  return mapOf(
    new Map([
      ["name", client],
      ["version", version ?? ""],
    ]),
  );
}

/** `tool`, `prompt` or `resource`. @throws TreeFault for a definition out of bounds */
export function itemValue(item: PolicyItem, definition: Definition): Value {
  const count = { values: 0 };
  const part = (key: string) => (definition[key] === undefined ? undefined : fromJson(definition[key], 0, count));
  const text = (key: string) => (typeof definition[key] === "string" ? definition[key] : "");
  const map = (key: string) => {
    const value = part(key);
    return celEngine().library.isCelMap(value) ? value : lenientMap(new Map());
  };
  const members = new Map<string, Input>([
    ["title", text("title")],
    ["description", text("description")],
    ["annotations", map("annotations")],
    ["_meta", map("_meta")],
  ]);
  if (item.kind === "resource")
    members.set("uri", item.original).set("name", text("name")).set("mimeType", text("mimeType"));
  else members.set("name", item.original);
  const given = (key: string) => key === "uri" || key === "name" || definition[key] !== undefined;
  return lenientMap(members, (key) => members.has(key) && given(key));
}

function fromJson(value: unknown, depth: number, count: { values: number }): Input {
  if (++count.values > TREE_BOUNDS.values) throw new TreeFault(`more than ${TREE_BOUNDS.values} values`);
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== "object" || value === null) return value as Input;
  if (depth >= TREE_BOUNDS.depth) throw new TreeFault(`nested deeper than ${TREE_BOUNDS.depth} levels`);
  if (Array.isArray(value)) return celEngine().library.celList(value.map((one) => fromJson(one, depth + 1, count)));
  return lenientMap(new Map(Object.entries(value).map(([key, one]) => [key, fromJson(one, depth + 1, count)])));
}
