/** The states of a connection and what a caller is told while it cannot be used. */
import { Fault } from "../errors.ts";

export type ConnectionState = "idle" | "connecting" | "ready" | "backoff" | "needs-login" | "draining" | "closed";

/** Why the last attempt failed and at which step: one line a server in log and reports. */
export interface Trouble {
  readonly stage: "spawn" | "initialize" | "auth" | "lost";
  readonly reason: string;
  readonly nextRetryMs: number | undefined;
}

export function unavailableFault(server: string, state: ConnectionState, trouble: Trouble | undefined): Fault {
  const { reason, nextRetryMs, stage } = trouble ?? {
    reason: "it is not connected",
    nextRetryMs: undefined,
    stage: "lost",
  };
  const detail = { server, retrySafe: true, data: { state, stage } };
  if (state === "needs-login") return new Fault("NEEDS_LOGIN", `server "${server}" needs a login: ${reason}`, detail);
  if (state === "closed" || state === "draining")
    return new Fault("SERVER_CLOSED", `server "${server}" was stopped`, detail);
  const next = nextRetryMs === undefined ? "" : `; it is tried again within ${Math.ceil(nextRetryMs / 1000)} s`;
  return new Fault("SERVER_UNAVAILABLE", `server "${server}" is not available: ${reason}${next}`, detail);
}
