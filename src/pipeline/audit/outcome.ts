/** How an exchange ended, in the words of the audit record, and the error that goes with it. */
import { Fault } from "../../errors.ts";
import type { Answer, Exchange } from "../../exchange.ts";
import { faultToError } from "../../wire/codes.ts";

export type Outcome = "ok" | "tool_error" | "error" | "denied" | "cancelled" | "timeout" | "lost";

export interface Ending {
  readonly outcome: Outcome;
  readonly error: { readonly code: number | undefined; readonly message: string } | undefined;
}

const OK: Ending = { outcome: "ok", error: undefined };
const TOOL_ERROR: Ending = { outcome: "tool_error", error: undefined };
const CANCELLED: Ending = { outcome: "cancelled", error: undefined };
/** An error body beyond this is not parsed for its message. */
const MAX_ERROR_BYTES = 65_536;

export function endingOfAnswer(exchange: Exchange, answer: Answer): Ending {
  // Nobody gets this answer any more.
  if (exchange.cancellation.cancelled) return CANCELLED;
  if (answer.isError) return { outcome: "error", error: errorOf(answer) };
  // An `isError` that only says that the result was cut is none of the tool's.
  return answer.text("isError") === "true" && exchange.trail.truncated?.markedError !== true ? TOOL_ERROR : OK;
}

export function endingOfFailure(exchange: Exchange, failure: unknown): Ending {
  if (!(failure instanceof Fault)) {
    return {
      outcome: "error",
      error: { code: -32603, message: failure instanceof Error ? failure.message : String(failure) },
    };
  }
  const { code, message } = faultToError(failure);
  return { outcome: outcomeOf(exchange, failure), error: { code, message } };
}

function outcomeOf(exchange: Exchange, fault: Fault): Outcome {
  switch (fault.code) {
    case "CANCELLED":
      return "cancelled";
    case "DEADLINE_EXCEEDED":
      return "timeout";
    case "SERVER_CLOSED":
      // Sent, and nobody knows what became of it. What was certainly not sent is a plain error.
      return fault.retrySafe ? "error" : "lost";
    case "UNKNOWN_ITEM":
    case "RESOURCE_NOT_FOUND":
    case "METHOD_NOT_FOUND":
      return exchange.trail.decision?.effect === "deny" ? "denied" : "error";
    case "POLICY_DENIED":
    case "RATE_LIMITED":
    case "NOT_APPROVED":
    case "APPROVAL_UNAVAILABLE":
      return "denied";
    default:
      return exchange.cancellation.cancelled ? "cancelled" : "error";
  }
}

function errorOf(answer: Answer): Ending["error"] {
  if (answer.bodyEnd - answer.bodyStart > MAX_ERROR_BYTES)
    return { code: undefined, message: "[error larger than 64 KiB]" };
  const code = Number(answer.text("code"));
  return { code: Number.isFinite(code) ? code : undefined, message: answer.string("message") ?? "" };
}
