/** Header lines of the requests to a server: what the entry configures, and what the transport needs. Pure. */
import { LegError } from "../../wire/leg.ts";

/** Set by the transport; a configured value would break it. */
const OURS: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "content-length", "mcp-session-id", "mcp-protocol-version", "last-event-id"],
  ...["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "expect"],
]);

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What a session id may be made of: visible ASCII (spec.md §1.17). */
export function isSessionId(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

export class HeaderLines {
  /** Configured headers that were left out because they are the transport's own. */
  readonly ignored: readonly string[];
  readonly #configured: readonly string[];

  /** Throws a LegError for a header that HTTP cannot carry. A value is never shown. */
  constructor(headers: Readonly<Record<string, string>>, url: URL) {
    const lines: string[] = [];
    const ignored: string[] = [];
    let authorized = false;
    let agent = false;
    for (const [name, value] of Object.entries(headers)) {
      const key = name.toLowerCase();
      if (!TOKEN.test(name)) throw refusal(`the header name ${JSON.stringify(name)} is not allowed in HTTP`);
      if (!VALUE.test(value)) throw refusal(`the value of the header ${name} holds characters that HTTP cannot carry`);
      if (OURS.has(key)) {
        ignored.push(name);
        continue;
      }
      authorized ||= key === "authorization";
      agent ||= key === "user-agent";
      lines.push(key, value.trim());
    }
    if (!authorized && (url.username !== "" || url.password !== "")) {
      const text = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      lines.push("authorization", `Basic ${Buffer.from(text).toString("base64")}`);
    }
    // Some gateways refuse a request without one.
    if (!agent) lines.push("user-agent", "mcp-switchyard");
    this.#configured = lines;
    this.ignored = ignored;
  }

  post(session: string | undefined, revision: string | undefined): string[] {
    const lines = ["accept", "application/json, text/event-stream", "content-type", "application/json"];
    return this.#add(lines, session, revision);
  }

  /** `lastEventId`: of the stream that is taken up again. */
  get(session: string | undefined, revision: string | undefined, lastEventId: string | undefined): string[] {
    const lines = ["accept", "text/event-stream", "cache-control", "no-cache"];
    if (lastEventId !== undefined) lines.push("last-event-id", lastEventId);
    return this.#add(lines, session, revision);
  }

  delete(session: string, revision: string | undefined): string[] {
    return this.#add([], session, revision);
  }

  #add(lines: string[], session: string | undefined, revision: string | undefined): string[] {
    if (session !== undefined) lines.push("mcp-session-id", session);
    if (revision !== undefined) lines.push("mcp-protocol-version", revision);
    lines.push(...this.#configured);
    return lines;
  }
}

function refusal(message: string): LegError {
  return new LegError("network", message, { delivered: "no" });
}

/** `url` of an entry. Throws a LegError that does not repeat what may be secret in it. */
export function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refusal('"url" is not a URL: it has to begin with http:// or https://');
  }
  if (url.protocol === "http:" || url.protocol === "https:") return url;
  throw refusal(`"url" has to begin with http:// or https://, not ${url.protocol}//`);
}

/** Media type without its parameters, in lower case; "" where there is none. */
export function mediaType(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const value = headers["content-type"];
  const text = Array.isArray(value) ? value[0] : value;
  return (text ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

export function isJson(type: string): boolean {
  return /^application\/(?:json|[\w.-]+\+json)$/.test(type);
}
