/** What a legacy host says of itself in `initialize`. */

import type { Frame } from "../wire/frame.ts";
import { objectOf } from "../wire/objects.ts";
import { negotiate } from "../wire/version.ts";

export interface HostFacts {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly client: { readonly name: string; readonly version: string };
  /** Negotiated, not what it asked for. */
  readonly revision: string;
}

/** Undefined where `protocolVersion` is missing: then there is nothing to negotiate. What else is missing is filled in. */
export function readFacts(initialize: Frame): HostFacts | undefined {
  const { protocolVersion, capabilities, clientInfo } = objectOf(initialize.body());
  if (typeof protocolVersion !== "string") return undefined;
  const { name, version } = objectOf(clientInfo);
  return {
    capabilities: objectOf(capabilities),
    client: {
      name: typeof name === "string" ? name : "unknown",
      version: typeof version === "string" ? version : "unknown",
    },
    revision: negotiate(protocolVersion),
  };
}
