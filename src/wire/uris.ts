/**
 * Which strings of a result are resource URIs, and their replacement where a server's URI goes by an alias (spec.md §4.4).
 * Only the fields that the protocol calls a URI: the same text inside of text, structuredContent, arguments or HTML is
 * left alone, because a tool or a page that gets it back would not know the alias.
 */
import { Frame } from "./frame.ts";
import { scan } from "./scan.ts";
import { type Edit, jsonText, splice } from "./splice.ts";
import { elements, findMember } from "./values.ts";

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** Of a JSON value in a frame's bytes. */
export type Span = readonly [start: number, end: number];

/** A member of the body as a span, or undefined. */
export function bodyMember(frame: Frame, key: string): Span | undefined {
  const at = frame.indexOf(key);
  return at < 0 ? undefined : [frame.spans[2 * at]!, frame.spans[2 * at + 1]!];
}

/** Content blocks, flat start and end: `content` is an array of them or, in prompts and sampling, may be just one. */
export function blocksOf(bytes: Buffer, content: Span | undefined): number[] {
  if (content === undefined) return [];
  const [start, end] = content;
  if (bytes[start] === OPEN_BRACKET) return elements(bytes, start, end);
  return bytes[start] === OPEN_BRACE ? [start, end] : [];
}

/** The decoded member `type` of a content block; undefined where it is no string. */
export function typeOf(bytes: Buffer, start: number, end: number): string | undefined {
  const span = stringMember(bytes, start, end, "type");
  return span && decode(bytes, span);
}

/** The frame with some edits made; the same frame if there are none. */
export function edited(frame: Frame, edits: readonly Edit[]): Frame {
  if (edits.length === 0) return frame;
  const parts = splice(frame.bytes, edits);
  const next = scan(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  // Our own edits of a frame that was scanned: if this fails, an edit is wrong.
  if (!(next instanceof Frame)) throw new Error(`an edited message is not one any more: ${next.reason}`);
  return next;
}

/** Spans of the JSON strings, quotes included, that are resource URIs; in the order in which they stand. */
export function uriSpans(frame: Frame): readonly [number, number][] {
  const found: [number, number][] = [];
  if (frame.isError) return found;
  const { bytes } = frame;
  const contents = bodyMember(frame, "contents");
  if (contents !== undefined) each(elements(bytes, ...contents), (start, end) => addUri(bytes, start, end, found));
  addBlocks(bytes, bodyMember(frame, "content"), found);
  const messages = bodyMember(frame, "messages");
  if (messages !== undefined) {
    each(elements(bytes, ...messages), (start, end) =>
      addBlocks(bytes, findMember(bytes, start, end, "content"), found),
    );
  }
  return found.sort((a, b) => a[0] - b[0]);
}

/** Puts `map(uri)` in the place of every URI of a result. Returns the same frame if nothing changed. */
export function rewriteUris(frame: Frame, map: (uri: string) => string): Frame {
  const edits: Edit[] = [];
  for (const span of uriSpans(frame)) {
    const uri = decode(frame.bytes, span);
    const mapped = map(uri);
    if (mapped !== uri) edits.push({ start: span[0], end: span[1], text: jsonText(mapped) });
  }
  return edited(frame, edits);
}

/**
 * The pages that a tool's definition (JSON text of one object) names: `_meta.ui.resourceUri` and the deprecated flat
 * `_meta["ui/resourceUri"]`. Each once.
 */
export function uiResourceUris(toolBytes: Buffer): string[] {
  const meta = findMember(toolBytes, 0, toolBytes.length, "_meta");
  if (meta === undefined) return [];
  const ui = findMember(toolBytes, ...meta, "ui");
  const nested = ui && stringMember(toolBytes, ...ui, "resourceUri");
  const flat = stringMember(toolBytes, ...meta, "ui/resourceUri");
  const uris = new Set<string>();
  for (const span of [nested, flat]) if (span !== undefined) uris.add(decode(toolBytes, span));
  return [...uris];
}

function addBlocks(bytes: Buffer, content: Span | undefined, found: [number, number][]): void {
  each(blocksOf(bytes, content), (start, end) => {
    // The content of a tool's result inside of a sampling message. It holds no further results, so this ends here.
    if (typeOf(bytes, start, end) === "tool_result") {
      const inner = findMember(bytes, start, end, "content");
      each(blocksOf(bytes, inner), (from, to) => addBlock(bytes, from, to, found));
    } else addBlock(bytes, start, end, found);
  });
}

function addBlock(bytes: Buffer, start: number, end: number, found: [number, number][]): void {
  const type = typeOf(bytes, start, end);
  if (type === "resource_link") addUri(bytes, start, end, found);
  if (type !== "resource") return;
  const resource = findMember(bytes, start, end, "resource");
  if (resource !== undefined) addUri(bytes, ...resource, found);
}

function addUri(bytes: Buffer, start: number, end: number, found: [number, number][]): void {
  const span = stringMember(bytes, start, end, "uri");
  if (span !== undefined) found.push([span[0], span[1]]);
}

function each(spans: readonly number[], visit: (start: number, end: number) => void): void {
  for (let i = 0; i < spans.length; i += 2) visit(spans[i]!, spans[i + 1]!);
}

function stringMember(bytes: Buffer, start: number, end: number, key: string): Span | undefined {
  const span = findMember(bytes, start, end, key);
  return span !== undefined && bytes[span[0]] === QUOTE ? span : undefined;
}

function decode(bytes: Buffer, [start, end]: Span): string {
  return JSON.parse(bytes.utf8Slice(start, end)) as string;
}
