/**
 * Which server an exchange is for. Names are found by table look-up in the catalogue, never by splitting; a name that is
 * not there is looked for once more after its server has been asked again. The first layer under audit: what it finds
 * is what policy judges.
 */
import { Fault, unknownItem } from "../errors.ts";
import {
  type Answer,
  aimAt,
  type Exchange,
  type Handler,
  type ItemKind,
  type Layer,
  type Resolved,
  type Target,
} from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";
import { firstDuplicate } from "../wire/values.ts";
import { aim, byUri, type UriAccess } from "./by-uri.ts";
import type { Item } from "./items.ts";

/**
 * Where it matters that nothing is called on the strength of a definition that its server may have changed: what to wait
 * for before the item is looked up for good. Undefined: nothing.
 */
export type Settle = (item: Item) => Promise<void> | undefined;

export interface ResolveOptions extends UriAccess {
  readonly settle: Settle;
}

export function resolveLayer(options: ResolveOptions): Layer<Exchange, Resolved> {
  return (next) => (exchange) => {
    try {
      return resolve(options, next, exchange);
    } catch (fault) {
      return Promise.reject(fault);
    }
  };
}

function resolve(options: ResolveOptions, next: Handler<Resolved>, exchange: Exchange): Promise<Answer> {
  switch (exchange.row.route) {
    case "item":
    case "subscription":
      return exchange.row.kind === "resource"
        ? byUri(options, next, exchange, requiredString(exchange.frame, "uri"))
        : byName(options, next, exchange, exchange.row.kind!, requiredString(exchange.frame, "name"));
    case "completion":
      return byReference(options, next, exchange);
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

/**
 * What is hidden is looked for like what does not exist, so that the two take equally long: the server is asked for its
 * list, and policy says the rest.
 */
function byName(
  { catalogue, settle, shows }: ResolveOptions,
  next: Handler<Resolved>,
  exchange: Exchange,
  kind: ItemKind,
  publicName: string,
): Promise<Answer> {
  exchange.trail.publicName = publicName;
  const find = (): Item | undefined => (kind === "tool" ? catalogue.tool(publicName) : catalogue.prompt(publicName));
  const item = find();
  if (item !== undefined && shows(item)) {
    const settled = settle(item);
    if (settled === undefined) return next(aim(exchange, item));
    return settled.then(() => {
      const now = find();
      if (now === undefined) throw unknownItem(kind, publicName);
      return next(aim(exchange, now));
    });
  }
  return catalogue.refreshForLookup(kind, publicName).then((found) => {
    if (found === undefined) throw unknownItem(kind, publicName);
    return next(aim(exchange, found));
  });
}

/** -32602, unlike a read: completion knows no other code for a reference (2025-11-25, server/utilities/completion). */
function unknownReference(uri: string): Fault {
  return new Fault("UNKNOWN_ITEM", `Unknown resource or template: ${uri}`, { data: { uri } });
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
async function byReference(options: ResolveOptions, next: Handler<Resolved>, exchange: Exchange): Promise<Answer> {
  refuseTwins(exchange.frame);
  const ref = exchange.frame.value("ref") as { type?: unknown; name?: unknown; uri?: unknown } | undefined;
  if (ref?.type === "ref/prompt" && typeof ref.name === "string") {
    return byName(options, next, exchange, "prompt", ref.name);
  }
  if (ref?.type === "ref/resource" && typeof ref.uri === "string") {
    exchange.trail.publicName = ref.uri;
    const { catalogue } = options;
    const { uri } = ref;
    const { certain } = catalogue.ownersOf(uri);
    if (certain === undefined) throw unknownReference(uri);
    return next(aim(exchange, catalogue.resource(certain))).catch((error: unknown) => {
      // A hidden one is answered like one that does not exist.
      throw error instanceof Fault && error.code === "RESOURCE_NOT_FOUND" ? unknownReference(uri) : error;
    });
  }
  throw new Fault(
    "INVALID_PARAMS",
    'completion/complete needs params.ref: {"type":"ref/prompt","name":…} or {"type":"ref/resource","uri":…}',
  );
}
