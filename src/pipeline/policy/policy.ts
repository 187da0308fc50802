/**
 * Rules -> decision. Judged on (server, kind, original name) and the caller, never on a public name, so a rename or a
 * prefix cannot open a door. Pure: the same item and caller always get the same decision, so decisions are kept.
 */
import type { PolicyConfig, ServerConfig } from "../../config/types.ts";
import type { Decision, ItemKind, PolicyItem } from "../../exchange.ts";
import {
  type CompiledFilter,
  type CompiledRule,
  compileFilter,
  compileRule,
  KEYS,
  KINDS,
  mayMatch,
  reaches,
  spelled,
  surelyMatches,
} from "./rules.ts";

export { policyLayer } from "./layer.ts";

/** Who asks, as far as rules can tell callers apart. */
export interface PolicyCaller {
  /** The name that the client gave itself: a convenience for rules, no authentication. */
  readonly client: string;
  readonly principal: string | undefined;
}

export interface Policy {
  decide(item: PolicyItem, caller: PolicyCaller): Decision;
  /**
   * What of the configuration has no effect on these items, one sentence each: allow entries that match none of them,
   * and servers of a rule that are not in the file. `items` are all items of all servers, hidden ones too.
   */
  unused(items: readonly PolicyItem[]): string[];
}

/** Kept decisions, and callers, before all are forgotten: a host may ask for any number of URIs. */
const MAX_DECISIONS = 20_000;
const MAX_CLIENTS = 1_000;
/** Longer names are judged anew each time, so that what is kept stays small. */
const MAX_KEPT_NAME = 1_024;

type ByName = Map<string, Decision>;
interface ServerPart {
  readonly filters: Readonly<Record<ItemKind, CompiledFilter>>;
}
/** The rules that are left for one client, and what they said so far. */
interface ClientPart {
  readonly rules: readonly CompiledRule[];
  readonly decisions: Map<string, Record<ItemKind, ByName>>;
}

/** @throws ConfigError for a glob or a rule that cannot be meant */
export function compilePolicy(config: { policy: PolicyConfig; servers: readonly ServerConfig[] }): Policy {
  const rules = config.policy.rules.map(compileRule);
  const fallback: Decision = { effect: config.policy.default, rule: "default" };
  const servers = new Map<string, ServerPart>(
    config.servers.map((server) => [
      server.name,
      {
        filters: {
          tool: compileFilter(server, "tool"),
          prompt: compileFilter(server, "prompt"),
          resource: compileFilter(server, "resource"),
        },
      },
    ]),
  );
  const perClient = rules.some((rule) => rule.clients !== undefined);
  const everyone: ClientPart = { rules, decisions: new Map() };
  const clients = new Map<string, ClientPart>();
  let kept = 0;

  function partOf(client: string): ClientPart {
    if (!perClient) return everyone;
    const known = clients.get(client);
    if (known !== undefined) return known;
    const part = { rules: rules.filter((rule) => reachesClient(rule, client)), decisions: new Map() };
    if (client.length > MAX_KEPT_NAME) return part;
    if (clients.size >= MAX_CLIENTS) clients.clear();
    clients.set(client, part);
    return part;
  }

  function judge(part: ClientPart, item: PolicyItem): Decision {
    const server = servers.get(item.server);
    // Between two configurations an exchange may name a server that has gone: without its filters nothing is certain.
    if (server === undefined) return { effect: "deny", rule: `mcpServers.${item.server}`, reason: "not configured" };
    const name = spelled(item.kind, item.original);
    const filter = server.filters[item.kind];
    if (mayMatch(filter.deny, name)) return filter.denied;
    if (filter.allow !== undefined && !surelyMatches(filter.allow, name)) return filter.notAllowed;
    let allowing: Decision | undefined;
    for (const rule of part.rules) {
      if (rule.decision.effect === "allow" && allowing !== undefined) continue;
      if (!reaches(rule, item.server, item.kind, name)) continue;
      if (rule.decision.effect === "deny") return rule.decision;
      allowing = rule.decision;
    }
    return allowing ?? fallback;
  }

  return {
    decide(item, caller) {
      const part = partOf(caller.client);
      let ofServer = part.decisions.get(item.server);
      const known = ofServer?.[item.kind].get(item.original);
      if (known !== undefined) return known;
      const decision = judge(part, item);
      if (item.original.length > MAX_KEPT_NAME || !servers.has(item.server)) return decision;
      if (kept >= MAX_DECISIONS) {
        kept = 0;
        everyone.decisions.clear();
        clients.clear();
        part.decisions.clear();
        ofServer = undefined;
      }
      if (ofServer === undefined) {
        ofServer = { tool: new Map(), prompt: new Map(), resource: new Map() };
        part.decisions.set(item.server, ofServer);
      }
      ofServer[item.kind].set(item.original, decision);
      kept++;
      return decision;
    },
    unused: (items) => [...unusedFilters(servers, items), ...unusedRules(rules, [...servers.keys()], items)],
  };
}

/** Lists: may the caller see the item? */
export function visible(policy: Policy, item: PolicyItem, caller: PolicyCaller): boolean {
  return policy.decide(item, caller).effect === "allow";
}

function reachesClient(rule: CompiledRule, client: string): boolean {
  if (rule.clients === undefined) return true;
  const matches = rule.decision.effect === "deny" ? mayMatch : surelyMatches;
  return matches(rule.clients, { raw: client, plain: [] });
}

function unusedFilters(servers: ReadonlyMap<string, ServerPart>, items: readonly PolicyItem[]): string[] {
  return [...servers].flatMap(([server, { filters }]) =>
    KINDS.flatMap((kind) => {
      const names = items.filter((item) => item.server === server && item.kind === kind);
      const allow = filters[kind].allow;
      return (allow?.globs ?? [])
        .filter((glob) => !names.some((item) => glob.test(item.original) === true))
        .map((glob) => `${allow!.where}: ${JSON.stringify(glob.source)} matches no ${kind} of this server`);
    }),
  );
}

function unusedRules(
  rules: readonly CompiledRule[],
  servers: readonly string[],
  items: readonly PolicyItem[],
): string[] {
  return rules.flatMap((rule) => {
    const known = (name: string) => rule.servers?.globs.some((glob) => glob.test(name) === true) ?? true;
    const missing = (rule.servers?.globs ?? [])
      .filter((glob) => !servers.some((server) => glob.test(server) === true))
      .map((glob) => `policy.${rule.where}.servers: ${JSON.stringify(glob.source)} matches no enabled server`);
    if (rule.decision.effect === "deny") return missing;
    const empty = KINDS.flatMap((kind) => {
      const names = items.filter((item) => item.kind === kind && known(item.server));
      return (rule.items[kind]?.globs ?? [])
        .filter((glob) => !names.some((item) => glob.test(item.original) === true))
        .map((glob) => `policy.${rule.where}.${KEYS[kind]}: ${JSON.stringify(glob.source)} matches no ${kind}`);
    });
    return [...missing, ...empty];
  });
}
