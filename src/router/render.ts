/**
 * An item as its server sent it -> as the host sees it. A few values are replaced where they stand; every other byte, the
 * order of keys and members nobody knows stay (spec.md §4.4 lists the fields that may be touched).
 */
import type { Rename } from "../config/types.ts";
import { type Edit, jsonText, splice } from "../wire/splice.ts";
import { members } from "../wire/values.ts";
import type { Item, RawItem } from "./items.ts";

/** What becomes of one item. */
export interface Appearance {
  readonly publicName: string;
  readonly rename: Rename | undefined;
  /** The alias of a URI of this server, or the URI itself. */
  publicUri(original: string): string;
}

type Span = readonly [start: number, end: number];

export function render(raw: RawItem, appearance: Appearance): Item {
  const edits = [...identityEdits(raw, appearance), ...uiEdits(raw, appearance), ...taskEdits(raw)];
  const bytes = edits.length === 0 ? raw.bytes : joined(splice(raw.bytes, edits));
  let definition: Readonly<Record<string, unknown>> | undefined;
  return {
    server: raw.server,
    kind: raw.list.kind,
    method: raw.list.method,
    original: raw.key,
    publicName: appearance.publicName,
    bytes,
    taskRequired: raw.taskRequired,
    definition: () => {
      definition ??= JSON.parse(raw.bytes.toString("utf8")) as Readonly<Record<string, unknown>>;
      return definition;
    },
  };
}

function joined(chunks: Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** The name, URI or template, and what `rename` puts beside it. A member that stands twice is replaced twice. */
function identityEdits({ bytes, list, key }: RawItem, { publicName, rename }: Appearance): Edit[] {
  if (publicName === key && rename?.title === undefined && rename?.description === undefined) return [];
  const whole: Span = [0, bytes.length];
  let added = "";
  const edits: Edit[] = [];
  for (const [member, text] of [["title", rename?.title] as const, ["description", rename?.description] as const]) {
    if (text === undefined) continue;
    const spans = spansOf(bytes, whole, member);
    if (spans.length === 0) added += `,"${member}":${jsonText(text)}`;
    edits.push(...replaced(spans, text));
  }
  const names = spansOf(bytes, whole, list.key);
  names.forEach(([start, end], i) => {
    edits.push({ start, end, text: jsonText(publicName) + (i === names.length - 1 ? added : "") });
  });
  return edits;
}

/** Where a tool's view has an alias, the tool must name the alias. */
function uiEdits({ bytes, uiUris }: RawItem, { publicUri }: Appearance): Edit[] {
  if (uiUris.every((uri) => publicUri(uri) === uri)) return [];
  const edits: Edit[] = [];
  for (const meta of spansOf(bytes, [0, bytes.length], "_meta")) {
    const nested = spansOf(bytes, meta, "ui").flatMap((ui) => spansOf(bytes, ui, "resourceUri"));
    for (const [start, end] of [...nested, ...spansOf(bytes, meta, "ui/resourceUri")]) {
      if (bytes[start] !== 0x22) continue;
      edits.push({ start, end, text: jsonText(publicUri(JSON.parse(bytes.utf8Slice(start, end)) as string)) });
    }
  }
  return edits;
}

/** We advertise no tasks, so a host would never call a tool that demands one; for it we drive the task ourselves. */
function taskEdits({ bytes, taskRequired }: RawItem): Edit[] {
  if (!taskRequired) return [];
  const spans = spansOf(bytes, [0, bytes.length], "execution").flatMap((one) => spansOf(bytes, one, "taskSupport"));
  return replaced(spans, "optional");
}

function replaced(spans: readonly Span[], text: string): Edit[] {
  return spans.map(([start, end]) => ({ start, end, text: jsonText(text) }));
}

/** Every value that an object has under `key`. */
function spansOf(bytes: Buffer, [start, end]: Span, key: string): Span[] {
  const { keys, spans } = members(bytes, start, end);
  const found: Span[] = [];
  keys.forEach((name, i) => {
    if (name === key) found.push([spans[2 * i]!, spans[2 * i + 1]!]);
  });
  return found;
}
