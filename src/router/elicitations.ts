/**
 * URL elicitations that a host was shown, so that their completion is told to that host and to nobody else
 * (2025-11-25, client/elicitation: only to the client that got the request).
 */
import { LRUCache } from "lru-cache";

export class Elicitations {
  /** server + id → host id. Bounded: a completion that never comes must not be kept for ever. */
  readonly #asked = new LRUCache<string, string>({ max: 10_000 });

  asked(server: string, elicitationId: unknown, hostId: string): void {
    if (typeof elicitationId === "string") this.#asked.set(`${server}\n${elicitationId}`, hostId);
  }

  hostOf(server: string, elicitationId: string | undefined): string | undefined {
    return elicitationId === undefined ? undefined : this.#asked.get(`${server}\n${elicitationId}`);
  }
}
