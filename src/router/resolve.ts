/**
 * Which server an exchange is for. Names are found by table look-up in the catalogue, never by splitting; a name that is
 * not there is looked for once more after its server has been asked again. The first layer under audit: what it finds
 * is what policy judges.
 */
import { Fault, unknownItem } from "../errors.ts";
import {
  type Answer,
  aimAt,
  type Decision,
  type Exchange,
  type Handler,
  type ItemKind,
  type Layer,
  type Resolved,
  type Target,
} from "../exchange.ts";
import { RESOURCE_NOT_FOUND } from "../wire/codes.ts";
import type { Frame } from "../wire/frame.ts";
import { firstDuplicate } from "../wire/values.ts";
import type { Catalogue, Owner } from "./catalogue.ts";
import type { Item } from "./items.ts";

/** Asks a server by reading whether it has a URI; false also where policy hides it. */
export type Probe = (owner: Owner) => Promise<boolean>;

export function resolveLayer(catalogue: Catalogue, probe: Probe): Layer<Exchange, Resolved> {
  return (next) => (exchange) => {
    try {
      return resolve(catalogue, probe, next, exchange);
    } catch (fault) {
      return Promise.reject(fault);
    }
  };
}

function resolve(catalogue: Catalogue, probe: Probe, next: Handler<Resolved>, exchange: Exchange): Promise<Answer> {
  switch (exchange.row.route) {
    case "item":
    case "subscription":
      return exchange.row.kind === "resource"
        ? byUri(catalogue, next, exchange, requiredString(exchange.frame, "uri"), probe)
        : byName(catalogue, next, exchange, exchange.row.kind!, requiredString(exchange.frame, "name"));
    case "completion":
      return byReference(catalogue, next, exchange);
    case "host":
      return next(aimAt(exchange, { type: "host", server: exchange.server! }));
    default:
      return next(aimAt(exchange, ALL));
  }
}

const ALL: Target = { type: "all" };

function requiredString(frame: Frame, key: string): string {
  const value = frame.string(key);
  if (value === undefined) throw new Fault("INVALID_PARAMS", `${frame.method} needs params.${key}, a string`);
  return value;
}

/** Notes the target on the trail and makes the resolved exchange. */
function aim(exchange: Exchange, server: string, kind: ItemKind, original: string): Resolved {
  exchange.trail.server = server;
  exchange.trail.name = original;
  return aimAt(exchange, { type: "item", server, kind, original, item: { server, kind, original } });
}

function aimAtItem(exchange: Exchange, item: Item): Resolved {
  exchange.trail.server = item.server;
  exchange.trail.name = item.original;
  return aimAt(exchange, { type: "item", server: item.server, kind: item.kind, original: item.original, item });
}

function byName(
  catalogue: Catalogue,
  next: Handler<Resolved>,
  exchange: Exchange,
  kind: ItemKind,
  publicName: string,
): Promise<Answer> {
  exchange.trail.publicName = publicName;
  const item = kind === "tool" ? catalogue.tool(publicName) : catalogue.prompt(publicName);
  if (item !== undefined) return next(aimAtItem(exchange, item));
  return catalogue.refreshForLookup(kind, publicName).then((found) => {
    if (found === undefined) throw unknownItem(kind, publicName);
    return next(aimAtItem(exchange, found));
  });
}

/**
 * The owner of a URI where it is known, else a probe by reading: servers with resources are asked in the order of the
 * configuration until one does not say "not found". A read has no side effect by intent; nothing else is probed with.
 */
