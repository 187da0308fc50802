/**
 * ONE ROW PER MCP METHOD: what it is, who sends it, who answers it, where its name sits. Router, policy, audit and both
 * handshakes read the row instead of switching on the method, so a new method is one new row.
 * Source: the `ClientRequest`, `ServerRequest`, `ClientNotification` and `ServerNotification` unions of the schemas of
 * 2025-11-25 and 2026-07-28 (spec.md §2.1).
 */
import type { ItemKind } from "../exchange.ts";

export type Era = "legacy" | "modern";

/** Who deals with a request. */
export type Route =
  /** The leg itself: initialize, ping, server/discover. */
  | "leg"
  /** Every server contributes one list. */
  | "list"
  /** The one server that owns the item named in the params. */
  | "item"
  /** As "item", found through `ref`. */
  | "completion"
  /** As "item", counted. */
  | "subscription"
  /** Every server that logs is told. */
  | "level"
  /** The host, or its user. */
  | "host"
  /** Known, but not served in this version: answered -32601. */
  | "none";

export type Capability = "tools" | "prompts" | "resources" | "logging" | "completions" | "subscribe" | "tasks";

export interface MethodRow {
  readonly method: string;
  readonly type: "request" | "notification";
  readonly from: "host" | "server" | "both";
  readonly eras: readonly Era[];
  readonly route: Route;
  /** Writes an audit record (interface.md: everything that names or lists something). */
  readonly audited: boolean;
  readonly kind: ItemKind | undefined;
  /** The member of `params` with the name or URI. */
  readonly nameAt: "name" | "uri" | undefined;
  /** The member of a list's result that holds the items. */
  readonly listKey: "tools" | "prompts" | "resources" | "resourceTemplates" | undefined;
  /** What the server (or, for questions, the host) must have declared. */
  readonly capability: Capability | undefined;
}

const BOTH: readonly Era[] = ["legacy", "modern"];
const LEGACY: readonly Era[] = ["legacy"];
const MODERN: readonly Era[] = ["modern"];

function request(
  method: string,
  from: MethodRow["from"],
  eras: readonly Era[],
  route: Route,
  more: Partial<Pick<MethodRow, "kind" | "nameAt" | "listKey" | "capability">> = {},
): MethodRow {
  return {
    method,
    type: "request",
    from,
    eras,
    route,
    audited: route !== "leg" && route !== "level" && route !== "none",
    kind: more.kind,
    nameAt: more.nameAt,
    listKey: more.listKey,
    capability: more.capability,
  };
}

function notification(method: string, from: MethodRow["from"], eras: readonly Era[]): MethodRow {
  return {
    method,
    type: "notification",
    from,
    eras,
    route: "none",
    audited: false,
    kind: undefined,
    nameAt: undefined,
    listKey: undefined,
    capability: undefined,
  };
}

const ROWS: readonly MethodRow[] = [
  request("initialize", "host", LEGACY, "leg"),
  request("ping", "both", LEGACY, "leg"),
  request("server/discover", "host", MODERN, "leg"),
  request("logging/setLevel", "host", LEGACY, "level", { capability: "logging" }),

  request("tools/list", "host", BOTH, "list", { kind: "tool", listKey: "tools", capability: "tools" }),
  request("tools/call", "host", BOTH, "item", { kind: "tool", nameAt: "name", capability: "tools" }),
  request("prompts/list", "host", BOTH, "list", { kind: "prompt", listKey: "prompts", capability: "prompts" }),
  request("prompts/get", "host", BOTH, "item", { kind: "prompt", nameAt: "name", capability: "prompts" }),
  request("resources/list", "host", BOTH, "list", { kind: "resource", listKey: "resources", capability: "resources" }),
  request("resources/templates/list", "host", BOTH, "list", {
    kind: "resource",
    listKey: "resourceTemplates",
    capability: "resources",
  }),
  request("resources/read", "host", BOTH, "item", { kind: "resource", nameAt: "uri", capability: "resources" }),
  request("resources/subscribe", "host", LEGACY, "subscription", {
    kind: "resource",
    nameAt: "uri",
    capability: "subscribe",
  }),
  request("resources/unsubscribe", "host", LEGACY, "subscription", {
    kind: "resource",
    nameAt: "uri",
    capability: "subscribe",
  }),
  request("completion/complete", "host", BOTH, "completion", { capability: "completions" }),
  request("subscriptions/listen", "host", MODERN, "none"),

  // Tasks: experimental in 2025-11-25 (both sides may hold them), an extension in 2026-07-28. Not advertised here.
  request("tasks/get", "both", BOTH, "none", { capability: "tasks" }),
  request("tasks/result", "both", LEGACY, "none", { capability: "tasks" }),
  request("tasks/list", "both", LEGACY, "none", { capability: "tasks" }),
  request("tasks/cancel", "both", BOTH, "none", { capability: "tasks" }),
  request("tasks/update", "host", MODERN, "none", { capability: "tasks" }),

  request("sampling/createMessage", "server", LEGACY, "host"),
  request("elicitation/create", "server", LEGACY, "host"),
  request("roots/list", "server", LEGACY, "host"),

  notification("notifications/initialized", "host", LEGACY),
  notification("notifications/roots/list_changed", "host", LEGACY),
  notification("notifications/cancelled", "both", BOTH),
  notification("notifications/progress", "both", BOTH),
  notification("notifications/message", "server", BOTH),
  notification("notifications/tools/list_changed", "server", BOTH),
  notification("notifications/prompts/list_changed", "server", BOTH),
  notification("notifications/resources/list_changed", "server", BOTH),
  notification("notifications/resources/updated", "server", BOTH),
  notification("notifications/elicitation/complete", "server", LEGACY),
  notification("notifications/tasks/status", "both", LEGACY),
  notification("notifications/tasks", "server", MODERN),
  notification("notifications/subscriptions/acknowledged", "server", MODERN),
];

const BY_METHOD = new Map(ROWS.map((row) => [row.method, row]));

/** The row of a method, or undefined for one that MCP does not have. */
export function rowOf(method: string): MethodRow | undefined {
  return BY_METHOD.get(method);
}

/** Every row, for tests and documentation. */
export function allRows(): readonly MethodRow[] {
  return ROWS;
}
