/**
 * What goes wrong over HTTP, as LegErrors that a person can act on, and the one decision that matters behind them:
 * whether the server certainly did not take the request (`delivered: "no"`). No secret is ever in a message: of an
 * address only origin and path are shown, bodies are redacted and cut.
 */
import { LegError } from "../../wire/leg.ts";
import type { ResponseHeaders } from "./http-channel.ts";
import { REDACTION_MARGIN, shorten } from "./text.ts";

const SNIPPET_LIMIT = 200;

export interface Wording {
  readonly url: URL;
  redact(text: string): string;
}

/** The address without what may be secret: user, password, query. */
export function shown(url: URL): string {
  return url.origin + url.pathname;
}

export function snippet(body: Buffer, { redact }: Wording): string {
  const kept = body.subarray(0, SNIPPET_LIMIT + REDACTION_MARGIN);
  return shorten(kept, { limit: SNIPPET_LIMIT, omitted: body.length - kept.length, redact });
}

function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  return typeof code === "string" ? code : "";
}

function cause(error: Error, url: URL): string {
  const code = codeOf(error);
  const { host, hostname } = url;
  if (code === "ECONNREFUSED") return `connection refused by ${host}: is the server running?`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `host not found: ${hostname}`;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") return `no connection to ${host} within 10 seconds`;
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return `${host} cannot be reached from here (${code})`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return (
      `the certificate of ${host} is not trusted (${code}): if it belongs to a private authority, start Switchyard ` +
      "with NODE_EXTRA_CA_CERTS set to that authority's certificate file"
    );
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) return `${host} does not speak TLS (${code})`;
  if (code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET") return `${host} closed the connection`;
  return `no answer from ${host} (${[error.message, code].filter((part) => part !== "").join(", ")})`;
}

export function networkError(error: Error, started: boolean, { url, redact }: Wording): LegError {
  const text = redact(cause(error, url));
  return started
    ? new LegError("network", `connection lost, outcome unknown: ${text}`, { delivered: "unknown", cause: error })
    : new LegError("network", text, { delivered: "no", cause: error });
}

export function unauthorized(status: number, { url }: Wording): LegError {
  const message =
    status === 401
      ? `HTTP 401 from ${shown(url)}: the server wants a login or another token in "headers"`
      : `HTTP 403 from ${shown(url)}: the server refuses access (are the credentials in "headers" right?)`;
  return new LegError("unauthorized", message, { delivered: "no", status });
}

export function sessionLost(status: number, delivered: "no" | "unknown"): LegError {
  return new LegError("session-lost", `the server no longer knows the session (HTTP ${status})`, { delivered, status });
}

/** A status of 300 or above that means nothing more particular. */
export function statusError(status: number, headers: ResponseHeaders, body: Buffer, wording: Wording): LegError {
  const { url } = wording;
  if (status >= 300 && status < 400) {
    const message = `HTTP ${status} from ${shown(url)}: it redirects to ${target(headers, url)}. Redirects are not followed; set the entry's "url" to the final address`;
    return new LegError("status", message, { delivered: "unknown", status });
  }
  const text = snippet(body, wording);
  const message = `HTTP ${status} from ${shown(url)}${text === "" ? "" : `: ${text}`}`;
  return new LegError("status", message, { delivered: "unknown", status });
}

function target(headers: ResponseHeaders, url: URL): string {
  const location = headers["location"];
  try {
    return new URL(String(location), url).origin;
  } catch {
    return "nowhere";
  }
}

export function badAnswer(what: string, status: number, body: Buffer, wording: Wording): LegError {
  const text = snippet(body, wording);
  const message = `HTTP ${status} from ${shown(wording.url)}: ${what}${text === "" ? "" : `: ${text}`}`;
  return new LegError("bad-answer", message, { delivered: "unknown", status });
}

/** A refusal of the session in the words of servers that answer 400 where the specification wants 404. */
export function deniesSession(body: Buffer): boolean {
  const text = body.subarray(0, 4096).toString("utf8");
  return /session/i.test(text) && /not found|invalid|no valid|missing|expired|required|unknown|terminated/i.test(text);
}
