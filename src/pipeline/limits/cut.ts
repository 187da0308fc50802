/**
 * A result that is larger than its cap -> one that is not, and says so. What is kept is kept as the bytes that came. A
 * text is cut between two characters; what makes no sense by halves (structuredContent, an image, a blob) is kept whole
 * or left out with a note in its place. Only here is a result looked into; below the cap nobody gets here.
 */
import type { Truncation } from "../../exchange.ts";
import type { Frame } from "../../wire/frame.ts";
import { jsonText, rawResultFrame } from "../../wire/splice.ts";
import { elements } from "../../wire/values.ts";
import { type Notice, shrunkBlock, shrunkEntry, shrunkMessage } from "./shrink.ts";

/** The member of the result that holds what can be cut, by method. Others have no cap. */
const LISTS = {
  "tools/call": { key: "content", shrink: shrunkBlock, of: "content blocks" },
  "prompts/get": { key: "messages", shrink: shrunkMessage, of: "messages" },
  "resources/read": { key: "contents", shrink: shrunkEntry, of: "contents" },
} as const;

export type CappedMethod = keyof typeof LISTS;

export function isCapped(method: string): method is CappedMethod {
  return Object.hasOwn(LISTS, method);
}

/** Kept free for what is said about the cut; of a smaller cap a quarter, and then the notice may exceed it. */
const RESERVE = 320;
/** A member of the result up to this size always stays: `isError`, flags. */
const SMALL = 64;

/** Structured content up to this part of what there is room for stays beside a text that has to be cut. */
const STRUCTURE_SHARE = 0.25;

interface Dropped {
  readonly what: string;
  readonly bytes: number;
}

type Piece = string | Buffer;

/** What is left of a cap, and what has been left out for it. */
interface Budget {
  left: number;
  readonly dropped: Dropped[];
}

/** `needsStructure`: hosts refuse a result of this tool without structured content, unless it is an error. */
export function cutResult(
  answer: Frame,
  method: CappedMethod,
  cap: number,
  needsStructure: boolean,
): { answer: Frame; truncation: Truncation } {
  const { key } = LISTS[method];
  const budget: Budget = { left: cap - Math.min(RESERVE, cap >> 2) - `{"${key}":[]}`.length, dropped: [] };
  const members = keptMembers(answer, method, budget);
  const structured = method === "tools/call" ? memberOf(answer, "structuredContent") : undefined;
  if (structured !== undefined) {
    const room = needsStructure ? budget.left : budget.left * STRUCTURE_SHARE;
    if (structured.length + STRUCTURED_COST <= room) {
      members.set("structuredContent", structured);
      budget.left -= structured.length + STRUCTURED_COST;
    } else budget.dropped.push({ what: "structuredContent", bytes: structured.length });
  }
  const markedError =
    needsStructure &&
    structured !== undefined &&
    !members.has("structuredContent") &&
    answer.text("isError") !== "true";
  if (markedError) members.set("isError", "true");
  const kept = keptPieces(answer, method, cap, budget);
  if (budget.dropped.length > 0) kept.push(notice(method, budget.dropped, cap, answer));

  const chunks: Piece[] = ["{"];
  for (const [name, value] of members) chunks.push(`${jsonText(name)}:`, value, ",");
  chunks.push(`${jsonText(key)}:[`);
  for (const [i, piece] of kept.entries()) chunks.push(i === 0 ? "" : ",", piece);
  chunks.push("]}");
  const body = Buffer.concat(chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk)));
  const fromBytes = answer.bodyEnd - answer.bodyStart;
  return { answer: rawResultFrame(body), truncation: { fromBytes, toBytes: body.length, markedError } };
}

const STRUCTURED_COST = '"structuredContent":,'.length;

/** All members but the list and the structured content; of two with one key the last, as in JSON.parse. */
function keptMembers({ bytes, keys, spans }: Frame, method: CappedMethod, budget: Budget): Map<string, Piece> {
  const members = new Map<string, Piece>();
  keys.forEach((key, i) => {
    if (key === LISTS[method].key || (key === "structuredContent" && method === "tools/call")) return;
    const value = bytes.subarray(spans[2 * i], spans[2 * i + 1]);
    const cost = value.length + jsonText(key).length + 2;
    if (value.length > SMALL && cost > budget.left) {
      budget.dropped.push({ what: shownKey(key), bytes: value.length });
      return;
    }
    members.set(key, value);
    budget.left -= cost;
  });
  return members;
}

/** As many blocks, messages or contents as there is room for, the rest cut, noted or left out. */
function keptPieces(answer: Frame, method: CappedMethod, cap: number, budget: Budget): Piece[] {
  const { bytes } = answer;
  const { shrink, of } = LISTS[method];
  const spans = piecesOf(answer, method);
  const kept: Piece[] = [];
  let lost = 0;
  let lostBytes = 0;
  for (let i = 0; i < spans.length; i += 2) {
    const start = spans[i]!;
    const end = spans[i + 1]!;
    const fits = end - start + 1 <= budget.left;
    const less = fits ? undefined : shrink(bytes, start, end, budget.left - 1, cap);
    if (fits) {
      kept.push(bytes.subarray(start, end));
      budget.left -= end - start + 1;
    } else if (less !== undefined) {
      kept.push(less.text);
      // Behind a text that was cut nothing follows that belongs behind it.
      budget.left = less.cut ? 0 : budget.left - Buffer.byteLength(less.text) - 1;
    } else {
      lost++;
      lostBytes += end - start;
    }
  }
  if (lost > 0) budget.dropped.push({ what: `${lost} ${of}`, bytes: lostBytes });
  return kept;
}

function piecesOf(answer: Frame, method: CappedMethod): number[] {
  const at = answer.indexOf(LISTS[method].key);
  return at < 0 ? [] : elements(answer.bytes, answer.spans[2 * at]!, answer.spans[2 * at + 1]!);
}

function memberOf({ bytes, keys, spans }: Frame, key: string): Buffer | undefined {
  const at = keys.lastIndexOf(key);
  return at < 0 ? undefined : bytes.subarray(spans[2 * at], spans[2 * at + 1]);
}

function notice(method: CappedMethod, dropped: readonly Dropped[], cap: number, answer: Frame): string {
  const named = dropped.slice(0, 3).map(({ what, bytes }) => `${what} (${bytes} bytes)`);
  if (dropped.length > 3) named.push(`${dropped.length - 3} more members`);
  const text: Notice = `[left out by Switchyard (maxResultBytes ${cap}): ${named.join(", ")}]`;
  if (method === "tools/call") return jsonText({ type: "text", text });
  if (method === "prompts/get") return jsonText({ role: "user", content: { type: "text", text } });
  return jsonText({ uri: uriOf(answer, piecesOf(answer, method)), text });
}

/** Contents without a URI would make a host refuse the result. */
function uriOf(answer: Frame, pieces: readonly number[]): string {
  if (pieces.length === 0) return "";
  const first = JSON.parse(answer.bytes.utf8Slice(pieces.at(-2)!, pieces.at(-1)!)) as { uri?: unknown } | null;
  return typeof first?.uri === "string" ? first.uri : "";
}

function shownKey(key: string): string {
  return key.length <= 40 ? key : `${key.slice(0, 40)}…`;
}
