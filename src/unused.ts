/** Entries of the policy that match nothing, once every server has said what it has: a mistyped name shows in the log. */
import type { ItemKind, PolicyItem } from "./exchange.ts";
import type { SwitchyardProxy } from "./proxy.ts";
import { LISTS } from "./router/lists.ts";

/** One sentence each. Of lists that are not known to their end nothing is said. */
export async function unusedEntries({ connections, catalogue, policy }: SwitchyardProxy): Promise<string[]> {
  await Promise.all(connections.map((connection) => connection.settled()));
  await catalogue.known();
  const items: PolicyItem[] = [];
  const whole = new Set<string>();
  for (const { name } of connections) {
    const lists = new Map(catalogue.defined(name).map((list) => [list.method, list]));
    for (const { method, kind } of LISTS) {
      for (const { key } of lists.get(method)?.items ?? []) items.push({ server: name, kind, original: key });
    }
    for (const kind of new Set(LISTS.map((row) => row.kind))) {
      const isWhole = LISTS.every((row) => row.kind !== kind || lists.get(row.method)?.whole === true);
      if (isWhole) whole.add(`${kind} ${name}`);
    }
  }
  return policy.unused(items, (server: string, kind: ItemKind) => whole.has(`${kind} ${server}`));
}
