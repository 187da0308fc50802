/** Requests of our own to a server: on behalf of a host, but not of one of its requests. */
import type { ServerPort } from "./router/ports.ts";
import { rewrite } from "./wire/edits.ts";
import { requestFrame } from "./wire/splice.ts";

/** A server that was started anew is told again what is watched. */
export function watchAgain(port: ServerPort, uri: string): void {
  const frame = requestFrame("resources/subscribe", { uri });
  port
    .request({
      method: frame.method!,
      compose: (id) => rewrite(frame, id, []),
      cancellation: undefined,
      timeouts: undefined,
    })
    .catch((error: unknown) => port.note(`resources/subscribe ${uri}`, error));
}

/** Does this server have the URI? Asked by reading, the one request without side effects by intent. */
export async function hasResource(port: ServerPort, uri: string): Promise<boolean> {
  const frame = requestFrame("resources/read", { uri });
  const { timeouts } = port.config;
  const answer = await port
    .request({ method: frame.method!, compose: (id) => rewrite(frame, id, []), cancellation: undefined, timeouts })
    .catch(() => undefined);
  return answer !== undefined && !answer.isError && answer.text("contents") !== "[]";
}

/** One round trip that asks nothing. Rejects with a Fault as any request would. */
export async function knock(port: ServerPort): Promise<void> {
  const frame = requestFrame("ping", {});
  const { timeouts } = port.config;
  await port.request({ method: "ping", compose: (id) => rewrite(frame, id, []), cancellation: undefined, timeouts });
}
