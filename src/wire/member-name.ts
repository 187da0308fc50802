/**
 * Member names and methods, recognised from their bytes. Part of `scan.ts`: a message has a dozen names and nearly all
 * of them were seen a moment ago, so a name costs one hash and one comparison instead of a new string.
 *
 * `KNOWN` holds the names that decide where a message goes; each carries one bit for every place where it may stand only
 * once. `recent` is a direct-mapped cache of the others: bounded, and an entry is replaced rather than searched for, so a
 * peer that sends ever new names costs a string each and nothing else.
 */

/** One name. The bits are 0 where the name has no meaning for routing. */
export interface Name {
  readonly text: string;
  /** Its bit among the members of the message itself (`TOP`). */
  readonly top: number;
  /** Its bit among the members of `params`, and among those of `result`. */
  readonly params: number;
  readonly result: number;
  readonly hash: number;
}

export const TOP = { jsonrpc: 1, id: 2, method: 4, params: 8, result: 16, error: 32 } as const;

const PARAMS = [
  "name",
  "uri",
  "cursor",
  "ref",
  "level",
  "requestId",
  "progressToken",
  "_meta",
  "arguments",
  "message",
  "mode",
  "url",
  "elicitationId",
  "task",
  "taskId",
];
const RESULT = ["isError", "nextCursor"];

/** Longer names are rare and are decoded each time. */
export const MAX_NAME = 40;

const KNOWN_SLOTS = 128;
const RECENT_SLOTS = 512;

export function hashStep(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = hashStep(hash, text.charCodeAt(i));
  return hash;
}

const knownByText = new Map<string, Name>();
const known: (Name | undefined)[] = new Array<Name | undefined>(KNOWN_SLOTS).fill(undefined);
const recent: (Name | undefined)[] = new Array<Name | undefined>(RECENT_SLOTS).fill(undefined);

for (const text of new Set([...Object.keys(TOP), ...PARAMS, ...RESULT])) {
  const name: Name = {
    text,
    top: text in TOP ? TOP[text as keyof typeof TOP] : 0,
    params: PARAMS.includes(text) ? 1 << PARAMS.indexOf(text) : 0,
    result: RESULT.includes(text) ? 1 << RESULT.indexOf(text) : 0,
    hash: hashOf(text),
  };
  knownByText.set(text, name);
  let slot = name.hash & (KNOWN_SLOTS - 1);
  while (known[slot] !== undefined) slot = (slot + 1) & (KNOWN_SLOTS - 1);
  known[slot] = name;
}

function same(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** The name whose plain ASCII bytes (no escapes) are at start..end and whose hash was taken on the way. */
export function plainName(bytes: Buffer, start: number, end: number, hash: number): Name {
  let slot = hash & (KNOWN_SLOTS - 1);
  for (let entry = known[slot]; entry !== undefined; entry = known[slot]) {
    if (entry.hash === hash && same(entry.text, bytes, start, end)) return entry;
    slot = (slot + 1) & (KNOWN_SLOTS - 1);
  }
  const at = hash & (RECENT_SLOTS - 1);
  const last = recent[at];
  if (last !== undefined && last.hash === hash && same(last.text, bytes, start, end)) return last;
  const name: Name = { text: bytes.toString("latin1", start, end), top: 0, params: 0, result: 0, hash };
  recent[at] = name;
  return name;
}

/** The name of a string with escapes, wide characters or great length; `quoted` is its JSON text. */
export function decodedName(quoted: string): Name {
  const text = JSON.parse(quoted) as string;
  return knownByText.get(text) ?? { text, top: 0, params: 0, result: 0, hash: 0 };
}

/** The text of a key of valid JSON; `start`..`end` is what stands between its quotes. */
export function keyText(bytes: Buffer, start: number, end: number): string {
  let hash = 0;
  for (let i = start; i < end; i++) {
    const c = bytes[i]!;
    if (c === 0x5c || c >= 0x80 || i - start >= MAX_NAME)
      return decodedName(bytes.toString("utf8", start - 1, end + 1)).text;
    hash = hashStep(hash, c);
  }
  return plainName(bytes, start, end, hash).text;
}
