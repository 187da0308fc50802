/**
 * What an older host cannot take (spec.md §1.20): union members that its revision does not have are turned into some that
 * it has, or the question is refused. Extra fields do no harm and stay; all else goes out byte for byte.
 */
import type { Frame } from "./frame.ts";
import { type Edit, jsonText } from "./splice.ts";
import { blocksOf, bodyMember, edited, type Span, typeOf } from "./uris.ts";
import { elements, findMember, members } from "./values.ts";
import { atLeast, LATEST_LEGACY } from "./version.ts";

/** First revision with audio; with links and structured results. */
const AUDIO_SINCE = "2025-03-26";
const LINKS_SINCE = "2025-06-18";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;

/** Of a block that becomes text, what only its own type has. Annotations and what we do not know go with the text. */
const BLOCK_OWN: Readonly<Record<string, ReadonlySet<string>>> = {
  audio: new Set(["type", "text", "data", "mimeType"]),
  resource_link: new Set(["type", "text", "uri", "name", "title", "description", "mimeType", "size", "icons"]),
};

/** A result as a host of `revision` can take it: the same frame if nothing has to change. */
export function downgradeResult(frame: Frame, method: string, revision: string): Frame {
  if (frame.isError || atLeast(revision, LINKS_SINCE)) return frame;
  const { bytes } = frame;
  if (method === "tools/list") return edited(frame, mentions(bytes, "outputSchema") ? toolEdits(frame) : []);
  if (method !== "tools/call" && method !== "prompts/get") return frame;
  const edits: Edit[] = [];
  if (mentions(bytes, "resource_link") || (!atLeast(revision, AUDIO_SINCE) && mentions(bytes, "audio"))) {
    if (method === "tools/call") edits.push(...blockEdits(bytes, bodyMember(frame, "content"), revision));
    else for (const [, content] of messagesOf(frame)) edits.push(...blockEdits(bytes, content, revision));
  }
  if (method === "tools/call" && frame.has("structuredContent")) edits.push(...structuredEdits(frame));
  return edited(frame, edits);
}

/** A server's question as a host of `revision` can be asked it, or the reason why it cannot. */
export function downgradeQuestion(frame: Frame, revision: string): { edits: Edit[] } | { refuse: string } {
  if (atLeast(revision, LATEST_LEGACY)) return { edits: [] };
  if (frame.method === "elicitation/create") return elicitation(frame, revision);
  if (frame.method === "sampling/createMessage") return sampling(frame, revision);
  return { edits: [] };
}

function refuse(what: string, revision: string): { refuse: string } {
  return {
    refuse: `${what}, which this host cannot take: it speaks revision ${revision}, and that came with 2025-11-25`,
  };
}

/** False if no string is `word`. A string may be written with escapes, and for ASCII letters all of them begin so. */
function mentions(bytes: Buffer, word: string): boolean {
  return bytes.includes(`"${word}"`) || bytes.includes("\\u00");
}

function toolEdits(frame: Frame): Edit[] {
  const tools = bodyMember(frame, "tools");
  if (tools === undefined) return [];
  return pairs(elements(frame.bytes, ...tools)).flatMap(([start, end]) =>
    memberDrops(frame.bytes, start, members(frame.bytes, start, end), "outputSchema"),
  );
}

/** Takes structuredContent out. Its text goes into the content, unless a text is there that says it already. */
function structuredEdits(frame: Frame): Edit[] {
  const { bytes } = frame;
  const edits = memberDrops(bytes, frame.bodyStart, frame, "structuredContent");
  const value = frame.text("structuredContent")!;
  const content = bodyMember(frame, "content");
  if (value === "null" || pairs(blocksOf(bytes, content)).some((span) => typeOf(bytes, ...span) === "text"))
    return edits;
  const block = `{"type":"text","text":${jsonText(value)}}`;
  if (content === undefined) {
    const alone = frame.keys.every((key) => key === "structuredContent");
    edits.push(insertion(frame.bodyStart + 1, alone ? `"content":[${block}]` : `"content":[${block}],`));
  } else if (bytes[content[0]] === OPEN_BRACKET) {
    const empty = elements(bytes, ...content).length === 0;
    edits.push(insertion(content[1] - 1, empty ? block : `,${block}`));
  }
  return edits;
}

function blockEdits(bytes: Buffer, content: Span | undefined, revision: string): Edit[] {
  const edits: Edit[] = [];
  for (const [start, end] of pairs(blocksOf(bytes, content))) {
    const type = typeOf(bytes, start, end);
    if (type !== "resource_link" && (type !== "audio" || atLeast(revision, AUDIO_SINCE))) continue;
    edits.push({ start, end, text: asText(bytes, start, end, type) });
  }
  return edits;
}

/** A text block in the place of another one. What is quoted keeps its escapes: it is moved from string to string. */
function asText(bytes: Buffer, start: number, end: number, type: "audio" | "resource_link"): string {
  const inside = (key: string): string => {
    const span = findMember(bytes, start, end, key);
    return span !== undefined && bytes[span[0]] === QUOTE ? bytes.utf8Slice(span[0] + 1, span[1] - 1) : "";
  };
  const text =
    type === "audio"
      ? `[audio left out (${inside("mimeType") || "unknown type"}): this host's protocol revision has none]`
      : [inside("name"), inside("uri")].filter((part) => part !== "").join(": ");
  const { keys, spans } = members(bytes, start, end);
  const rest = keys.map((key, i) =>
    BLOCK_OWN[type]!.has(key) ? "" : `,${jsonText(key)}:${bytes.utf8Slice(spans[2 * i]!, spans[2 * i + 1]!)}`,
  );
  return `{"type":"text","text":"${text}"${rest.join("")}}`;
}

