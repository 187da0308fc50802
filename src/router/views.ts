/**
 * What the host sees of each list: public names, aliases, and only what the policy shows. Made from the walks on demand
 * and kept until a list, an alias or the policy changes. Names are made over hidden items too, so that the policy of one
 * item is no business of another's name; a look-up finds hidden items, for policy to deny them by their own rule.
 */
import type { Rename, ServerConfig } from "../config/types.ts";
import type { PolicyItem } from "../exchange.ts";
import type { Item, RawItem } from "./items.ts";
import { LISTS, type ListMethod } from "./lists.ts";
import { assignNames, type NameRules, type Names, renameOf } from "./namespace.ts";
import type { Owners } from "./owners.ts";
import type { PageSet } from "./pages.ts";
import { render } from "./render.ts";
import type { Walk } from "./walk.ts";
import type { Walks } from "./walks.ts";

/** The visible part of one set. It grows with its set; for another set, or other names, a new view is made. */
export interface View {
  readonly set: PageSet;
  readonly items: Item[];
  /** For each item, its index in the set. */
  readonly indexes: number[];
}

export interface ViewOptions {
  readonly walks: Walks;
  readonly servers: ReadonlyMap<string, ServerConfig>;
  readonly owners: Owners;
  readonly rules: NameRules;
  visible(item: PolicyItem): boolean;
}

interface Kept extends View {
  readonly names: Table | undefined;
  readonly aliases: number;
  /** Items of the set that were looked at. */
  upTo: number;
}

interface Table {
  readonly names: Names;
  readonly byName: ReadonlyMap<string, RawItem>;
}

const NO_RENAME: Readonly<Record<string, Rename>> = {};

export class Views {
  readonly #options: ViewOptions;
  readonly #tables = new Map<ListMethod, Table>();
  readonly #kept = new WeakMap<Walk, Kept>();
  readonly #rendered = new WeakMap<RawItem, { readonly item: Item; readonly aliases: number }>();

  constructor(options: ViewOptions) {
    this.#options = options;
  }

  /** A list of some server is another one now. */
  changed(method: ListMethod): void {
    this.#tables.delete(method);
  }

  /** Undefined while nothing is known of the list. */
  of(walk: Walk): View | undefined {
    const { set } = walk;
    if (set === undefined) return undefined;
    const { owners, visible } = this.#options;
    const names = walk.list.named ? this.#table(walk.list.method) : undefined;
    let view = this.#kept.get(walk);
    if (view === undefined || view.set !== set || view.names !== names || view.aliases !== owners.version) {
      view = { set, items: [], indexes: [], names, aliases: owners.version, upTo: 0 };
      this.#kept.set(walk, view);
    }
    for (; view.upTo < set.items.length; view.upTo++) {
      const item = this.item(set.items[view.upTo]!);
      if (!visible(item)) continue;
      view.items.push(item);
      view.indexes.push(view.upTo);
    }
    return view;
  }

  /** The item with that public name, hidden or not. */
  find(method: ListMethod, publicName: string): Item | undefined {
    const raw = this.#table(method).byName.get(publicName);
    return raw === undefined ? undefined : this.item(raw);
  }

  item(raw: RawItem): Item {
    const { owners } = this.#options;
    const publicName = this.#publicName(raw);
    const kept = this.#rendered.get(raw);
    if (kept !== undefined && kept.item.publicName === publicName && kept.aliases === owners.version) return kept.item;
    const { server, list, key } = raw;
    const item = render(raw, {
      publicName,
      rename: list.method === "tools/list" ? renameOf(this.#renames(server), key) : undefined,
      publicUri: (uri) => owners.publicUri(server, uri),
    });
    // A new object only if something shows: equal items are told by identity first.
    const same = kept !== undefined && kept.item.publicName === publicName && kept.item.bytes.equals(item.bytes);
    const shown = same ? kept.item : item;
    this.#rendered.set(raw, { item: shown, aliases: owners.version });
    return shown;
  }

  #publicName({ server, list, key }: RawItem): string {
    const { owners } = this.#options;
    if (list.named) return this.#table(list.method).names.get(server)?.get(key) ?? key;
    return list.key === "uri" ? owners.publicUri(server, key) : owners.publicTemplate(server, key);
  }

  #table(method: ListMethod): Table {
    const kept = this.#tables.get(method);
    if (kept !== undefined) return kept;
    const { walks, servers, rules } = this.#options;
    const list = walks.of(method);
    const names = assignNames(
      list.map(({ source, set }) => ({
        server: source.name,
        prefix: servers.get(source.name)?.prefix ?? source.name,
        rename: method === "tools/list" ? this.#renames(source.name) : NO_RENAME,
        known: set !== undefined || source.offers(method) === false,
        originals: set?.items.map(({ key }) => key) ?? [],
      })),
      rules,
    );
    const byName = new Map<string, RawItem>();
    for (const { source, set } of list) {
      for (const raw of set?.items ?? []) byName.set(names.get(source.name)!.get(raw.key)!, raw);
    }
    const table = { names, byName };
    this.#tables.set(method, table);
    return table;
  }

  #renames(server: string): Readonly<Record<string, Rename>> {
    return this.#options.servers.get(server)?.rename ?? NO_RENAME;
  }
}

/** Lists whose items can show a URI of another list: an alias that comes or goes changes them. */
export const SHOW_ALIASES: readonly ListMethod[] = LISTS.filter(({ kind }) => kind !== "prompt").map(
  ({ method }) => method,
);
