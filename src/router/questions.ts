/**
 * Questions of a server to the host: sampling, elicitation, roots. Relayed as they are, under an id of ours; what the host
 * did not declare is refused here, and an answer is never made up (spec.md §3.6, R153–R156).
 */

import type { Config } from "../config/types.ts";
import { Fault, undeclared } from "../errors.ts";
import type { Answer, Exchange } from "../exchange.ts";
import { rewrite, tokenEdit } from "../wire/edits.ts";
import { downgradeQuestion } from "../wire/ladder.ts";
import { isObject } from "../wire/objects.ts";
import { type Edit, resultFrame } from "../wire/splice.ts";
import type { Elicitations } from "./elicitations.ts";
import type { Host } from "./hosts.ts";

/** A host that never answers roots/list must not hold up a server for ever; people answering questions may take long. */
const ROOTS_DEADLINE_MS = 5000;

export class Questions {
  readonly #config: Config;
  readonly #elicitations: Elicitations;
  readonly #host: (exchange: Exchange) => Host | undefined;

  constructor(config: Config, elicitations: Elicitations, host: (exchange: Exchange) => Host | undefined) {
    this.#config = config;
    this.#elicitations = elicitations;
    this.#host = host;
  }

  async ask(exchange: Exchange, server: string): Promise<Answer> {
    const host = this.#host(exchange);
    if (host === undefined) throw new Fault("NOT_SUPPORTED", "no host is there to be asked");
    const { frame } = exchange;
    const { method } = exchange.row;
    const capabilities = host.capabilities;
    if (method === "roots/list" && !isObject(capabilities.roots)) {
      if (this.#config.roots !== undefined) return resultFrame({ roots: this.#config.roots });
      throw undeclared(method, "roots");
    }
    if (method === "sampling/createMessage") {
      if (!isObject(capabilities.sampling)) throw undeclared(method, "sampling");
      if ((frame.has("tools") || frame.has("toolChoice")) && !isObject(capabilities.sampling.tools)) {
        throw new Fault("INVALID_PARAMS", "this host did not declare sampling.tools");
      }
    }
    const edits: Edit[] = [];
    if (method === "elicitation/create") edits.push(...this.#elicitation(exchange, server, host));
    const older = downgradeQuestion(frame, host.revision);
    if ("refuse" in older) throw new Fault("INVALID_PARAMS", older.refuse);
    edits.push(...older.edits);
    const token = tokenEdit(frame, false);
    const deadlineMs = method === "roots/list" ? ROOTS_DEADLINE_MS : 0;
    const { trail } = exchange;
    return host
      .ask(exchange, deadlineMs, (id) => {
        trail.sentAt = performance.now();
        return rewrite(frame, id, token ? [...edits, token(id)] : edits);
      })
      .finally(() => {
        trail.answeredAt = performance.now();
      });
  }

  /** The host can show only us as the one who asks, so the message says which server it is. The URL is never touched. */
  #elicitation(exchange: Exchange, server: string, host: Host): Edit[] {
    const { frame } = exchange;
    const { elicitation } = host.capabilities;
    if (!isObject(elicitation)) throw undeclared("elicitation/create", "elicitation");
    const mode = frame.string("mode") ?? "form";
    if (mode === "url" ? !isObject(elicitation.url) : mode !== "form" || !takesForms(host.capabilities)) {
      throw new Fault("INVALID_PARAMS", `this host did not declare elicitation in mode "${mode}"`);
    }
    if (mode === "url") this.#elicitations.asked(server, frame.string("elicitationId"), host.id);
    const at = frame.indexOf("message");
    const start = at < 0 ? -1 : frame.spans[2 * at]!;
    if (start < 0 || frame.bytes[start] !== 0x22) return [];
    return [{ start: start + 1, end: start + 1, text: JSON.stringify(`[${server}] `).slice(1, -1) }];
  }
}

/** `{}` means forms alone (2025-06-18 knows nothing else). */
export function takesForms({ elicitation }: Readonly<Record<string, unknown>>): boolean {
  return isObject(elicitation) && (isObject(elicitation.form) || !isObject(elicitation.url));
}