function elicitation(frame: Frame, revision: string): { edits: Edit[] } | { refuse: string } {
  const { bytes } = frame;
  if (frame.string("mode") === "url") return refuse("the question asks the user to open a URL", revision);
  const schema = bodyMember(frame, "requestedSchema");
  const properties = schema && findMember(bytes, ...schema, "properties");
  if (properties === undefined) return { edits: [] };
  const edits: Edit[] = [];
  const { keys, spans } = members(bytes, ...properties);
  for (const [i, [start, end]] of pairs(spans).entries()) {
    if (typeOf(bytes, start, end) === "array") {
      return refuse(`the question lets the user choose several values (property ${jsonText(keys[i])})`, revision);
    }
    const edit = titledEnum(bytes, start, end);
    if (edit !== undefined) edits.push(edit);
  }
  return { edits };
}

/** `oneOf` of const and title -> `enum` and `enumNames`, in its place; undefined if the property has no such thing. */
function titledEnum(bytes: Buffer, start: number, end: number): Edit | undefined {
  const oneOf = findMember(bytes, start, end, "oneOf");
  if (oneOf === undefined || findMember(bytes, start, end, "enum") !== undefined) return undefined;
  const values: string[] = [];
  const names: string[] = [];
  for (const [from, to] of pairs(elements(bytes, ...oneOf))) {
    const value = findMember(bytes, from, to, "const");
    if (value === undefined) return undefined;
    const title = findMember(bytes, from, to, "title");
    values.push(bytes.utf8Slice(...value));
    names.push(bytes.utf8Slice(...(title !== undefined && bytes[title[0]] === QUOTE ? title : value)));
  }
  if (values.length === 0) return undefined;
  const text = `"enum":[${values.join(",")}],"enumNames":[${names.join(",")}]`;
  return { start: keyStart(bytes, oneOf[0]), end: oneOf[1], text };
}

/** Back from a member's value over the colon to its key's opening quote: a key that we look for holds no quote. */
function keyStart(bytes: Buffer, valueStart: number): number {
  const colon = bytes.lastIndexOf(COLON, valueStart - 1);
  return bytes.lastIndexOf(QUOTE, bytes.lastIndexOf(QUOTE, colon) - 1);
}

function sampling(frame: Frame, revision: string): { edits: Edit[] } | { refuse: string } {
  if (frame.has("tools") || frame.has("toolChoice")) return refuse("the request offers tools to the model", revision);
  const { bytes } = frame;
  const edits: Edit[] = [];
  const emptied = new Set<number>();
  const messages = messagesOf(frame);
  for (const [i, [message, content]] of messages.entries()) {
    const blocks = pairs(blocksOf(bytes, content));
    for (const span of blocks) {
      const type = typeOf(bytes, ...span);
      if (type === "tool_use" || type === "tool_result") return refuse("the request holds tool calls", revision);
    }
    edits.push(...blockEdits(bytes, content, revision));
    if (content === undefined || bytes[content[0]] !== OPEN_BRACKET) continue;
    if (blocks.length === 0) emptied.add(i);
    else edits.push(...messagePerBlock(bytes, message, content, blocks));
  }
  if (emptied.size > 0) {
    const flat = messages.flatMap(([message]) => message);
    edits.push(...drops(bytes, bodyMember(frame, "messages")![0], flat, (i) => emptied.has(i)));
  }
  return { edits };
}

/** One message with several blocks -> a message with all its other members for each: the text between blocks changes. */
function messagePerBlock(bytes: Buffer, message: Span, content: Span, blocks: readonly Span[]): Edit[] {
  const head = bytes.utf8Slice(message[0], content[0]);
  const tail = bytes.utf8Slice(content[1], message[1]);
  return [
    { start: content[0], end: blocks[0]![0], text: "" },
    ...blocks.slice(1).map(([start], i) => ({ start: blocks[i]![1], end: start, text: `${tail},${head}` })),
    { start: blocks.at(-1)![1], end: content[1], text: "" },
  ];
}

/** The messages of a prompt or of a sampling request, each with its content. */
function messagesOf(frame: Frame): [message: Span, content: Span | undefined][] {
  const messages = bodyMember(frame, "messages");
  const spans = messages === undefined ? [] : pairs(elements(frame.bytes, ...messages));
  return spans.map((message) => [message, findMember(frame.bytes, ...message, "content")]);
}

function pairs(spans: readonly number[]): Span[] {
  return Array.from({ length: spans.length / 2 }, (_, i) => [spans[2 * i]!, spans[2 * i + 1]!]);
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, text };
}

/** Takes every member with this key out of an object whose brace is at `open`. */
function memberDrops(
  bytes: Buffer,
  open: number,
  { keys, spans }: { readonly keys: readonly string[]; readonly spans: readonly number[] },
  key: string,
): Edit[] {
  return drops(bytes, open, spans, (i) => keys[i] === key);
}

/**
 * Takes elements of an array or members of an object out, each with one comma. The first ones go with the comma behind
 * them, every other one with all that stands between it and the one before it (for a member that is its key too).
 */
function drops(bytes: Buffer, open: number, spans: readonly number[], gone: (index: number) => boolean): Edit[] {
  const count = spans.length / 2;
  let first = 0;
  while (first < count && gone(first)) first += 1;
  const edits: Edit[] = [];
  if (first > 0) {
    let end = spans[2 * first - 1]!;
    if (first < count) end = bytes.indexOf(COMMA, end) + 1;
    edits.push({ start: open + 1, end, text: "" });
  }
  for (let i = first + 1; i < count; i++)
    if (gone(i)) edits.push({ start: spans[2 * i - 1]!, end: spans[2 * i + 1]!, text: "" });
  return edits;
}
