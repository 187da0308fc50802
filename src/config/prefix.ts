/**
 * What goes before the names of a server: the entry's `prefix`, or its key, in the characters that every host and model
 * takes ([A-Za-z0-9_-]). Equal names of two servers are told apart by it, so two servers never share one, "" excepted.
 */
import { createHash } from "node:crypto";

export interface PrefixRequest {
  /** The entry's key. */
  readonly name: string;
  /** As written in the entry. */
  readonly explicit: string | undefined;
  /** Will be started. Others only keep their place, so that switching an entry on or off renames nobody else's tools. */
  readonly active: boolean;
}

export type PrefixAnswer = { readonly prefix: string } | { readonly takenBy: string };

const safe = /^[A-Za-z0-9_-]+$/;

/** `ürün 1` → `r_n_1`; what is safe already stays as it is; where nothing is left, "s" and 8 hex digits of a hash. */
export function safePrefix(text: string): string {
  if (safe.test(text)) return text;
  const replaced = text
    .replace(/[^A-Za-z0-9_-]/g, "_")
    .replace(/_+/g, "_")
    .replace(/^_|_$/g, "");
  return replaced === "" ? `s${hash(text, 8)}` : replaced;
}

/** Answers in the order of the requests. Depends on the names alone, never on what was assigned in an earlier run. */
export function assignPrefixes(requests: readonly PrefixRequest[]): PrefixAnswer[] {
  const owners = new Map<string, string>();
  const answers = new Map<PrefixRequest, PrefixAnswer>();
  const derived = requests.filter(({ explicit }) => explicit === undefined);
  const safeKeys = new Set(derived.map(({ name }) => name).filter((name) => safe.test(name)));

  // A key that is safe already is the prefix that its user expects: it goes first.
  for (const request of derived) {
    if (!safeKeys.has(request.name)) continue;
    if (request.active) owners.set(request.name, request.name);
    answers.set(request, { prefix: request.name });
  }
  for (const request of requests) {
    if (request.explicit === undefined) continue;
    const prefix = request.explicit === "" ? "" : safePrefix(request.explicit);
    const owner = prefix === "" || !request.active ? undefined : owners.get(prefix);
    if (owner === undefined && request.active) owners.set(prefix, request.name);
    answers.set(request, owner === undefined ? { prefix } : { takenBy: owner });
  }
  const replaced = derived.filter((request) => !safeKeys.has(request.name));
  const bases = replaced.map(({ name }) => safePrefix(name));
  replaced.forEach((request, index) => {
    const base = bases[index]!;
    const twin = safeKeys.has(base) || bases.indexOf(base) !== bases.lastIndexOf(base);
    // The hash is of the key, so that the suffix stays the same whoever the twin is.
    let prefix = twin ? `${base}_${hash(request.name, 4)}` : base;
    for (let digits = 4; owners.has(prefix); digits += 4) prefix = `${base}_${hash(request.name, digits)}`;
    if (request.active) owners.set(prefix, request.name);
    answers.set(request, { prefix });
  });
  return requests.map((request) => answers.get(request)!);
}

function hash(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}
