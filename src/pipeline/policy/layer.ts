/**
 * Third layer: Resolved -> Judged. The only place that says so, so whatever reaches approval, limits and dispatch has
 * passed here. What is hidden is answered exactly like what does not exist; only the trail knows the difference. A call
 * that is denied for its arguments is refused in words: its item is in the list, and there is nothing to hide.
 */
import type { QuestionKind } from "../../config/types.ts";
import { type Fault, refusedCall, undeclared, unknownItem } from "../../errors.ts";
import type { Decision, Exchange, Judged, Layer, Resolved, Target } from "../../exchange.ts";
import type { Policy, PolicyCaller } from "./policy.ts";

/** Lists are filtered item by item where they are merged. */
const OPEN: Decision = { effect: "allow", rule: "default" };

/** What a server asks, by its method. */
const QUESTIONS: Readonly<Record<string, QuestionKind>> = {
  "sampling/createMessage": "sampling",
  "elicitation/create": "elicitation",
  "roots/list": "roots",
};
/** They carry arguments that rules can read. */
const CALLS: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

export function policyLayer(policy: Policy): Layer<Resolved, Judged> {
  return (next) => (exchange) => {
    const { target, trail, caller } = exchange;
    const { name: client, version } = caller.client;
    const who: PolicyCaller = { client, version, principal: caller.principal };
    const decision = decide(policy, exchange, target, who);
    trail.decision = decision;
    if (decision.effect !== "deny") return next(exchange as Judged);
    return Promise.reject(refusal(policy, exchange, target, who));
  };
}

function decide(policy: Policy, { row, frame }: Exchange, target: Target, who: PolicyCaller): Decision {
  if (target.type === "item") {
    return CALLS.has(row.method) ? policy.decideCall(target.item, who, frame) : policy.decide(target.item, who);
  }
  const question = target.type === "host" ? QUESTIONS[row.method] : undefined;
  if (target.type !== "host" || question === undefined) return OPEN;
  return policy.decideQuestion(target.server, question, who);
}

function refusal(policy: Policy, { row, trail }: Exchange, target: Target, who: PolicyCaller): Fault {
  // To the server it is as if the host could not do that.
  if (target.type !== "item") return undeclared(row.method, QUESTIONS[row.method] ?? row.method);
  // Never the original name: the host has not shown that it knows it.
  const name = trail.publicName ?? "";
  const hidden = policy.decide(target.item, who).effect === "deny";
  return hidden ? unknownItem(target.kind, name) : refusedCall(target.kind, name);
}
