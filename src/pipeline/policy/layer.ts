/**
 * Third layer: Resolved -> Permitted. The only place that makes a permit, so whatever reaches limits and dispatch has
 * passed here. What is denied is answered exactly like what does not exist; only the trail knows the difference.
 */
import { unknownItem } from "../../errors.ts";
import type { Decision, Layer, Permitted, Resolved } from "../../exchange.ts";
import type { Policy } from "./policy.ts";

/** Lists are filtered item by item where they are merged; questions to the host have no rules yet. */
const OPEN: Decision = { effect: "allow", rule: "default" };

export function policyLayer(policy: Policy): Layer<Resolved, Permitted> {
  return (next) => (exchange) => {
    const { target, trail, caller } = exchange;
    if (target.type !== "item") {
      trail.decision = OPEN;
      return next(permit(exchange));
    }
    const decision = policy.decide(target.item, { client: caller.client.name, principal: caller.principal });
    trail.decision = decision;
    if (decision.effect === "allow") return next(permit(exchange));
    // Never the original name: the host has not shown that it knows it.
    return Promise.reject(unknownItem(target.kind, trail.publicName ?? ""));
  };
}

function permit(exchange: Resolved): Permitted {
  return exchange as Permitted;
}
