/**
 * Who watches which resource: the one owner of that map. A server is asked once for a URI, however many watch it, and told
 * once when the last one leaves (spec.md §4.11).
 */

export interface Watch {
  readonly server: string;
  /** The URI at the server. */
  readonly original: string;
  /** Host id → the URI that this host used. */
  readonly hosts: Map<string, string>;
}

export class Subscriptions {
  readonly #watches = new Map<string, Watch>();

  /** True if this is the first watcher of the URI: the server must be asked. */
  add(server: string, original: string, hostId: string, publicUri: string): boolean {
    const key = keyOf(server, original);
    let watch = this.#watches.get(key);
    const first = watch === undefined;
    if (watch === undefined) {
      watch = { server, original, hosts: new Map() };
      this.#watches.set(key, watch);
    }
    watch.hosts.set(hostId, publicUri);
    return first;
  }

  /** True if that was the last watcher: the server must be told. False also if the host did not watch. */
  remove(server: string, original: string, hostId: string): boolean {
    const key = keyOf(server, original);
    const watch = this.#watches.get(key);
    if (watch === undefined || !watch.hosts.delete(hostId) || watch.hosts.size > 0) return false;
    this.#watches.delete(key);
    return true;
  }

  /** A host is gone; returns what nobody watches any more. */
  removeHost(hostId: string): Watch[] {
    const left: Watch[] = [];
    for (const [key, watch] of this.#watches) {
      if (!watch.hosts.delete(hostId) || watch.hosts.size > 0) continue;
      this.#watches.delete(key);
      left.push(watch);
    }
    return left;
  }

  /** URIs of one server that somebody watches: to be asked for again after it was restarted. */
  of(server: string): Watch[] {
    return [...this.#watches.values()].filter((watch) => watch.server === server);
  }

  /**
   * Watchers of a changed URI: exact, else the closest watched parent at a "/" boundary (a server may report a
   * sub-resource, 2025-11-25 ResourceUpdatedNotificationParams).
   */
  watchers(server: string, changed: string): Watch | undefined {
    const exact = this.#watches.get(keyOf(server, changed));
    if (exact !== undefined) return exact;
    let closest: Watch | undefined;
    for (const watch of this.#watches.values()) {
      if (watch.server !== server) continue;
      const parent = watch.original.endsWith("/") ? watch.original : `${watch.original}/`;
      if (changed.startsWith(parent) && (closest === undefined || watch.original.length > closest.original.length)) {
        closest = watch;
      }
    }
    return closest;
  }
}

function keyOf(server: string, original: string): string {
  return `${server}\n${original}`;
}
