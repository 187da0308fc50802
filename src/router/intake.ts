/** What happens to items when they come in: their URIs are claimed for their server, and unusable ones are told of. */
import type { Log } from "../log.ts";
import type { Owners } from "./owners.ts";
import type { Walk } from "./walk.ts";

/** Claims what the items of a list say about URIs, from index `from` on. */
export function claimItems(owners: Owners, { source, list, set }: Walk, from: number): void {
  const items = set?.items.slice(from) ?? [];
  const keys = items.map(({ key }) => key);
  if (list.member === "resourceTemplates") owners.claimTemplates(source.name, keys);
  if (list.member === "resources") owners.claimUris(source.name, list.method, keys, from === 0);
  // A tool that names a view has it, listed or not: two servers' `ui://view` stay apart (R121).
  const views = items.flatMap(({ uiUris }) => uiUris);
  if (list.member === "tools") owners.claimUris(source.name, list.method, views, true);
}

const MAX_WARNINGS = 1000;

/** Each flaw is told once, not at every refresh; and a server cannot fill the memory with them. */
export class FlawLog {
  readonly #log: Log;
  readonly #told = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  tell({ set }: Walk): void {
    for (const { server, kind, original, why } of set?.withheld ?? []) {
      const key = JSON.stringify([server, kind, original, why]);
      if (this.#told.has(key) || this.#told.size >= MAX_WARNINGS) continue;
      this.#told.add(key);
      this.#log.warn({ server, kind, item: original, reason: why }, "a definition is not passed on");
    }
  }
}
