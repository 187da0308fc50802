/** Entries of the configuration that match nothing: a mistyped name leaves a door open, or shut. */
import type { ItemKind, PolicyItem } from "../../exchange.ts";
import type { Filters } from "./policy.ts";
import { type CompiledRule, KEYS, KINDS } from "./rules.ts";

/** Whether all items of that kind are known that the server has: only then can an entry be said to match none. */
export type Known = (server: string, kind: ItemKind) => boolean;

/** Allow entries of filters. */
export function unusedFilters(
  servers: ReadonlyMap<string, Filters>,
  items: readonly PolicyItem[],
  known: Known,
): string[] {
  return [...servers].flatMap(([server, filters]) =>
    KINDS.flatMap((kind) => {
      if (!known(server, kind)) return [];
      const names = items.filter((item) => item.server === server && item.kind === kind);
      const allow = filters[kind].allow;
      return (allow?.globs ?? [])
        .filter((glob) => !names.some((item) => glob.test(item.original) === true))
        .map((glob) => `${allow!.where}: ${JSON.stringify(glob.source)} matches no ${kind} of this server`);
    }),
  );
}

/** Allow entries of rules, and servers that are not in the file. */
export function unusedRules(
  rules: readonly CompiledRule[],
  servers: readonly string[],
  items: readonly PolicyItem[],
  known: Known,
): string[] {
  return rules.flatMap((rule) => {
    const reached = (name: string) => rule.servers?.globs.some((glob) => glob.test(name) === true) ?? true;
    const missing = (rule.servers?.globs ?? [])
      .filter((glob) => !servers.some((server) => glob.test(server) === true))
      .map((glob) => `policy.${rule.where}.servers: ${JSON.stringify(glob.source)} matches no enabled server`);
    if (rule.decision.effect === "deny") return missing;
    const empty = KINDS.flatMap((kind) => {
      if (!servers.every((server) => !reached(server) || known(server, kind))) return [];
      const names = items.filter((item) => item.kind === kind && reached(item.server));
      return (rule.items[kind]?.globs ?? [])
        .filter((glob) => !names.some((item) => glob.test(item.original) === true))
        .map((glob) => `policy.${rule.where}.${KEYS[kind]}: ${JSON.stringify(glob.source)} matches no ${kind}`);
    });
    return [...missing, ...empty];
  });
}
