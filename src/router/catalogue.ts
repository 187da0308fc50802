/**
 * The merged catalogue of one view: owner of all lists of all servers. Lists are served from here, names and URIs are
 * looked up here, and a host is told from here that something changed.
 *
 *   walk.ts     one list of one server, as pages      namespace.ts  public names
 *   views.ts    what the host sees of it              owners.ts     whose is a URI, aliases
 *   listing.ts  the answer to a list request          cursor.ts     where the next page begins
 *   changes.ts  what to tell the host                 refresher.ts  when to ask again
 */
import type { Config, ServerConfig } from "../config/types.ts";
import type { ItemKind, PolicyItem } from "../exchange.ts";
import type { Log } from "../log.ts";
import type { Sealer } from "../wire/seal.ts";
import { Changes } from "./changes.ts";
import { Cursors } from "./cursor.ts";
import { Gate } from "./gate.ts";
import { claimItems, FlawLog } from "./intake.ts";
import type { Item, RawItem, Withheld } from "./items.ts";
import { Listing } from "./listing.ts";
import { LISTS, type ListMethod, listRow, type Notice, type Source } from "./lists.ts";
import { Lookup } from "./lookup.ts";
import { type NameRules, publicLead } from "./namespace.ts";
import { type Owner, Owners, type Ownership } from "./owners.ts";
import type { PageSet } from "./pages.ts";
import { Refresher } from "./refresher.ts";
import { type Counts, counts, type Defined, defined, hidden, restore, type StoredLists, store } from "./report.ts";
import { SHOW_ALIASES, type View, Views } from "./views.ts";
import { Walk } from "./walk.ts";
import { Walks } from "./walks.ts";
import { within } from "./within.ts";

export type { Counts, Defined, ListMethod, Notice, Owner, Ownership, Source, StoredLists };

/** What a reload may change. */
export interface CatalogueSetup {
  readonly config: Config;
  /** One per configured server, in any order. A source that is the same object as before keeps its lists. */
  readonly sources: readonly Source[];
  /** Whether this view may see the item. */
  visible(item: PolicyItem): boolean;
  /** Everything that `visible` depends on, as text: a cursor of another view is refused. */
  readonly viewKey: string;
}

export interface CatalogueOptions extends CatalogueSetup {
  readonly log: Log;
  readonly sealer: Sealer;
  /** A list came in, before anybody sees it: all of it, a part, or as it was kept on disk. */
  listed?(server: string, method: ListMethod, items: readonly RawItem[], source: "whole" | "part" | "kept"): void;
  /** What the host sees of that list is no longer what it could have seen. Called after the new list is there. */
  onChanged(notice: Notice): void;
}

export class Catalogue {
  readonly #log: Log;
  readonly #sealer: Sealer;
  readonly #walks = new Walks();
  readonly #refresher = new Refresher();
  readonly #gate = new Gate();
  readonly #changes: Changes;
  readonly #listed: CatalogueOptions["listed"];
  readonly #flaws: FlawLog;
  /** For servers that were removed, the one that came next in the configuration. */
  readonly #after = new Map<string, string | undefined>();
  readonly #lookup = new Lookup();
  #config!: Config;
  #servers!: ReadonlyMap<string, ServerConfig>;
  #owners!: Owners;
  #views!: Views;
  #listing!: Listing;

  constructor(options: CatalogueOptions) {
    this.#log = options.log;
    this.#sealer = options.sealer;
    this.#flaws = new FlawLog(options.log);
    this.#listed = options.listed;
    this.#changes = new Changes((method) => this.#present(method), options.onChanged);
    this.reconfigure(options);
  }

