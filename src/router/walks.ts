/** Every list of every server: the walks, in the order of the configuration. */
import type { ListMethod, Source } from "./lists.ts";
import { LISTS } from "./lists.ts";
import type { Walk } from "./walk.ts";

export class Walks {
  #byServer = new Map<string, ReadonlyMap<ListMethod, Walk>>();

  /** Servers in order. */
  get servers(): readonly string[] {
    return [...this.#byServer.keys()];
  }

  /** All walks of one list, in the order of the configuration. */
  of(method: ListMethod): Walk[] {
    return [...this.#byServer.values()].map((walks) => walks.get(method)!);
  }

  all(): Walk[] {
    return [...this.#byServer.values()].flatMap((walks) => [...walks.values()]);
  }

  ofServer(server: string): readonly Walk[] {
    return [...(this.#byServer.get(server)?.values() ?? [])];
  }

  get(server: string, method: ListMethod): Walk | undefined {
    return this.#byServer.get(server)?.get(method);
  }

  /** Keeps the walks of the sources that stay. Returns those that ended. */
  set(sources: readonly Source[], make: (source: Source, method: ListMethod) => Walk): Walk[] {
    const old = this.#byServer;
    this.#byServer = new Map();
    for (const source of [...sources].sort((a, b) => a.rank - b.rank)) {
      const kept = old.get(source.name);
      const same = kept?.get("tools/list")?.source === source;
      if (same) old.delete(source.name);
      const walks = same ? kept! : new Map(LISTS.map(({ method }) => [method, make(source, method)]));
      this.#byServer.set(source.name, walks);
    }
    return [...old.values()].flatMap((walks) => [...walks.values()]);
  }
}
