/**
 * Between policy and limits: Judged -> Permitted. What a rule with effect "ask" reaches goes out only when the host's
 * user accepts it; while a person thinks, no turn at the server is taken. The only place that makes a permit. An answer
 * is never made up: whatever is not an `accept` of the user refuses the call, and the record says which it was.
 */
import { Fault } from "../../errors.ts";
import type { Answer, Caller, Exchange, Handler, Judged, Layer, Permitted } from "../../exchange.ts";
import { type QuestionParams, question } from "./question.ts";
import { shownName } from "./shown.ts";

/** The way to the host's user; proxy.ts makes it from the downstream session. */
export interface User {
  /** Why this host cannot ask its user; undefined if it can. */
  obstacle(exchange: Exchange): string | undefined;
  /** Shows a form. Resolves with the host's answer, rejects with a Fault when the call is cancelled or the host gone. */
  ask(exchange: Exchange, params: QuestionParams): Promise<Answer>;
}

/** As in the audit record, `decision.reason`. */
type Reason = "approved" | "approved (remembered)" | "declined" | "cancelled" | "not possible" | "not answered";

/** Items that one session may have remembered; a further one is asked for each time. */
const MAX_REMEMBERED = 10_000;

export function approvalLayer(user: User): Layer<Judged, Permitted> {
  /** By session, which a caller stands for as long as it lasts. */
  const remembered = new WeakMap<Caller, Set<string>>();
  return (next) => (exchange) => {
    if (exchange.trail.decision?.effect !== "ask") return next(exchange as Permitted);
    // Takes nothing from the server and gives it nothing.
    if (exchange.row.method === "resources/unsubscribe") return next(exchange as Permitted);
    const known = remembered.get(exchange.caller) ?? new Set<string>();
    remembered.set(exchange.caller, known);
    return ask(user, known, next, exchange);
  };
}

async function ask(user: User, remembered: Set<string>, next: Handler<Permitted>, exchange: Judged): Promise<Answer> {
  const { effect, rule, reason: why } = exchange.trail.decision!;
  const note = (reason: Reason): void => {
    exchange.trail.decision = { effect, rule, reason };
  };
  const key = keyOf(exchange, rule);
  if (remembered.has(key)) {
    note("approved (remembered)");
    return next(exchange as Permitted);
  }
  note("not possible");
  const obstacle = obstacleOf(user, exchange);
  if (obstacle !== undefined) throw notPossible(exchange, rule, obstacle);
  // Stays so if the call is cancelled, or the host leaves.
  note("not answered");
  const answer = await user.ask(exchange, question(exchange, why));
  const { cancellation } = exchange;
  if (cancellation.cancelled) throw new Fault("CANCELLED", cancellation.reason ?? "cancelled");
  const action = answer.isError ? undefined : answer.string("action");
  if (action === "accept") {
    note("approved");
    if (remember(answer) && remembered.size < MAX_REMEMBERED) remembered.add(key);
    return next(exchange as Permitted);
  }
  if (action === "decline" || action === "cancel") {
    const reason = action === "decline" ? "declined" : "cancelled";
    note(reason);
    throw refused(exchange, rule, reason);
  }
  note("not possible");
  const said = answer.isError
    ? (answer.string("message") ?? "an error")
    : "an answer that is none of accept, decline, cancel";
  throw notPossible(exchange, rule, `it answered the question with ${answer.isError ? `an error: ${said}` : said}`);
}

function obstacleOf(user: User, exchange: Judged): string | undefined {
  // A question at every keystroke would teach people to click it away.
  if (exchange.row.route === "completion") return "completions are not asked for one by one";
  return user.obstacle(exchange);
}

function keyOf({ target, row }: Judged, rule: string): string {
  if (target.type !== "item") return JSON.stringify([rule, target.type === "host" ? target.server : "", row.method]);
  return JSON.stringify([rule, target.server, target.kind, target.original]);
}

function remember(answer: Answer): boolean {
  const content = answer.value("content");
  return typeof content === "object" && content !== null && (content as { remember?: unknown }).remember === true;
}

function refused(exchange: Judged, rule: string, reason: "declined" | "cancelled"): Fault {
  const told =
    reason === "declined"
      ? `The user declined ${subject(exchange)}.`
      : `The user closed the question about ${subject(exchange)} without an answer.`;
  return new Fault("NOT_APPROVED", `${told} Nothing was sent.`, { retrySafe: true, data: { reason, rule } });
}

function notPossible(exchange: Judged, rule: string, obstacle: string): Fault {
  return new Fault(
    "APPROVAL_UNAVAILABLE",
    `The policy (${rule}) demands that the user approves ${subject(exchange)}, and this host cannot be asked: ${obstacle}. Nothing was sent.`,
    { retrySafe: true, data: { reason: "not possible", rule } },
  );
}

function subject({ row, trail }: Judged): string {
  return trail.publicName === undefined ? row.method : `${row.method} of ${shownName(trail.publicName)}`;
}
