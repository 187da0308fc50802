/**
 * The one place where a Fault becomes a JSON-RPC error. Codes: JSON-RPC 2.0 and MCP 2025-11-25 (spec.md §1.19).
 * Every error of ours carries `data.source: "switchyard"`, so that a host can tell it from a server's.
 */
import type { Fault, FaultCode } from "../errors.ts";

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export const RESOURCE_NOT_FOUND = -32002;
export const URL_ELICITATION_REQUIRED = -32042;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

const NUMBERS: Readonly<Record<FaultCode, number>> = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
  INVALID_CURSOR: INVALID_PARAMS,
  UNKNOWN_ITEM: INVALID_PARAMS,
  RESOURCE_NOT_FOUND,
  NOT_SUPPORTED: INVALID_PARAMS,
  SERVER_UNAVAILABLE: -32603,
  SERVER_CLOSED: -32603,
  NEEDS_LOGIN: -32603,
  POLICY_DENIED: INVALID_PARAMS,
  RATE_LIMITED: -32603,
  NOT_APPROVED: -32603,
  APPROVAL_UNAVAILABLE: -32603,
  DEADLINE_EXCEEDED: -32603,
  QUEUE_FULL: -32603,
  MESSAGE_TOO_LARGE: -32603,
  BAD_ANSWER: -32603,
  AUDIT_UNAVAILABLE: -32603,
  CANCELLED: -32603,
  SHUTTING_DOWN: -32603,
  INTERNAL: -32603,
};

export function faultToError(fault: Fault): RpcError {
  return {
    code: NUMBERS[fault.code],
    message: fault.message,
    data: {
      ...fault.data,
      source: "switchyard",
      code: fault.code,
      ...(fault.server === undefined ? {} : { server: fault.server }),
    },
  };
}
