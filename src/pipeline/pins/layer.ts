/**
 * Refuses what is not as it was pinned, exactly like what does not exist. It stands twice in the stack: behind policy,
 * so that nobody is asked about a call that will not go out, and innermost, because a definition may have changed while
 * the user thought or the call waited for its turn.
 */
import { unknownItem } from "../../errors.ts";
import type { Layer, PolicyItem, Resolved } from "../../exchange.ts";
import type { Deviation } from "./pins.ts";

/** What the layer asks of each item. */
export interface Watch {
  readonly active: boolean;
  deviation(item: PolicyItem): Deviation | undefined;
}

/** Where nothing is pinned, the layer is not there. */
export function pinsLayer<E extends Resolved>(watch: Watch): Layer<E> {
  if (!watch.active) return (next) => next;
  return (next) => (exchange) => {
    const { target, trail } = exchange;
    const found = target.type === "item" ? watch.deviation(target.item) : undefined;
    if (found === undefined || target.type !== "item") return next(exchange);
    trail.pin = found.fault;
    if (!found.refused) return next(exchange);
    trail.decision = { effect: "deny", rule: "pin", reason: found.reason };
    return Promise.reject(unknownItem(target.kind, trail.publicName ?? ""));
  };
}
