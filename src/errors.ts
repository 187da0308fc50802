/**
 * Every error Switchyard itself makes. Typed inside; turned into JSON-RPC numbers in `wire/codes.ts` alone.
 * An error that came from a server is not one of these: it is relayed as the frame it arrived in.
 */

/** What went wrong, as a stable word. It travels to the host in `error.data.code`. */
export type FaultCode =
  | "PARSE_ERROR"
  | "INVALID_REQUEST"
  | "METHOD_NOT_FOUND"
  | "INVALID_PARAMS"
  | "INVALID_CURSOR"
  | "UNKNOWN_ITEM"
  | "RESOURCE_NOT_FOUND"
  | "NOT_SUPPORTED"
  | "SERVER_UNAVAILABLE"
  | "SERVER_CLOSED"
  | "NEEDS_LOGIN"
  | "POLICY_DENIED"
  | "RATE_LIMITED"
  | "NOT_APPROVED"
  | "APPROVAL_UNAVAILABLE"
  | "DEADLINE_EXCEEDED"
  | "QUEUE_FULL"
  | "MESSAGE_TOO_LARGE"
  | "BAD_ANSWER"
  | "AUDIT_UNAVAILABLE"
  | "CANCELLED"
  | "SHUTTING_DOWN"
  | "INTERNAL";

export interface FaultDetail {
  /** Key of the server (its name in `mcpServers`) that the fault belongs to. */
  server?: string;
  /** Further members of `error.data`. Never a secret: it goes to the host. */
  data?: Record<string, unknown>;
  /**
   * True only if the request certainly never reached a server, so that sending it again cannot run it twice.
   * Decided where the error is made, never guessed from its text.
   */
  retrySafe?: boolean;
  cause?: unknown;
}

/** A fault of Switchyard's own, on its way to whoever asked. The message is for a person: what failed, where, what to do. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly server: string | undefined;
  readonly data: Record<string, unknown> | undefined;
  readonly retrySafe: boolean;

  constructor(code: FaultCode, message: string, detail: FaultDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.server = detail.server;
    this.data = detail.data;
    this.retrySafe = detail.retrySafe ?? false;
  }
}

/** A mistake in the configuration file or on the command line: exit code 2, no stack trace. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * The one answer for a name that does not exist and for one that the policy hides: the two cannot be told apart
 * (interface.md, Policy). `kind` is "tool", "prompt" or "resource".
 */
export function unknownItem(kind: "tool" | "prompt" | "resource", publicName: string): Fault {
  if (kind === "resource") {
    return new Fault("RESOURCE_NOT_FOUND", `Resource not found: ${publicName}`, { data: { uri: publicName } });
  }
  return new Fault("UNKNOWN_ITEM", `Unknown ${kind}: ${publicName}`);
}

/** The one answer to a server's question that the host did not declare, and to one that policy forbids. */
export function undeclared(method: string, capability: string): Fault {
  return new Fault("METHOD_NOT_FOUND", `Method not found: ${method} (this host did not declare ${capability})`);
}

/** Its item is in the list, and there is nothing to hide: whoever calls is told that it is the arguments. */
export function refusedCall(kind: "tool" | "prompt" | "resource", publicName: string): Fault {
  return new Fault("POLICY_DENIED", `Refused by policy: ${kind} ${publicName} may not be used with these arguments`);
}
