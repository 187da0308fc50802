/**
 * Aliases of resource URIs and templates, as text. An alias stands in where two servers have one URI; it is a valid URI
 * again and can be turned back (spec.md §4.4):
 *
 *   ui://a/b      -> ui://<tag>--a/b          the scheme must stay: hosts know views by it
 *   anything else -> mux-<tag>+file:///p      only a longer scheme
 *
 * A tag is a server's prefix in the letters that a scheme may have.
 */
import { createHash } from "node:crypto";

const UI = /^ui:\/\//i;
const MUX = /^mux-([a-z0-9.-]+)\+/i;
const NOT_IN_SCHEME = /[^a-z0-9.-]/g;

/**
 * One tag a server, all different. `servers` in the order of the configuration: of two that would have the same tag, or
 * where a key has no letter to make one of, the later one's gets a hash of its key.
 */
export function uriTags(servers: readonly { readonly name: string; readonly prefix: string }[]): Map<string, string> {
  const tags = new Map<string, string>();
  const taken = new Set<string>();
  for (const { name, prefix } of servers) {
    const plain = (prefix === "" ? name : prefix).toLowerCase().replace(NOT_IN_SCHEME, "-");
    const tag = plain === "" || taken.has(plain) ? longerTag(plain, name) : plain;
    taken.add(tag);
    tags.set(name, tag);
  }
  return tags;
}

/** The tag to use where the alias with the plain tag is already somebody's own URI. */
export function longerTag(tag: string, server: string): string {
  const hash = createHash("sha256").update(server, "utf8").digest("hex").slice(0, 8);
  return tag === "" ? hash : `${tag}-${hash}`;
}

/** Works for templates too. */
export function withTag(tag: string, uri: string): string {
  const ui = UI.exec(uri);
  return ui === null ? `mux-${tag}+${uri}` : `${ui[0]}${tag}--${uri.slice(ui[0].length)}`;
}

/** The URI without its alias, or undefined if it does not carry this tag. Schemes know no case. */
export function withoutTag(tag: string, uri: string): string | undefined {
  const mux = MUX.exec(uri);
  if (mux !== null) return mux[1]!.toLowerCase() === tag ? uri.slice(mux[0].length) : undefined;
  const ui = UI.exec(uri);
  if (ui === null || !uri.startsWith(`${tag}--`, ui[0].length)) return undefined;
  return ui[0] + uri.slice(ui[0].length + tag.length + 2);
}

/** `mux-…+` says by itself that it is an alias; `ui://<tag>--…` could be anybody's own. */
export function isMux(uri: string): boolean {
  return MUX.test(uri);
}
