/** Introduces the host's user to the approval layer: a question of ours, on the leg on which servers' questions go too. */
import { type Exchange, newTrail } from "./exchange.ts";
import type { User } from "./pipeline/approval/layer.ts";
import type { Host } from "./router/hosts.ts";
import { takesForms } from "./router/questions.ts";
import { rewrite } from "./wire/edits.ts";
import { rowOf } from "./wire/methods.ts";
import { requestFrame } from "./wire/splice.ts";

export function userOf(hostOf: (exchange: Exchange) => Host | undefined): User {
  return {
    obstacle(exchange) {
      const host = hostOf(exchange);
      if (host === undefined) return "it is gone";
      return takesForms(host.capabilities) ? undefined : "it did not declare elicitation in form mode";
    },
    ask(exchange, params) {
      const frame = requestFrame("elicitation/create", params);
      const { caller, cancellation } = exchange;
      const asked: Exchange = {
        direction: "toHost",
        frame,
        row: rowOf("elicitation/create")!,
        caller,
        // The question ends with the call that it is about.
        cancellation,
        trail: newTrail(),
        progress: undefined,
        server: undefined,
        target: undefined,
      };
      return hostOf(exchange)!.ask(asked, 0, (id) => rewrite(frame, id, []));
    },
  };
}
