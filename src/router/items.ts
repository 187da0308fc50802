/**
 * One page of one server's list -> its items, as spans of the bytes that came. Nothing is serialised again: an item is
 * checked for what would make common hosts refuse the whole list, and keeps every byte (spec.md §3.15).
 */
import { Fault } from "../errors.ts";
import type { ItemKind, PolicyItem } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";
import { elements, findMember, members } from "../wire/values.ts";
import type { ListMethod, ListRow } from "./lists.ts";

/** An item as its server sent it. */
export interface RawItem {
  readonly server: string;
  readonly list: ListRow;
  /** Original name, URI or URI template. */
  readonly key: string;
  /** JSON text of the definition. */
  readonly bytes: Buffer;
  /** The server runs this tool as a task only (`execution.taskSupport: "required"`). */
  readonly taskRequired: boolean;
  /** `_meta.ui.resourceUri` and `_meta["ui/resourceUri"]`: the views of a tool (MCP Apps). */
  readonly uiUris: readonly string[];
}

/** An item as the host sees it. */
export interface Item extends PolicyItem {
  readonly method: ListMethod;
  /** Public name, or URI or template or their alias. */
  readonly publicName: string;
  /** JSON text of the definition. */
  readonly bytes: Buffer;
  readonly taskRequired: boolean;
  /** The definition as the server sent it, parsed once. Not to be changed. */
  definition(): Readonly<Record<string, unknown>>;
}

/** An item that is not passed on, and why; for the log, `check` and `list`. */
export interface Withheld {
  readonly server: string;
  readonly kind: ItemKind;
  /** Original name or URI; its place in the page, `#3`, if it has none. */
  readonly original: string;
  readonly why: string;
}

export interface PageContent {
  readonly items: readonly RawItem[];
  readonly withheld: readonly Withheld[];
  /** Raw JSON text of the cursor string; undefined at the end of the list. */
  readonly nextCursor: string | undefined;
  /** Raw JSON text of a `nextCursor` that is no string: the list ends there, and somebody should know. */
  readonly oddCursor: string | undefined;
}

type Members = ReturnType<typeof members>;

const EMPTY: readonly never[] = [];
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** A page without items at the end of a list. */
export const NO_ITEMS: PageContent = { items: EMPTY, withheld: EMPTY, nextCursor: undefined, oddCursor: undefined };

/** `frame` is a response with a result. Throws BAD_ANSWER if it holds no list. */
export function readPage(frame: Frame, list: ListRow, server: string): PageContent {
  const at = frame.indexOf(list.member);
  const start = at < 0 ? -1 : frame.spans[2 * at]!;
  if (start < 0 || frame.bytes[start] !== OPEN_BRACKET) {
    throw new Fault("BAD_ANSWER", `the result of ${list.method} has no array "${list.member}"`, { server });
  }
  const text = frame.text("nextCursor");
  const isString = text?.charCodeAt(0) === QUOTE;
  return {
    ...readItems(owned(frame.bytes.subarray(start, frame.spans[2 * at + 1]!)), list, server),
    nextCursor: isString ? text : undefined,
    oddCursor: isString || text === "null" ? undefined : text,
  };
}

/** `bytes`: JSON text of an array of items, known to be valid. */
export function readItems(bytes: Buffer, list: ListRow, server: string): Pick<PageContent, "items" | "withheld"> {
  const items: RawItem[] = [];
  const withheld: Withheld[] = [];
  const spans = elements(bytes, 0, bytes.length);
  for (let i = 0; i < spans.length; i += 2) {
    const one = bytes.subarray(spans[i]!, spans[i + 1]!);
    const inside = members(one, 0, one.length);
    const key = stringAt(one, inside, list.key);
    const why = flaw(one, inside, list, key);
    if (why === undefined) items.push(rawItem(one, inside, list, server, key!));
    else withheld.push({ server, kind: list.kind, original: key ?? `#${i / 2}`, why });
  }
  return { items, withheld };
}

/** A list is kept for long; the chunk it was read from, which may be much larger, is let go. */
function owned(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > 2 * bytes.length ? Buffer.from(bytes) : bytes;
}

/** Why hosts would refuse a list with this item in it, or undefined. The words are for a person. */
function flaw(one: Buffer, inside: Members, list: ListRow, key: string | undefined): string | undefined {
  if (one[0] !== OPEN_BRACE) return "it is not an object";
  if (stringAt(one, inside, "name") === undefined) return 'its "name" is missing or not a string';
  if (key === undefined) return `its "${list.key}" is missing or not a string`;
  if (list.member !== "tools") return undefined;
  const schema = spanOf(inside, "inputSchema");
  if (schema === undefined) return 'its "inputSchema" is missing';
  if (one[schema[0]] !== OPEN_BRACE) return 'its "inputSchema" is not an object';
  const type = findMember(one, schema[0], schema[1], "type");
  const text = type && one.utf8Slice(type[0], type[1]);
  if (text === undefined) return 'its "inputSchema" has no "type"; it must be "object"';
  return textIs(text, "object") ? undefined : `the "type" of its "inputSchema" is ${text.slice(0, 60)}, not "object"`;
}

function rawItem(one: Buffer, inside: Members, list: ListRow, server: string, key: string): RawItem {
  if (list.member !== "tools") return { server, list, key, bytes: one, taskRequired: false, uiUris: EMPTY };
  return { server, list, key, bytes: one, taskRequired: taskRequired(one, inside), uiUris: uiUris(one, inside) };
}

function taskRequired(one: Buffer, inside: Members): boolean {
  const execution = spanOf(inside, "execution");
  const support = execution && findMember(one, execution[0], execution[1], "taskSupport");
  return support !== undefined && textIs(one.utf8Slice(support[0], support[1]), "required");
}

function uiUris(one: Buffer, inside: Members): readonly string[] {
  const meta = spanOf(inside, "_meta");
  if (meta === undefined) return EMPTY;
  const parts = members(one, meta[0], meta[1]);
  const ui = spanOf(parts, "ui");
  const uris = [ui && stringAt(one, members(one, ui[0], ui[1]), "resourceUri"), stringAt(one, parts, "ui/resourceUri")];
  return uris.filter((uri) => uri !== undefined);
}

/** Of two members with one key the last counts, as in JSON.parse. */
function spanOf(inside: Members, key: string): readonly [start: number, end: number] | undefined {
  const at = inside.keys.lastIndexOf(key);
  return at < 0 ? undefined : [inside.spans[2 * at]!, inside.spans[2 * at + 1]!];
}

function stringAt(bytes: Buffer, inside: Members, key: string): string | undefined {
  const span = spanOf(inside, key);
  if (span === undefined || bytes[span[0]] !== QUOTE) return undefined;
  return JSON.parse(bytes.utf8Slice(span[0], span[1])) as string;
}

function textIs(text: string, value: string): boolean {
  return text.charCodeAt(0) === QUOTE && (JSON.parse(text) as string) === value;
}
