/** Two definitions -> what differs, by member and word by word, for a person who is to decide on it. */

export interface Part {
  readonly op: "same" | "removed" | "added";
  readonly text: string;
}

/** One member of a definition that differs. `path` as in `inputSchema.properties.path.description`. */
export interface Difference {
  readonly path: string;
  readonly parts: readonly Part[];
}

/** More steps than this are not spent on finding what stayed; then all of a text counts as replaced. */
const MAX_STEPS = 4_000_000;
const MAX_DEPTH = 100;

/** Canonical JSON texts; undefined where there is none. Members in the order of `after`, then those that are gone. */
export function differences(before: string | undefined, after: string | undefined): Difference[] {
  const old = flattened(before);
  const now = flattened(after);
  const found: Difference[] = [];
  for (const path of new Set([...now.keys(), ...old.keys()])) {
    const [a, b] = [old.get(path), now.get(path)];
    if (a !== b) found.push({ path, parts: words(a ?? "", b ?? "") });
  }
  // Numbers beyond what can be read exactly: then the texts themselves.
  if (found.length === 0 && before !== after) found.push({ path: "", parts: words(before ?? "", after ?? "") });
  return found;
}

/** Words of `before` and `after` in one sequence. */
export function words(before: string, after: string): Part[] {
  const a = before.split(/(\s+)/).filter((word) => word !== "");
  const b = after.split(/(\s+)/).filter((word) => word !== "");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = between(a.slice(start, a.length - tail), b.slice(start, b.length - tail));
  const same = (all: string[]): Part => ({ op: "same", text: all.join("") });
  return merged([same(a.slice(0, start)), ...middle, same(a.slice(a.length - tail))]);
}

/** By the longest common subsequence. */
function between(a: readonly string[], b: readonly string[]): Part[] {
  const replaced: Part[] = [
    { op: "removed", text: a.join("") },
    { op: "added", text: b.join("") },
  ];
  if (a.length * b.length > MAX_STEPS) return replaced;
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const here = i * width + j;
      lengths[here] =
        a[i] === b[j] ? lengths[here + width + 1]! + 1 : Math.max(lengths[here + width]!, lengths[here + 1]!);
    }
  }
  const parts: Part[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const here = i * width + j;
    if (a[i] === b[j]) {
      parts.push({ op: "same", text: a[i++]! });
      j++;
    } else if (lengths[here + width]! >= lengths[here + 1]!) parts.push({ op: "removed", text: a[i++]! });
    else parts.push({ op: "added", text: b[j++]! });
  }
  parts.push({ op: "removed", text: a.slice(i).join("") }, { op: "added", text: b.slice(j).join("") });
  return parts;
}

function merged(parts: readonly Part[]): Part[] {
  const out: Part[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    if (part.text === "") continue;
    if (last?.op === part.op) out[out.length - 1] = { op: part.op, text: last.text + part.text };
    else out.push(part);
  }
  return out;
}

/** Every string, number and word of a definition by its path; strings as a reader sees them. */
function flattened(text: string | undefined): Map<string, string> {
  const found = new Map<string, string>();
  if (text === undefined) return found;
  try {
    flatten(JSON.parse(text), "", 0, found);
    return found;
  } catch {
    // Nested deeper than the stack: compared as a text.
    return new Map([["", text]]);
  }
}

function flatten(value: unknown, path: string, depth: number, found: Map<string, string>): void {
  if (typeof value === "string") found.set(path, value);
  else if (typeof value !== "object" || value === null || depth > MAX_DEPTH) found.set(path, JSON.stringify(value));
  else if (Array.isArray(value)) {
    // A list of words is read as one: an insertion must not look like a change of all that stands behind it.
    if (value.every((one) => typeof one !== "object" || one === null))
      found.set(path, `[${value.map(shown).join(", ")}]`);
    else value.forEach((one, i) => void flatten(one, `${path}[${i}]`, depth + 1, found));
  } else {
    const entries = Object.entries(value);
    if (entries.length === 0) found.set(path, "{}");
    for (const [key, one] of entries) flatten(one, joined(path, key), depth + 1, found);
  }
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}

function joined(path: string, key: string): string {
  const plain = /^[\w$-]+$/.test(key) ? key : JSON.stringify(key);
  return path === "" ? plain : `${path}.${plain}`;
}