  /**
   * Takes another configuration: servers that left, came or changed place, prefixes, policy. Hosts are told once, when
   * the servers that came are there too, or have taken `startupMs`.
   */
  reconfigure({ config, sources, visible, viewKey }: CatalogueSetup): void {
    const before = this.#walks.servers;
    const known = new Set(this.#walks.all().map(({ source }) => source));
    const servers = new Map(config.servers.map((server) => [server.name, server]));
    this.#config = config;
    this.#servers = servers;
    for (const walk of this.#walks.set(sources, (source, method) => this.#newWalk(source, method))) {
      walk.close();
      this.#refresher.forget(walk);
    }
    for (const [i, server] of before.entries()) this.#after.set(server, before[i + 1]);
    const order = this.#walks.servers.map((name) => ({ name, prefix: servers.get(name)?.prefix ?? name }));
    const owners = new Owners(order, this.#owners);
    const walks = this.#walks;
    this.#owners = owners;
    const views = new Views({ walks, servers, owners, rules: nameRules(config), visible });
    this.#views = views;
    this.#listing = new Listing({
      walks,
      views,
      cursors: new Cursors(this.#sealer, viewKey),
      changes: this.#changes,
      gate: this.#gate,
      limits: config.page,
      answeringMs: config.timeouts.startupMs,
      after: (server) => (this.#after.has(server) ? this.#after.get(server) : null),
    });
    for (const walk of walks.all()) if (walk.set !== undefined) claimItems(owners, walk, 0);
    const came = walks.all().filter(({ source }) => !known.has(source));
    if (before.length > 0) this.#changes.hold(within(listed(came), config.timeouts.startupMs));
    for (const { method } of LISTS) this.#changes.doubt(method);
  }

  close(): void {
    for (const walk of this.#walks.all()) walk.close();
    this.#refresher.close();
    this.#changes.close();
  }

  /**
   * JSON text of the result of a list request. `cursorText`: raw JSON text of `params.cursor`. Servers that are starting
   * and were never seen are waited for, `waitMs` at most counted from when they were first waited for.
   */
  async page(method: ListMethod, cursorText: string | undefined, waitMs: number): Promise<Buffer[]> {
    return [await this.#listing.page(method, cursorText, waitMs)];
  }

  /** By table look-up alone. Finds what the policy hides too. */
  tool(publicName: string): Item | undefined {
    return this.#views.find("tools/list", publicName);
  }

  /** As `tool`. */
  prompt(publicName: string): Item | undefined {
    return this.#views.find("prompts/list", publicName);
  }

  /**
   * Asks the servers that may have that name for their list, once a second at most, and looks again. Servers that are
   * still starting are waited for.
   */
  async refreshForLookup(kind: ItemKind, publicName: string): Promise<Item | undefined> {
    const list = LISTS.find((row) => row.named && row.kind === kind);
    if (list === undefined) return undefined;
    const rules = nameRules(this.#config);
    const walks = this.#walks.of(list.method).filter(({ source }) => {
      const prefix = this.#servers.get(source.name)?.prefix ?? source.name;
      return publicName.startsWith(publicLead(prefix, rules));
    });
    await this.#lookup.again(walks, this.#config.timeouts.connectMs);
    return this.#views.find(list.method, publicName);
  }

  /**
   * Undefined if what is known of the list that the item stands in is what its server says now; else resolves when it
   * is, or cannot be had. The item may be another one then, or gone.
   */
  current({ server, method }: Item): Promise<void> | undefined {
    const walk = this.#walks.of(method).find(({ source }) => source.name === server);
    if (walk === undefined || (walk.source.ready && !walk.inDoubt)) return undefined;
    return this.#lookup.current(walk, this.#config.timeouts.connectMs);
  }

  /** A server is there (again): all lists. Or it said that this list changed: that one, and templates with resources. */
  refresh(server: string, method?: ListMethod): void {
    for (const walk of this.#walks.ofServer(server)) {
      if (method !== undefined && walk.list.notice !== listRow(method).notice) continue;
      walk.invalidate();
      if (method === undefined) this.#refresher.arrived(walk);
      else this.#refresher.announced(walk);
    }
  }

  /** Where a URI, as the host says it, is read. */
  ownersOf(uri: string): Ownership {
    return this.#owners.ownersOf(uri, this.readers());
  }

  /** Servers with resources, in the order of the configuration. */
  readers(): string[] {
    const walks = this.#walks.of("resources/list");
    return walks.filter(({ source }) => source.offers("resources/list") === true).map(({ source }) => source.name);
  }

  /** What is known of a URI or a template, as its server has it: its definition, or that of the template that makes it. */
  resource({ server, original }: Owner): PolicyItem {
    const known = (method: ListMethod, key: string) => this.#walks.get(server, method)?.set?.find(key);
    const listed = known("resources/list", original) ?? known("resources/templates/list", original);
    if (listed !== undefined) return this.#views.item(listed);
    const template = this.#owners.templateOf(server, original);
    const made = template === undefined ? undefined : known("resources/templates/list", template);
    const item = { server, kind: "resource", original } as const;
    return made === undefined ? item : { ...item, definition: () => this.#views.item(made).definition() };
  }

  /** Some template of its server makes that URI. */
  isMade({ server, original }: PolicyItem): boolean {
    return this.#owners.templateOf(server, original) !== undefined;
  }

  /** A URI that a server named in a result, as that server wrote it. */
  remember(uri: string, server: string): void {
    this.#owners.remember(uri, server);
  }

  /** The URI under which hosts know that URI of that server: itself, or its alias. */
  publicUri(server: string, original: string): string {
    return this.#owners.publicUri(server, original);
  }

  /** Undefined for what is not an alias. */
  originalUri(publicUri: string): Owner | undefined {
    return this.#owners.originalUri(publicUri);
  }

  /** Whether any URI in the lists of that server has an alias: if not, its results need not be searched for them. */
  hasAliases(server: string): boolean {
    return this.#owners.hasAliases(server);
  }

  /** Every visible item that is known, in the order in which it is listed. */
  items(method: ListMethod): Item[] {
    return this.#walks.of(method).flatMap((walk) => this.#views.of(walk)?.items ?? []);
  }

  counts(server: string): Counts {
    return counts(this.#walks.ofServer(server));
  }

  /** What the host does not see: unusable definitions, and items that are not visible; `why` says why not. */
  hidden(why: (item: Item) => string = () => "hidden by policy"): Withheld[] {
    return LISTS.flatMap(({ method }) => hidden(this.#walks.of(method), this.#views, why));
  }

  /** Resolves when every list of that server is known, or cannot be had. */
  async complete(server: string): Promise<void> {
    const { connectMs } = this.#config.timeouts;
    await Promise.all(this.#walks.ofServer(server).map((walk) => this.#lookup.current(walk, connectMs)));
  }

  /** All that a server defines, hidden or not. */
  defined(server: string): Defined[] {
    return defined(this.#walks.ofServer(server), this.#views);
  }

  /** Resolves when every server has been asked for its lists, or cannot be. */
  known(): Promise<void> {
    return listed(this.#walks.all());
  }

  /** Whether the server lists that very URI. */
  listsUri(server: string, uri: string): boolean {
    return this.#owners.lists(server, uri);
  }

  /** The lists of a server that are known to their end, to be kept for the next start. */
  stored(server: string): StoredLists {
    return store(this.#walks.ofServer(server));
  }

  /** Lists of an earlier start stand in until the server has answered. */
  restore(server: string, lists: StoredLists): void {
    restore(this.#walks.ofServer(server), lists);
  }

  #newWalk(source: Source, method: ListMethod): Walk {
    const patienceMs = this.#servers.get(source.name)?.timeouts.connectMs ?? this.#config.timeouts.connectMs;
    return new Walk(source, listRow(method), {
      log: this.#log,
      patienceMs,
      events: {
        replaced: (walk, old) => this.#replaced(walk, old),
        grew: (walk, from) => {
          this.#settle(walk, from, this.#owners.version);
          // The view grows with its set at once, or it would be compared with another set half looked at.
          this.#views.of(walk);
        },
        failed: (walk) => this.#refresher.failed(walk),
      },
    });
  }

  #replaced(walk: Walk, old: PageSet | undefined): void {
    const aliases = this.#owners.version;
    const { items, ended, kept } = walk.set!;
    const source = kept ? "kept" : ended && !walk.partial ? "whole" : "part";
    this.#listed?.(walk.source.name, walk.list.method, items, source);
    if (!walk.partial) this.#refresher.had(walk, old === undefined || !old.sameAs(walk.set!));
    this.#views.changed(walk.list.method);
    this.#listing.changed(walk.list.method);
    this.#settle(walk, 0, aliases);
    this.#changes.doubt(walk.list.method);
  }

  /** After items came in, from index `from` on. `aliases`: the version of the aliases before them. */
  #settle(walk: Walk, from: number, aliases: number): void {
    claimItems(this.#owners, walk, from);
    this.#flaws.tell(walk);
    if (this.#owners.version !== aliases) {
      for (const method of SHOW_ALIASES) {
        this.#listing.changed(method);
        this.#changes.doubt(method);
      }
    }
    if (walk.owed) {
      walk.owed = false;
      this.#changes.owe(walk.list.notice);
    }
  }

  #present(method: ListMethod): ReadonlyMap<string, View> {
    const views = new Map<string, View>();
    for (const walk of this.#walks.of(method)) {
      const view = this.#views.of(walk);
      if (view !== undefined) views.set(walk.source.name, view);
    }
    return views;
  }
}

/** Resolves when these lists are known, or not to be had. */
async function listed(walks: readonly Walk[]): Promise<void> {
  await Promise.all(walks.map((walk) => walk.source.settled().then(() => walk.ask()?.done)));
}

function nameRules({ names }: Config): NameRules {
  return { separator: names.separator, budget: names.maxLength - names.hostPrefix };
}
