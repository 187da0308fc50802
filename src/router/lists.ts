/**
 * The four lists of MCP, and what the catalogue needs of a server to have them. Everything that differs between the
 * lists stands in these rows; the rest of the catalogue is written once.
 */
import type { ItemKind } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";

export type ListMethod = "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list";

/** Which `list_changed` a list belongs to. Templates have none of their own (spec.md §3.4). */
export type Notice = "tools" | "prompts" | "resources";

export interface ListRow {
  readonly method: ListMethod;
  /** The member of the result that holds the items. */
  readonly member: "tools" | "prompts" | "resources" | "resourceTemplates";
  /** The member of an item that tells it from the others. */
  readonly key: "name" | "uri" | "uriTemplate";
  readonly kind: ItemKind;
  readonly notice: Notice;
  /** Public names are made of the keys; else the keys are URIs and stay as they are. */
  readonly named: boolean;
  /**
   * Walked page by page as the host asks: there may be a million resources. The others are walked to the end at once,
   * because a name depends on its twins, and a URI on every template.
   */
  readonly lazy: boolean;
}

export const LISTS: readonly ListRow[] = [
  { method: "tools/list", member: "tools", key: "name", kind: "tool", notice: "tools", named: true, lazy: false },
  {
    method: "prompts/list",
    member: "prompts",
    key: "name",
    kind: "prompt",
    notice: "prompts",
    named: true,
    lazy: false,
  },
  {
    method: "resources/list",
    member: "resources",
    key: "uri",
    kind: "resource",
    notice: "resources",
    named: false,
    lazy: true,
  },
  {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    kind: "resource",
    notice: "resources",
    named: false,
    lazy: false,
  },
];

const BY_METHOD = new Map(LISTS.map((row) => [row.method, row]));

export function listRow(method: ListMethod): ListRow {
  return BY_METHOD.get(method)!;
}

/** One server as the catalogue sees it; `proxy.ts` makes it from a connection. It lives as long as its entry is unchanged. */
export interface Source {
  /** Key in `mcpServers`. */
  readonly name: string;
  /** Position in the configuration. */
  readonly rank: number;
  readonly ready: boolean;
  /** Whether the server declares that capability; undefined while it was never connected. */
  offers(method: ListMethod): boolean | undefined;
  /** Resolves when the server is ready or its current attempt has failed. Never rejects. */
  settled(): Promise<void>;
  /**
   * One page. `cursorText` is the raw JSON text of the cursor string, or undefined for the first page. Resolves with the
   * response frame, a result or a JSON-RPC error; rejects with a Fault when the server is gone.
   */
  page(method: ListMethod, cursorText: string | undefined): Promise<Frame>;
}
