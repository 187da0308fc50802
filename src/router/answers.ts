/**
 * What happens to a server's answer before the host gets it: nothing, but for the few things the protocol makes the
 * proxy's business: aliases of resource URIs, revisions older than the server's, and error codes that would mislead about
 * the whole (spec.md §3.14, §3.15, §3.17).
 */

import type { Answer, Exchange, Target } from "../exchange.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED } from "../wire/codes.ts";
import { downgradeResult } from "../wire/ladder.ts";
import { objectOf } from "../wire/objects.ts";
import { errorFrame, resultFrame } from "../wire/splice.ts";
import { rewriteUris, uriSpans } from "../wire/uris.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Elicitations } from "./elicitations.ts";
import type { Host } from "./hosts.ts";

type ItemTarget = Extract<Target, { type: "item" }>;

/** Results up to this size are looked through for resource links, so that a later read finds its server at once. */
const LOOK_LIMIT = 256 * 1024;
const URI_KEY = Buffer.from('"uri"');

interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export class AnswerRules {
  readonly #catalogue: Catalogue;
  readonly #elicitations: Elicitations;

  constructor(catalogue: Catalogue, elicitations: Elicitations) {
    this.#catalogue = catalogue;
    this.#elicitations = elicitations;
  }

  /** A merged list: only the host's revision matters. */
  list(answer: Answer, host: Host): Answer {
    return downgradeResult(answer, "tools/list", host.revision);
  }

  apply(answer: Answer, exchange: Exchange, target: ItemTarget, host: Host): Answer {
    if (answer.isError) return this.#error(answer, exchange, target, host);
    const { server } = target;
    let result = answer;
    const small = answer.bytes.length <= LOOK_LIMIT && answer.bytes.includes(URI_KEY);
    if (small || this.#catalogue.hasAliases(server)) {
      result = rewriteUris(result, (uri) => this.#catalogue.publicUri(server, uri));
    }
    if (small && exchange.row.method !== "resources/read") {
      for (const [start, end] of uriSpans(answer)) {
        this.#catalogue.remember(JSON.parse(answer.bytes.utf8Slice(start, end)) as string, server);
      }
    }
    return downgradeResult(result, exchange.row.method, host.revision);
  }

  #error(answer: Answer, exchange: Exchange, target: ItemTarget, host: Host): Answer {
    const error = answer.body() as WireError;
    const { method } = exchange.row;
    if (error.code === URL_ELICITATION_REQUIRED) return this.#urlRequired(answer, error, method, target, host);
    if (error.code === METHOD_NOT_FOUND) {
      // "Method not found" would tell the host that nobody here has the method, while others do (R193).
      const data = { source: "switchyard", server: target.server, upstream: error };
      return errorFrame({
        code: INVALID_PARAMS,
        message: `not supported by server "${target.server}": ${error.message}`,
        data,
      });
    }
    if (target.kind !== "resource") return answer;
    const uri = exchange.trail.publicName;
    if (error.code === INVALID_PARAMS && saysNotFound(error, target.original)) {
      return errorFrame({ ...error, code: RESOURCE_NOT_FOUND, data: { ...objectOf(error.data), uri } });
    }
    if (objectOf(error.data).uri === target.original && uri !== target.original) {
      return errorFrame({ ...error, data: { ...objectOf(error.data), uri } });
    }
    return answer;
  }

  /** Verbatim to a host that can open a URL; to another an honest failure without the URL, which it could not use. */
  #urlRequired(answer: Answer, error: WireError, method: string, target: ItemTarget, host: Host): Answer {
    const elicitation = objectOf(host.capabilities.elicitation);
    if (typeof elicitation.url === "object" && elicitation.url !== null) {
      const list = objectOf(error.data).elicitations;
      for (const entry of Array.isArray(list) ? list : []) {
        this.#elicitations.asked(target.server, objectOf(entry).elicitationId, host.id);
      }
      return answer;
    }
    const text = `server "${target.server}" needs the user to open a web page first, which this host cannot do`;
    if (method === "tools/call") return resultFrame({ content: [{ type: "text", text }], isError: true });
    return errorFrame({
      code: -32603,
      message: text,
      data: { source: "switchyard", server: target.server, reason: "url elicitation required" },
    });
  }
}

/** SDK servers answer -32602 for a missing resource; a host of this era expects -32002 (spec.md §3.17, T7). */
function saysNotFound(error: WireError, uri: string): boolean {
  return objectOf(error.data).uri === uri || /not found/i.test(String(error.message));
}