async function byUri(
  catalogue: Catalogue,
  next: Handler<Resolved>,
  exchange: Exchange,
  uri: string,
  probe: Probe,
): Promise<Answer> {
  exchange.trail.publicName = uri;
  const { certain, candidates } = catalogue.ownersOf(uri);
  if (certain !== undefined) return next(aim(exchange, certain.server, "resource", certain.original));
  if (exchange.row.route === "subscription") return watch(catalogue, next, exchange, uri, candidates, probe);
  let last: unknown;
  let denied: Decision | undefined;
  for (const owner of candidates) {
    if (exchange.cancellation.cancelled) break;
    try {
      const answer = await next(aim(exchange, owner.server, "resource", owner.original));
      if (!isNotFound(answer)) return remembered(catalogue, exchange, owner, answer);
    } catch (error) {
      if (exchange.trail.decision?.effect === "deny") denied ??= exchange.trail.decision;
      if (!(error instanceof Fault) || error.code === "CANCELLED" || error.code === "AUDIT_UNAVAILABLE") throw error;
      // Hidden by policy, or a server that is down: neither may hide what another server has. Its reason is kept.
      if (error.code !== "RESOURCE_NOT_FOUND") last ??= error;
    }
  }
  if (exchange.cancellation.cancelled) throw new Fault("CANCELLED", exchange.cancellation.reason ?? "cancelled");
  // What was refused stays the reason on record, though a later server was asked too and did not have it.
  if (denied !== undefined) exchange.trail.decision = denied;
  if (last !== undefined) throw last;
  throw unknownItem("resource", uri);
}

/** Most servers take a subscription to any URI, so that would find a wrong owner: the right one is found by reading. */
async function watch(
  catalogue: Catalogue,
  next: Handler<Resolved>,
  exchange: Exchange,
  uri: string,
  candidates: readonly Owner[],
  probe: Probe,
): Promise<Answer> {
  for (const owner of candidates) {
    if (candidates.length > 1 && !(await probe(owner))) continue;
    catalogue.remember(owner.original, owner.server);
    return next(aim(exchange, owner.server, "resource", owner.original));
  }
  throw unknownItem("resource", uri);
}

function remembered(catalogue: Catalogue, exchange: Exchange, owner: Owner, answer: Answer): Answer {
  if (!answer.isError && exchange.frame.method === "resources/read") catalogue.remember(owner.original, owner.server);
  return answer;
}

/** Servers say "not found" with -32002, with -32602, or by not knowing the method; all of them mean: ask the next one. */
function isNotFound(answer: Answer): boolean {
  if (!answer.isError) return answer.bodyKey === "result" && answer.text("contents") === "[]";
  const code = Number(answer.text("code"));
  return code === RESOURCE_NOT_FOUND || code === -32602 || code === -32601;
}

const REF_KEYS: ReadonlySet<string> = new Set(["type", "name", "uri"]);

/** Of two members with one key a server may take the other one than policy judged. */
function refuseTwins(frame: Frame): void {
  const at = frame.indexOf("ref");
  const twin =
    at < 0 ? undefined : firstDuplicate(frame.bytes, frame.spans[2 * at]!, frame.spans[2 * at + 1]!, REF_KEYS);
  if (twin !== undefined) throw new Fault("INVALID_PARAMS", `params.ref has "${twin}" twice`);
}

/** `completion/complete`: `ref` names a prompt, or a resource or template by the text the host was shown. */
async function byReference(catalogue: Catalogue, next: Handler<Resolved>, exchange: Exchange): Promise<Answer> {
  refuseTwins(exchange.frame);
  const ref = exchange.frame.value("ref") as { type?: unknown; name?: unknown; uri?: unknown } | undefined;
  if (ref?.type === "ref/prompt" && typeof ref.name === "string") {
    return byName(catalogue, next, exchange, "prompt", ref.name);
  }
  if (ref?.type === "ref/resource" && typeof ref.uri === "string") {
    exchange.trail.publicName = ref.uri;
    const { certain } = catalogue.ownersOf(ref.uri);
    if (certain === undefined) throw unknownItem("resource", ref.uri);
    return next(aim(exchange, certain.server, "resource", certain.original));
  }
  throw new Fault(
    "INVALID_PARAMS",
    'completion/complete needs params.ref: {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}',
  );
}
