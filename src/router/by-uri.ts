/**
 * Which server a URI is for. Where nobody lists it, the servers are asked by reading, in the order of the configuration;
 * a read has no side effect by intent, and nothing else is asked with. What policy hides is answered like what does not
 * exist, and takes as many round trips: in the place of each read that is not sent the server is only knocked at.
 */
import { Fault, type FaultCode, unknownItem } from "../errors.ts";
import {
  type Answer,
  aimAt,
  type Decision,
  type Exchange,
  type Handler,
  type PolicyItem,
  type Resolved,
} from "../exchange.ts";
import { RESOURCE_NOT_FOUND } from "../wire/codes.ts";
import type { Catalogue, Owner } from "./catalogue.ts";

export interface UriAccess {
  readonly catalogue: Catalogue;
  /** May this host see the item? */
  shows(item: PolicyItem): boolean;
  /** Whether some resource of the server may be hidden: only then is what does not exist made to look like it. */
  hides(server: string): boolean;
  /** Asks a server by reading whether it has a URI; false also where that is hidden. */
  probe(owner: Owner): Promise<boolean>;
  /** One round trip that asks nothing. Rejects with a Fault as a request would. */
  knock(server: string): Promise<void>;
}

/** After these no other server is asked: nobody wants the answer any more, or the user has said no. */
const ENDS: ReadonlySet<FaultCode> = new Set(["CANCELLED", "AUDIT_UNAVAILABLE", "NOT_APPROVED"]);

/** Notes the target on the trail and makes the resolved exchange. */
export function aim(exchange: Exchange, item: PolicyItem): Resolved {
  const { server, kind, original } = item;
  exchange.trail.server = server;
  exchange.trail.name = original;
  return aimAt(exchange, { type: "item", server, kind, original, item });
}

export async function byUri(
  access: UriAccess,
  next: Handler<Resolved>,
  exchange: Exchange,
  uri: string,
): Promise<Answer> {
  exchange.trail.publicName = uri;
  const { certain, candidates } = access.catalogue.ownersOf(uri);
  const watches = exchange.row.route === "subscription";
  if (certain !== undefined) {
    const item = access.catalogue.resource(certain);
    if (!access.shows(item)) return hidden(access, next, exchange, item, uri);
    const answer = await next(aim(exchange, item));
    // Made from a template: what the server says of one that it has not would tell it from one that is hidden.
    const made = !access.catalogue.listsUri(certain.server, certain.original) && access.hides(certain.server);
    if (made && isMissing(answer)) throw unknownItem("resource", uri);
    return answer;
  }
  return watches ? watch(access, next, exchange, uri, candidates) : read(access, next, exchange, uri, candidates);
}

async function read(
  access: UriAccess,
  next: Handler<Resolved>,
  exchange: Exchange,
  uri: string,
  candidates: readonly Owner[],
): Promise<Answer> {
  const { catalogue } = access;
  let last: unknown;
  let denied: Decision | undefined;
  for (const owner of candidates) {
    if (exchange.cancellation.cancelled) break;
    const item = catalogue.resource(owner);
    const trouble = access.shows(item) ? undefined : await knock(access, owner.server);
    try {
      const answer = await next(aim(exchange, item));
      if (!isNotFound(answer)) return remembered(catalogue, exchange, owner, answer);
    } catch (error) {
      if (!(error instanceof Fault) || ENDS.has(error.code)) throw error;
      const { decision } = exchange.trail;
      if (decision?.effect === "deny" || error.code === "APPROVAL_UNAVAILABLE") denied ??= decision;
      // Hidden by policy, or a server that is down: neither may hide what another server has. Its reason is kept.
      last ??= error.code === "RESOURCE_NOT_FOUND" ? trouble : error;
    }
  }
  if (exchange.cancellation.cancelled) throw new Fault("CANCELLED", exchange.cancellation.reason ?? "cancelled");
  // What was refused stays the reason on record, though a later server was asked too and did not have it.
  if (denied !== undefined) exchange.trail.decision = denied;
  if (last !== undefined) throw last;
  throw unknownItem("resource", uri);
}

/** As if the URI were looked for and not found, a server that is down included. */
async function hidden(
  access: UriAccess,
  next: Handler<Resolved>,
  exchange: Exchange,
  item: PolicyItem,
  uri: string,
): Promise<Answer> {
  const { catalogue } = access;
  const inTemplate = catalogue.isMade(item);
  let last: unknown;
  for (const server of inTemplate ? [item.server] : catalogue.readers()) {
    if (exchange.cancellation.cancelled) break;
    last ??= await knock(access, server);
  }
  try {
    return await next(aim(exchange, item));
  } catch (refusal) {
    if (exchange.cancellation.cancelled) throw new Fault("CANCELLED", exchange.cancellation.reason ?? "cancelled");
    if (exchange.row.route === "subscription") throw unknownItem("resource", uri);
    throw last ?? refusal;
  }
}

/** Why the server cannot be had, if so. */
function knock(access: UriAccess, server: string): Promise<unknown> {
  return access.knock(server).then(
    () => undefined,
    (fault: unknown) => fault,
  );
}

/**
 * Most servers take a subscription to any URI, so that would find a wrong owner: the right one is found by reading. So is
 * the only one, where taking it would tell what does not exist from what is hidden.
 */
async function watch(
  access: UriAccess,
  next: Handler<Resolved>,
  exchange: Exchange,
  uri: string,
  candidates: readonly Owner[],
): Promise<Answer> {
  const { catalogue, probe, hides } = access;
  const asks = candidates.length > 1 || candidates.some(({ server }) => hides(server));
  for (const owner of candidates) {
    if (asks && !(await probe(owner))) continue;
    catalogue.remember(owner.original, owner.server);
    return next(aim(exchange, catalogue.resource(owner)));
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

function isMissing(answer: Answer): boolean {
  return answer.isError && Number(answer.text("code")) === RESOURCE_NOT_FOUND;
}
