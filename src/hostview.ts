/**
 * What a server learns of the host: less what policy forbids the server to ask, so that it need not try in vain. Its
 * question would be refused all the same.
 */
import type { QuestionKind } from "./config/types.ts";
import type { Policy, PolicyCaller } from "./pipeline/policy/policy.ts";
import type { Connection } from "./upstream/connection.ts";
import type { HostView } from "./upstream/handshake.ts";
import type { Frame } from "./wire/frame.ts";
import { rowOf } from "./wire/methods.ts";

type Capabilities = Readonly<Record<string, unknown>>;

const QUESTIONS: readonly QuestionKind[] = ["sampling", "elicitation", "roots"];

export function hostView(
  policy: Policy,
  server: string,
  caller: PolicyCaller,
  host: { readonly capabilities: Capabilities; readonly staticRoots: boolean },
): HostView {
  const capabilities: Record<string, unknown> = { ...host.capabilities };
  for (const question of QUESTIONS) if (forbids(policy, server, question, caller)) delete capabilities[question];
  return { capabilities, staticRoots: host.staticRoots && !forbids(policy, server, "roots", caller) };
}

/** roots/list_changed goes to servers that were told of it; what MCP does not know goes to all, as it came. */
export function passToServers(
  frame: Frame,
  capabilities: Capabilities | undefined,
  connections: readonly Connection[],
  policy: Policy,
  caller: PolicyCaller,
): void {
  const roots = frame.method === "notifications/roots/list_changed";
  if (!roots && rowOf(frame.method!) !== undefined) return;
  const declared = capabilities?.roots as { listChanged?: unknown } | undefined;
  if (roots && declared?.listChanged !== true) return;
  for (const connection of connections) {
    if (!roots || !forbids(policy, connection.name, "roots", caller)) connection.notify([frame.bytes]);
  }
}

function forbids(policy: Policy, server: string, question: QuestionKind, caller: PolicyCaller): boolean {
  return policy.decideQuestion(server, question, caller).effect === "deny";
}
