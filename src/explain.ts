/** A dry run for one public name: whose it is, which rules reach it, which decides, and what would be answered. */
import { nearest } from "./config/nearest.ts";
import { refusedCall, unknownItem } from "./errors.ts";
import type { Decision, PolicyItem } from "./exchange.ts";
import type { RuleReport } from "./pipeline/policy/explain.ts";
import type { PolicyCaller } from "./pipeline/policy/policy.ts";
import type { SwitchyardProxy } from "./proxy.ts";
import type { Owner } from "./router/catalogue.ts";
import { faultToError, type RpcError } from "./wire/codes.ts";
import { Frame } from "./wire/frame.ts";
import { scan } from "./wire/scan.ts";

export interface Explained {
  readonly name: string;
  /** Who was taken to ask. */
  readonly client: string;
  readonly kind: PolicyItem["kind"];
  readonly server: string;
  readonly original: string;
  readonly effect: Decision["effect"];
  /** Where the rule is written that decides. */
  readonly rule: string;
  readonly reason?: string;
  /** Some rule reads arguments, and none were given. */
  readonly dependsOnArguments: boolean;
  /** Of the rules that allow it. */
  readonly limits: NonNullable<Decision["limits"]>;
  readonly matched: readonly RuleReport[];
  /** The error that would be answered; undefined where the request goes out. */
  readonly error?: RpcError;
}

/** Nobody lists the name. */
export interface Unknown {
  readonly name: string;
  readonly unknown: true;
  readonly near?: string;
  /** Servers that a URI would be looked for at, by reading. */
  readonly lookedForAt: readonly string[];
  readonly error: RpcError;
}

/** `args`: JSON text of an object, or undefined for a look at the item alone. */
export function explainName(
  proxy: SwitchyardProxy,
  caller: PolicyCaller,
  name: string,
  args?: string,
): Explained | Unknown {
  const found = itemOf(proxy, name);
  if (found === undefined || "candidates" in found) return unknown(proxy, name, found?.candidates ?? []);
  const { item } = found;
  const request = args === undefined || item.kind === "resource" ? undefined : callOf(name, args);
  const { decision, matched } = proxy.policy.explain(item, caller, request);
  const pinned = decision.effect === "deny" ? undefined : proxy.pinning.refusal(item);
  const { effect, rule, reason, limits = [] } = pinned ?? decision;
  const hidden = pinned !== undefined || proxy.policy.decide(item, caller).effect === "deny";
  const fault = effect !== "deny" ? undefined : hidden ? unknownItem(item.kind, name) : refusedCall(item.kind, name);
  return {
    name,
    client: caller.client,
    kind: item.kind,
    server: item.server,
    original: item.original,
    effect,
    rule,
    ...(reason === undefined ? {} : { reason }),
    dependsOnArguments: effect !== "deny" && matched.some(({ says }) => says === "depends on the arguments"),
    limits,
    matched,
    ...(fault === undefined ? {} : { error: faultToError(fault) }),
  };
}

function itemOf(
  { catalogue }: SwitchyardProxy,
  name: string,
): { item: PolicyItem } | { candidates: readonly Owner[] } | undefined {
  const named = catalogue.tool(name) ?? catalogue.prompt(name);
  if (named !== undefined) return { item: named };
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(name)) return undefined;
  const { certain, candidates } = catalogue.ownersOf(name);
  if (certain === undefined) return { candidates };
  return { item: catalogue.resource(certain) };
}

function unknown({ catalogue, connections }: SwitchyardProxy, name: string, candidates: readonly Owner[]): Unknown {
  const all = connections.flatMap(({ name: server }) => catalogue.defined(server).flatMap(({ items }) => items));
  const original = all.find(({ key }) => key === name)?.publicName;
  const near =
    original ??
    nearest(
      name,
      all.map(({ publicName }) => publicName),
    );
  const isUri = candidates.length > 0;
  return {
    name,
    unknown: true,
    ...(near === undefined ? {} : { near }),
    lookedForAt: candidates.map(({ server }) => server),
    error: faultToError(unknownItem(isUri ? "resource" : "tool", name)),
  };
}

/** The arguments stay the text that was given: two members of one name are judged too. */
function callOf(name: string, args: string): Frame {
  const params = `{"name":${JSON.stringify(name)},"arguments":${args}}`;
  const frame = scan(Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":${params}}`));
  if (!(frame instanceof Frame)) throw new TypeError(`arguments: ${frame.reason}`);
  return frame;
}
