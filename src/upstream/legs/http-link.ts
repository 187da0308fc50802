/** What the parts of an HTTP leg (`http-post.ts`, `http-stream.ts`, `http-listen.ts`, `sse.ts`) know of the leg they belong to. */
import type { Log } from "../../log.ts";
import type { Frame } from "../../wire/frame.ts";
import type { LegError } from "../../wire/leg.ts";
import type { HttpLegOptions } from "./http.ts";
import { type HttpChannel, openChannel } from "./http-channel.ts";
import type { Wording } from "./http-errors.ts";
import { HeaderLines, parseUrl } from "./http-headers.ts";

/** One Streamable HTTP session as its requests name it. A request keeps the one it was sent in. */
export interface HttpSession {
  /** `Mcp-Session-Id`; undefined before the server gave one, and for servers that give none. */
  id: string | undefined;
  /** `MCP-Protocol-Version`; undefined before it was negotiated. */
  revision: string | undefined;
  /** The server has answered 404 to it. */
  lost: boolean;
}

export interface HttpLink extends Wording {
  readonly server: string;
  readonly log: Log;
  /** 0 = no limit. */
  readonly maxBytes: number;
  readonly channel: HttpChannel;
  readonly headers: HeaderLines;
  /** These two say nothing once the leg is closed. */
  /** `of`: the request of ours on whose stream it came. */
  frame(frame: Frame, of?: number): void;
  failed(id: number, error: LegError): void;
  sessionLost(): void;
}

/** Checks the address and the headers, and loads undici. Rejects with a LegError. */
export async function connectLink(
  options: HttpLegOptions,
  events: Pick<HttpLink, "frame" | "failed" | "sessionLost">,
): Promise<HttpLink> {
  const { server, target, log, maxMessageBytes, fetchDispatcher, baseEnv } = options;
  const url = parseUrl(target.url);
  const headers = new HeaderLines(target.headers, url);
  if (headers.ignored.length > 0) {
    log.warn({ server, headers: headers.ignored }, "configured headers that the transport sets itself are ignored");
  }
  const env = baseEnv ?? process.env;
  const channel = await openChannel(
    fetchDispatcher === undefined ? { url, env } : { url, env, dispatcher: fetchDispatcher },
  );
  const redact = (text: string): string => options.redact(text);
  return { ...events, server, log, url, headers, channel, redact, maxBytes: maxMessageBytes };
}

/** `retry` where the server sets none. */
export const DEFAULT_RETRY_MS = 1000;
/** A server's `retry` is respected (R73) as far as a timer goes. */
export const MAX_RETRY_MS = 24 * 60 * 60 * 1000;

/**
 * How long to wait before taking up a stream again: `retry` as the server wants it the first time, twice as long after
 * each attempt that brought nothing, up to `ceilingMs`, and then with a jitter so that many do not come at once.
 */
export function reconnectDelay(retryMs: number, failures: number, ceilingMs: number): number {
  if (failures === 0) return retryMs;
  const grown = Math.max(retryMs, Math.min(retryMs * 2 ** failures, ceilingMs));
  return grown * (1 + Math.random() / 5);
}
