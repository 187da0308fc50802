/**
 * Original names -> public names. Pure: the same configuration and the same lists give the same names, whatever the order
 * in which servers connected. Nothing here is ever undone by splitting a name; the way back is the catalogue's table.
 *
 * A name is `<prefix><separator><original>`, and gets `_` and 8 hex digits of a hash
 * - if it is too long (it is cut first);
 * - if replacing unsafe characters, or a rename, made it the twin of another name of its server. The one that is called
 *   so by itself keeps the name;
 * - if it reads like a name of another server: server `a` with tool `b__c` beside a server `a__b`. The server with the
 *   longer prefix has the plain names; this is decided by the configuration alone, so nobody's name depends on who is up;
 * - if servers share one prefix (`""` twice, say) and one that stands before in the configuration has that name, or may
 *   yet turn out to have it because its list was never seen. A name must not pass from one server to another.
 */
import { createHash } from "node:crypto";
import type { Rename } from "../config/types.ts";

export interface NameRules {
  readonly separator: string;
  /** Longest public name. */
  readonly budget: number;
}

/** One server's list, in the order of the configuration. */
export interface NameSource {
  readonly server: string;
  /** "" = names stay as they are: neither made safe nor cut. */
  readonly prefix: string;
  readonly rename: Readonly<Record<string, Rename>>;
  /** False while the list was never seen; then `originals` is empty. */
  readonly known: boolean;
  /** No name twice. */
  readonly originals: readonly string[];
}

/** Public names by server and original name. All are different. */
export type Names = ReadonlyMap<string, ReadonlyMap<string, string>>;

const UNSAFE = /[^A-Za-z0-9_-]/gu;
const HASH_DIGITS = 8;

/** What all public names of a server begin with, also those that are cut. */
export function publicLead(prefix: string, { separator, budget }: NameRules): string {
  return lead(prefix, separator).slice(0, room(budget));
}

function lead(prefix: string, separator: string): string {
  return prefix === "" ? "" : prefix + separator;
}

/** What is left of the budget before a hash. */
function room(budget: number): number {
  return Math.max(0, budget - HASH_DIGITS - 1);
}

/** An entry of `rename`, if the file itself has one: `constructor` is a name that a tool may have. */
export function renameOf(rename: Readonly<Record<string, Rename>>, original: string): Rename | undefined {
  return Object.hasOwn(rename, original) ? rename[original] : undefined;
}

export function assignNames(sources: readonly NameSource[], rules: NameRules): Names {
  const names = new Map<string, Map<string, string>>();
  const taken = new Set<string>();
  sources.forEach((source, rank) => {
    const { server, prefix } = source;
    const own = lead(prefix, rules.separator);
    const contested = sources.slice(0, rank).some((other) => other.prefix === prefix && !other.known);
    const assigned = new Map<string, string>();
    names.set(server, assigned);
    const drafts = draft(source, rivals(sources, source, own, rules.separator), own, rules.budget);
    // Plain names first: a hash must not meet a name that its server gave itself.
    for (const hashed of [false, true]) {
      for (const one of drafts) {
        if (one.hashed !== hashed) continue;
        let name = hashed ? withHash(one.name, rules.budget, prefix, one.original) : one.name;
        // The server's key and a number tell apart what still meets: shared prefixes, or a hash that was guessed.
        if (contested) name = withHash(one.name, rules.budget, prefix, one.original, server);
        for (let n = 0; taken.has(name); n++) {
          name = withHash(one.name, rules.budget, prefix, one.original, server, ...(n === 0 ? [] : [String(n)]));
        }
        taken.add(name);
        assigned.set(one.original, name);
      }
    }
  });
  return names;
}

interface Draft {
  readonly original: string;
  /** The name without a hash. */
  readonly name: string;
  readonly hashed: boolean;
}

function draft(source: NameSource, rivalLeads: readonly string[], own: string, budget: number): Draft[] {
  const free = source.prefix === "";
  const bases = source.originals.map((original) => {
    const wanted = renameOf(source.rename, original)?.name ?? original;
    return free ? wanted : wanted.replace(UNSAFE, "_");
  });
  const count = new Map<string, number>();
  for (const base of bases) count.set(base, (count.get(base) ?? 0) + 1);
  return source.originals.map((original, i) => {
    const base = bases[i]!;
    const name = own + base;
    const twin = base !== original && count.get(base)! > 1;
    const hashed = twin || (!free && name.length > budget) || rivalLeads.some((rival) => name.startsWith(rival));
    return { original, name, hashed };
  });
}

/** What the names of servers begin with that have a longer prefix, of which this server's is the beginning. */
function rivals(sources: readonly NameSource[], source: NameSource, own: string, separator: string): string[] {
  const leads = sources.filter((other) => other !== source).map((other) => lead(other.prefix, separator));
  return leads.filter((other) => other.length > own.length && other.startsWith(own));
}

function withHash(name: string, budget: number, ...of: string[]): string {
  const hash = createHash("sha256").update(of.join("\0"), "utf8").digest("hex").slice(0, HASH_DIGITS);
  return `${name.replace(UNSAFE, "_").slice(0, room(budget))}_${hash}`;
}
