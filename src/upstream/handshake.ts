/**
 * What we tell a legacy server about our side, and what we take from its answer.
 * Towards a server we declare what this host declared, intersected with what we can carry (spec.md §4.1): nothing is
 * added that the host did not say, so a server never asks what nobody can answer.
 */

import { Fault } from "../errors.ts";
import { rewrite } from "../wire/edits.ts";
import type { Frame } from "../wire/frame.ts";
import type { Leg } from "../wire/leg.ts";
import { isObject } from "../wire/objects.ts";
import { requestFrame } from "../wire/splice.ts";
import { isLegacyRevision, LATEST_LEGACY } from "../wire/version.ts";
import type { RequestSpec } from "./requests.ts";

/** What a host said in `initialize`, as far as a server is told of it. */
export interface HostView {
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** True if the configuration has static `roots`: they stand in for a host without. */
  readonly staticRoots: boolean;
}

/** What a server said in its InitializeResult. */
export interface ServerHello {
  readonly revision: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly info: { readonly name: string; readonly version: string; readonly title: string | undefined };
  readonly instructions: string | undefined;
}

const UI_EXTENSION = "io.modelcontextprotocol/ui";

function declaredCapabilities(host: HostView): Record<string, unknown> {
  const { roots, sampling, elicitation, extensions } = host.capabilities;
  const declared: Record<string, unknown> = {};
  if (isObject(roots)) declared.roots = roots.listChanged === true ? { listChanged: true } : {};
  else if (host.staticRoots) declared.roots = {};
  if (isObject(sampling)) declared.sampling = sampling;
  if (isObject(elicitation)) declared.elicitation = elicitation;
  // Not declared: tasks (a server's task at the host is not carried) and experimental (meaning unknown).
  if (isObject(extensions) && isObject(extensions[UI_EXTENSION])) {
    declared.extensions = { [UI_EXTENSION]: extensions[UI_EXTENSION] };
  }
  return declared;
}

/** Params of the `initialize` that goes to a server. */
function initializeParams(host: HostView, version: string): Record<string, unknown> {
  return {
    protocolVersion: LATEST_LEGACY,
    capabilities: declaredCapabilities(host),
    clientInfo: { name: "switchyard", title: "Switchyard", version },
  };
}

/** Reads an InitializeResult; a string is the reason why it cannot be used. */
function readHello(result: unknown): ServerHello | string {
  if (!isObject(result)) return "its answer to initialize is not an object";
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  if (typeof protocolVersion !== "string" || !isLegacyRevision(protocolVersion)) {
    return `it speaks revision ${JSON.stringify(protocolVersion)}, which this version of Switchyard does not`;
  }
  const info = isObject(serverInfo) ? serverInfo : {};
  return {
    revision: protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    info: {
      name: typeof info.name === "string" ? info.name : "unknown",
      version: typeof info.version === "string" ? info.version : "unknown",
      title: typeof info.title === "string" ? info.title : undefined,
    },
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** `initialize`, its answer, `initialized`. Rejects with a Fault whose text says what the server did wrong. */
export async function shakeHands(
  leg: Leg,
  send: (spec: RequestSpec) => Promise<Frame>,
  host: HostView,
  version: string,
): Promise<ServerHello> {
  const frame = requestFrame("initialize", initializeParams(host, version));
  const compose = (id: number): Buffer[] => rewrite(frame, id, []);
  const answer = await send({ method: "initialize", compose, cancellation: undefined, timeouts: undefined });
  if (answer.isError) {
    const { code, message, data } = answer.body() as { code?: unknown; message?: unknown; data?: unknown };
    const more = data === undefined ? "" : ` ${JSON.stringify(data)}`;
    throw new Fault("SERVER_UNAVAILABLE", `it refused initialize: ${String(code)} ${String(message)}${more}`);
  }
  const hello = readHello(answer.body());
  if (typeof hello === "string") throw new Fault("SERVER_UNAVAILABLE", hello);
  leg.negotiated?.(hello.revision);
  const text = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  leg.send({ chunks: [Buffer.from(text)], kind: "notification", method: "notifications/initialized" });
  return hello;
}
