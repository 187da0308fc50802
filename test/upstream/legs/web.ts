/** A bare HTTP server in this process, whose every answer the test writes itself. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The id and method of the JSON-RPC message in the body. */
  readonly id: number | undefined;
  readonly rpc: string | undefined;
  /** performance.now() */
  readonly at: number;
}

export interface Web extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  /** Requests by HTTP method, and by JSON-RPC method. */
  of(method: string, rpc?: string): Seen[];
  close(): Promise<void>;
}

export interface Reply {
  json(value: unknown, headers?: Record<string, string>, status?: number): void;
  text(status: number, type?: string, body?: string, headers?: Record<string, string>): void;
  /** Begins an event stream; `write` adds raw text to it. */
  events(headers?: Record<string, string>): Reply;
  write(text: string): Reply;
  /** One message as an event, with an id if given. */
  message(value: unknown, id?: string): Reply;
  end(): void;
  /** Cuts the connection, after what was written has gone out. */
  cut(): void;
  readonly raw: ServerResponse;
}

export type Answer = (seen: Seen, reply: Reply, count: number) => void;

function replyOn(raw: ServerResponse): Reply {
  const reply: Reply = {
    raw,
    json: (value, headers = {}, status = 200) => reply.text(status, "application/json", JSON.stringify(value), headers),
    text(status, type, body, headers = {}) {
      raw.writeHead(status, { ...(type === undefined ? {} : { "content-type": type }), ...headers });
      raw.end(body);
    },
    events(headers = {}) {
      raw.writeHead(200, { "content-type": "text/event-stream", ...headers });
      raw.flushHeaders();
      return reply;
    },
    write(text) {
      raw.write(text);
      return reply;
    },
    message: (value, id) => reply.write(`${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`),
    end: () => void raw.end(),
    cut: () => void setImmediate(() => raw.socket?.destroySoon()),
  };
  return reply;
}

export async function startWeb(answer: Answer, options: { tls?: ServerOptions; port?: number } = {}): Promise<Web> {
  const seen: Seen[] = [];
  const listener: RequestListener = async (request, response) => {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString("utf8");
    const message = (body.startsWith("{") ? JSON.parse(body) : {}) as { id?: number; method?: string };
    const { method = "", url = "", headers } = request;
    const entry = { method, path: url, headers, body, id: message.id, rpc: message.method, at: performance.now() };
    seen.push(entry);
    answer(entry, replyOn(response), seen.length);
  };
  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  server.on("error", () => {});
  server.on("tlsClientError", () => {});
  server.listen(options.port ?? 0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}/mcp`,
    port,
    seen,
    of: (method, rpc) => seen.filter((one) => one.method === method && (rpc === undefined || one.rpc === rpc)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A result for a request. */
export function result(seen: Seen, value: unknown = {}): unknown {
  return { jsonrpc: "2.0", id: seen.id, result: value };
}

/** Answers what the handshake needs (initialize with the session, 202, no GET stream, DELETE); the rest is `answer`'s. */
export function withHandshake(session: string | undefined, answer: Answer): Answer {
  const headers: Record<string, string> = session === undefined ? {} : { "mcp-session-id": session };
  return (seen, reply, count) => {
    if (seen.rpc === "initialize") return reply.json(result(seen), headers);
    if (seen.rpc === "notifications/initialized") return reply.text(202);
    if (seen.method === "DELETE") return reply.text(200);
    if (seen.method === "GET" && seen.headers["last-event-id"] === undefined) return reply.text(405);
    answer(seen, reply, count);
  };
}
