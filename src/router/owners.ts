/**
 * Whose is a URI? URIs are preserved where only one server has them; the copies of the others get an alias (uri.ts). Also
 * the order in which servers are asked where nobody lists a URI.
 *
 * What counts as having a URI: listing it, naming it as the view of a tool, and having listed it before a restart.
 * Resources are listed page by page, so a server that stands before can turn out later to have a URI too; within one
 * listing that cannot happen, since it is walked in the order of the configuration.
 */
import { LRUCache } from "lru-cache";
import { Claims } from "./claims.ts";
import { compileTemplate, type Template } from "./template.ts";
import { isMux, longerTag, uriTags, withoutTag, withTag } from "./uri.ts";

export interface Owner {
  readonly server: string;
  /** The URI as that server knows it. */
  readonly original: string;
}

export interface Ownership {
  /** Listed, an alias, or made from a template that only this server has. */
  readonly certain: Owner | undefined;
  /** Servers to ask one after the other, the likeliest first. Empty if `certain` is set. */
  readonly candidates: readonly Owner[];
}

/** URIs seen in results that nobody lists: hints, so losing them costs a question to another server. */
const SEEN_MAX = 10_000;
const NO_OWNERS: readonly Owner[] = [];

interface OwnedTemplate {
  readonly server: string;
  readonly text: string;
  readonly template: Template;
}

export class Owners {
  readonly #order: readonly string[];
  /** For each server its tag, and the one for where that is taken. */
  readonly #tags: ReadonlyMap<string, readonly [tag: string, longer: string]>;
  readonly #uris: Claims;
  readonly #templates: Claims;
  readonly #seen: LRUCache<string, string>;
  #compiled: readonly OwnedTemplate[] | undefined;
  #aliased = new Map<string, boolean>();
  #version = 0;

  /** `servers` in the order of the configuration. `before`: where URIs that were seen come along from. */
  constructor(servers: readonly { readonly name: string; readonly prefix: string }[], before?: Owners) {
    this.#order = servers.map(({ name }) => name);
    this.#tags = new Map([...uriTags(servers)].map(([name, tag]) => [name, [tag, longerTag(tag, name)]]));
    this.#uris = new Claims(this.#order);
    this.#templates = new Claims(this.#order);
    this.#seen = before === undefined ? new LRUCache({ max: SEEN_MAX }) : before.#seen;
  }

  /** Grows when an alias may have come or gone. */
  get version(): number {
    return this.#version;
  }

  /** `from`: the list that the URIs stand in. `all`: they are all of that list; else they are further ones. */
  claimUris(server: string, from: string, uris: readonly string[], all: boolean): void {
    const shared = all ? this.#uris.replace(server, from, uris) : this.#uris.add(server, from, uris);
    if (shared) this.#flip();
  }

  claimTemplates(server: string, templates: readonly string[]): void {
    this.#compiled = undefined;
    if (this.#templates.replace(server, "templates", templates)) this.#flip();
  }

  #flip(): void {
    this.#version++;
    this.#aliased.clear();
  }

