/**
 * Records as OpenTelemetry spans in OTLP/JSON: one span a request, seen from the side that was asked.
 *
 * Names are those of the semantic conventions for MCP and GenAI in `open-telemetry/semantic-conventions-genai` v0.1.0
 * (the same as in semantic-conventions 1.39 to 1.41, where they stood before). Their status is Development: they may
 * change, and so may these. What they have no name for stands under `switchyard.`. What the record does not say is left
 * out: `network.transport`, `mcp.protocol.version`, `server.address`. `mcp.session.id` is our own id of the host's
 * session, which on stdio has none on the wire.
 */
import { createHash } from "node:crypto";
import type { PlacedRecord } from "../../pipeline/audit/line.ts";

interface Attribute {
  readonly key: string;
  readonly value: object;
}

/** SPAN_KIND_SERVER: Switchyard received the request, whichever side it came from. */
const KIND_SERVER = 2;
const STATUS_ERROR = 2;
const WITH_URI: ReadonlySet<unknown> = new Set(["resources/read", "resources/subscribe", "resources/unsubscribe"]);

/** One `ExportTraceServiceRequest`, on one line. */
export function otlpRequest(spans: readonly object[], version: string): string {
  const resource = { attributes: attributes({ "service.name": "switchyard" }) };
  const scopeSpans = [{ scope: { name: "switchyard.audit", version }, spans }];
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] })}\n`;
}

/** `line`: its bytes, from which the ids are made, so that a second export makes the same ones. */
export function spanOf(record: PlacedRecord, line: Buffer): object {
  const hash = createHash("sha256").update(line).digest("hex");
  const [, trace, parent] = /^..-(.{32})-(.{16})-/.exec(string(record["traceparent"]) ?? "") ?? [];
  const endNs = BigInt(Date.parse(record.time)) * 1_000_000n;
  const tookNs = BigInt(Math.round(number(record["durationMs"]) * 1_000_000));
  const method = string(record["method"]) ?? "";
  const target = method === "tools/call" || method === "prompts/get" ? nameOf(record) : undefined;
  const error = errorType(record);
  return {
    traceId: trace ?? hash.slice(0, 32),
    spanId: hash.slice(32, 48),
    ...(parent === undefined ? {} : { parentSpanId: parent }),
    name: target === undefined ? method : `${method} ${target}`,
    kind: KIND_SERVER,
    startTimeUnixNano: String(endNs - tookNs),
    endTimeUnixNano: String(endNs),
    attributes: attributes({ ...conventional(record, method, error), ...own(record) }),
    status: error === undefined ? {} : { code: STATUS_ERROR, ...message(record) },
  };
}

function conventional(record: PlacedRecord, method: string, error: string | undefined): Record<string, unknown> {
  const { session, requestId, arguments: args, result } = record;
  const isTool = method === "tools/call";
  return {
    "mcp.method.name": method,
    "mcp.session.id": session,
    "mcp.resource.uri": WITH_URI.has(method) ? nameOf(record) : undefined,
    "gen_ai.operation.name": isTool ? "execute_tool" : undefined,
    "gen_ai.tool.name": isTool ? nameOf(record) : undefined,
    "gen_ai.prompt.name": method === "prompts/get" ? nameOf(record) : undefined,
    "gen_ai.tool.call.arguments": isTool && args !== undefined ? JSON.stringify(args) : undefined,
    "gen_ai.tool.call.result": isTool && result !== undefined ? JSON.stringify(result) : undefined,
    "jsonrpc.request.id": requestId === undefined ? undefined : String(requestId),
    "rpc.response.status_code": errorCode(record),
    "error.type": error,
    "enduser.id": record["principal"],
  };
}

function own(record: PlacedRecord): Record<string, unknown> {
  const { client, decision, truncated } = record as Readonly<Record<string, Record<string, unknown> | undefined>>;
  return {
    "switchyard.seq": record.seq,
    "switchyard.direction": record["direction"],
    "switchyard.era": record["era"],
    "switchyard.client.name": client?.["name"],
    "switchyard.client.version": client?.["version"],
    "switchyard.server": record["server"],
    "switchyard.original_name": record["name"],
    "switchyard.decision.effect": decision?.["effect"],
    "switchyard.decision.rule": decision?.["rule"],
    "switchyard.decision.reason": decision?.["reason"],
    "switchyard.outcome": record["outcome"],
    "switchyard.queued_ms": record["queuedMs"],
    "switchyard.upstream_ms": record["upstreamMs"],
    "switchyard.request_bytes": record["requestBytes"],
    "switchyard.response_bytes": record["responseBytes"],
    "switchyard.truncated_from_bytes": truncated?.["fromBytes"],
    "switchyard.arguments_sha256": record["argumentsSha256"],
  };
}

/** What the asker called it; that is what its own spans have. */
function nameOf(record: PlacedRecord): string | undefined {
  return string(record["publicName"]) ?? string(record["name"]);
}

/** The code if there is one, "tool_error" for a result that says so, else how it ended. */
function errorType(record: PlacedRecord): string | undefined {
  const outcome = string(record["outcome"]);
  return errorCode(record) ?? (outcome === "ok" ? undefined : outcome);
}

function errorCode({ error }: PlacedRecord): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? String(code) : undefined;
}

function message({ error }: PlacedRecord): { message?: string } {
  const text = string(((error ?? {}) as { message?: unknown }).message);
  return text === undefined ? {} : { message: text };
}

function attributes(values: Readonly<Record<string, unknown>>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]): Attribute[] => {
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    if (typeof value !== "number") return [];
    // 64 bit integers are texts in OTLP/JSON; a time is a double even where it happens to be whole.
    const whole = Number.isSafeInteger(value) && !key.endsWith("_ms");
    return [{ key, value: whole ? { intValue: String(value) } : { doubleValue: value } }];
  });
}

function string(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
