/** Configured target -> the leg that reaches it. The only file of this folder that others need, beside `kill.ts`. */
import type { HttpTarget, StdioTarget } from "../../config/types.ts";
import type { Log } from "../../log.ts";
import type { Leg } from "../../wire/leg.ts";
import { createHttpLeg } from "./http.ts";
import { createHttpAutoLeg } from "./http-auto.ts";
import { createSseLeg } from "./sse.ts";
import { createStdioLeg } from "./stdio.ts";

export interface LegOptions {
  /** Key in `mcpServers`, for the log. */
  readonly server: string;
  readonly target: StdioTarget | HttpTarget;
  readonly log: Log;
  /** 0 = no limit. */
  readonly maxMessageBytes: number;
  /** Takes secrets out of what a server wrote before it is logged or put into an error. */
  redact(text: string): string;
  /** The safe base of a child's environment and the proxy variables come from it; ours, unless it is set. */
  readonly baseEnv?: NodeJS.ProcessEnv;
}

/** A leg lives once: after `closed` make another. */
export function createLeg(options: LegOptions): Leg {
  const { target } = options;
  if (target.type === "stdio") return createStdioLeg({ ...options, target });
  const http = { ...options, target };
  if (target.type === "http") return createHttpLeg(http);
  return target.type === "sse" ? createSseLeg(http) : createHttpAutoLeg(http);
}