  /** The URI under which hosts know that URI of that server. */
  publicUri(server: string, original: string): string {
    const owner = this.#uris.owner(original);
    if (owner === server) return original;
    if (owner === undefined)
      return this.#fromAliasedTemplate(server, original) ? this.#alias(server, original) : original;
    const alias = this.#alias(server, original);
    // Not in any list: what the alias of a view stands for would not be known later.
    if (!isMux(alias) && !this.#uris.has(server, original)) this.#seen.set(alias, server);
    return alias;
  }

  publicTemplate(server: string, original: string): string {
    const owner = this.#templates.owner(original);
    return owner === undefined || owner === server ? original : this.#alias(server, original);
  }

  /** Undefined for what is not an alias of ours. */
  originalUri(publicUri: string): Owner | undefined {
    if (this.#uris.owner(publicUri) !== undefined || this.#templates.owner(publicUri) !== undefined) return undefined;
    const mux = isMux(publicUri);
    for (const [server, [tag, longer]] of this.#tags) {
      const original = withoutTag(tag, publicUri) ?? withoutTag(longer, publicUri);
      if (original !== undefined && (mux || this.#isAlias(server, original, publicUri))) return { server, original };
    }
    return undefined;
  }

  /** Whether hosts know any URI of that server's lists by another name. */
  hasAliases(server: string): boolean {
    let aliased = this.#aliased.get(server);
    if (aliased === undefined) {
      aliased =
        some(this.#uris.of(server), (uri) => this.#uris.owner(uri) !== server) ||
        some(this.#templates.of(server), (text) => this.#templates.owner(text) !== server);
      this.#aliased.set(server, aliased);
    }
    return aliased;
  }

  /** Whether that very URI is in its lists. */
  lists(server: string, uri: string): boolean {
    return this.#uris.has(server, uri);
  }

  /** The text of the most specific template of that server that makes the URI. */
  templateOf(server: string, uri: string): string | undefined {
    return this.#all().find((one) => one.server === server && one.template.matches(uri))?.text;
  }

  /** A URI that `server` named in a result, for when a host reads it. */
  remember(original: string, server: string): void {
    if (this.publicUri(server, original) === original && this.#uris.owner(original) === undefined) {
      this.#seen.set(original, server);
    }
  }

  /** `uri`: as the host says it; a template too. `readers`: servers with resources in the order of the configuration. */
  ownersOf(uri: string, readers: readonly string[]): Ownership {
    const lister = this.#uris.owner(uri) ?? this.#templates.owner(uri);
    if (lister !== undefined) return certainly({ server: lister, original: uri });
    const aliased = this.originalUri(uri);
    if (aliased !== undefined) return certainly(aliased);
    const matches = this.#matching(uri);
    const seen = this.#seen.get(uri);
    // A server that named the URI knows more of it than one whose template happens to match.
    const first = seen === undefined ? matches : [seen, ...matches.filter((server) => server !== seen)];
    const original = uri;
    if (matches.length > 0 && first.length === 1) return certainly({ server: first[0]!, original });
    const rest = readers.filter((server) => !first.includes(server));
    return { certain: undefined, candidates: [...first, ...rest].map((server) => ({ server, original })) };
  }

  #alias(server: string, original: string): string {
    const tags = this.#tags.get(server);
    if (tags === undefined) return original;
    const alias = withTag(tags[0], original);
    // Another Switchyard behind this one may list what looks like an alias of ours.
    const free = this.#uris.owner(alias) === undefined && this.#templates.owner(alias) === undefined;
    return free ? alias : withTag(tags[1], original);
  }

  /** `ui://x--y` may be an alias or somebody's own URI: it counts as what it is known to be. */
  #isAlias(server: string, original: string, publicUri: string): boolean {
    return (
      this.#uris.has(server, original) ||
      this.#templates.has(server, original) ||
      this.#seen.get(publicUri) === server ||
      this.#fromAliasedTemplate(server, original)
    );
  }

  #fromAliasedTemplate(server: string, original: string): boolean {
    if (!this.hasAliases(server)) return false;
    return this.#all().some(
      (one) => one.server === server && this.#templates.owner(one.text) !== server && one.template.matches(original),
    );
  }

  /** Servers with a template that makes this URI, the most specific template first, then in the order of configuration. */
  #matching(uri: string): string[] {
    return [...new Set(this.#all().flatMap(({ server, template }) => (template.matches(uri) ? [server] : [])))];
  }

  #all(): readonly OwnedTemplate[] {
    this.#compiled ??= this.#order
      .flatMap((server) =>
        [...this.#templates.of(server)].map((text) => ({ server, text, template: compileTemplate(text) })),
      )
      .sort((a, b) => b.template.literals - a.template.literals);
    return this.#compiled;
  }
}

function certainly(owner: Owner): Ownership {
  return { certain: owner, candidates: NO_OWNERS };
}

function some(keys: Iterable<string>, test: (key: string) => boolean): boolean {
  for (const key of keys) if (test(key)) return true;
  return false;
}
