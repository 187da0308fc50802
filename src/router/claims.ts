/**
 * Which servers have which key (a URI, or a URI template). The owner of a key is the first server in the configuration
 * that has it, whoever came first in time, so an alias does not flip when a server restarts.
 */

export class Claims {
  /** Servers in the order of the configuration; for each, keys by where they were seen. */
  readonly #servers: ReadonlyMap<string, Map<string, Set<string>>>;

  constructor(order: readonly string[]) {
    this.#servers = new Map(order.map((server) => [server, new Map()]));
  }

  /** Replaces what `server` has from that place. True if a key is concerned that another server has too. */
  replace(server: string, place: string, keys: Iterable<string>): boolean {
    const places = this.#servers.get(server);
    if (places === undefined) return false;
    const old = places.get(place);
    const now = new Set(keys);
    places.set(place, now);
    let shared = false;
    for (const key of now) shared ||= !old?.has(key) && this.#others(server, key);
    if (old !== undefined) for (const key of old) shared ||= !now.has(key) && this.#others(server, key);
    return shared;
  }

  /** Adds to what `server` has from that place. True if another server has one of the keys too. */
  add(server: string, place: string, keys: readonly string[]): boolean {
    const places = this.#servers.get(server);
    if (places === undefined) return false;
    const now = places.get(place) ?? new Set();
    places.set(place, now);
    let shared = false;
    for (const key of keys) {
      now.add(key);
      shared ||= this.#others(server, key);
    }
    return shared;
  }

  owner(key: string): string | undefined {
    for (const [server, places] of this.#servers) if (hasKey(places, key)) return server;
    return undefined;
  }

  has(server: string, key: string): boolean {
    const places = this.#servers.get(server);
    return places !== undefined && hasKey(places, key);
  }

  /** Everything that `server` has. */
  *of(server: string): Iterable<string> {
    for (const keys of this.#servers.get(server)?.values() ?? []) yield* keys;
  }

  #others(server: string, key: string): boolean {
    for (const [name, places] of this.#servers) if (name !== server && hasKey(places, key)) return true;
    return false;
  }
}

function hasKey(places: ReadonlyMap<string, ReadonlySet<string>>, key: string): boolean {
  for (const keys of places.values()) if (keys.has(key)) return true;
  return false;
}
