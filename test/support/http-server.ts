/**
 * A scripted server over HTTP, in this process, on a free port: Streamable HTTP at `/mcp` and, with `legacySse`, the old
 * HTTP+SSE at `/sse`. The same scripts as on stdio (behaviour.d.mts); what HTTP adds is in the options. Each session is
 * a server of its own (its counter, its lists).
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Behaviour, createBehaviour, type Script, type Step } from "./behaviour.mjs";
import { rawAt } from "./raw.mjs";
import type { Message } from "./record.ts";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as it came. */
  readonly body: string;
  /** Parsed body of a POST that is JSON. */
  readonly message?: Message;
  /** performance.now() */
  readonly at: number;
}

export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

export interface HttpOptions {
  /** How requests are answered: "json" (a call that sends more than its answer becomes SSE all the same) or "sse". Default json. */
  answer?: "json" | "sse";
  /** Default true: sessions with an id; false: none. */
  sessions?: boolean;
  /** The GET stream; an answer instead of "stream" for servers without one. Default: a stream. */
  get?: "stream" | HttpAnswer;
  /** Without `Authorization: Bearer TOKEN` every request gets 401. */
  token?: string;
  /** Refuses other values of MCP-Protocol-Version after initialize with 400. */
  onlyVersion?: string;
  /** SSE events get ids, and a stream can be taken up again with Last-Event-ID. `retryMs` is sent as `retry`. */
  resumable?: { retryMs?: number };
  /** Serves HTTP+SSE only: `/sse`, messages POSTed to the endpoint it names; POST to `/sse` or `/mcp` is 405. */
  legacySse?: boolean;
  /** Looks at every request first: an answer of its own, "cut" the connection, "hang", or undefined to go on as usual. */
  intercept?: (request: HttpRequest, count: number) => HttpAnswer | "cut" | "hang" | undefined;
  port?: number;
  /** Serves https:// with this certificate. */
  tls?: { key: Buffer; cert: Buffer };
}

export interface HttpServer extends AsyncDisposable {
  /** Of the MCP endpoint (`/mcp`, or `/sse` with legacySse). */
  readonly url: string;
  readonly port: number;
  readonly requests: HttpRequest[];
  /** Messages that came by POST; with `method`, those only ("" = responses). */
  received(method?: string): HttpRequest[];
  /** Ids of the sessions that live. */
  readonly sessions: string[];
  /** Forgets all sessions: their next request gets 404. Streams end. */
  loseSessions(): void;
  /** Runs steps in every session, on the GET stream (notifications, list changes). */
  run(steps: Step[]): Promise<void>;
  /** GET streams open now. */
  readonly streams: number;
  /** Cuts all open GET streams. */
  cutStreams(): void;
  close(): Promise<void>;
}

interface Stream {
  response: ServerResponse;
  name: string;
}

interface Session {
  id: string;
  behaviour: Behaviour;
  /** The standalone stream. */
  get: Stream | undefined;
  /** Open POST exchanges by raw id of their request. */
  posts: Map<string, Stream>;
  /** Sent to the standalone stream before it was open. */
  queue: string[];
  /** All events, for Last-Event-ID. */
  events: { id: string; stream: string; text: string; final: boolean }[];
}

export async function startHttpServer(script: Script, options: HttpOptions = {}): Promise<HttpServer> {
  const requests: HttpRequest[] = [];
  const sessions = new Map<string, Session>();
  const { sessions: withSessions = true, legacySse = false } = options;
  let eventCount = 0;

  function sendEvent(session: Session, stream: Stream, text: string, final: boolean): void {
    let head = "";
    if (options.resumable) {
      const id = `${stream.name}_${++eventCount}`;
      session.events.push({ id, stream: stream.name, text, final });
      head = `id: ${id}\n`;
    }
    if (!stream.response.writableEnded) stream.response.write(`${head}event: message\ndata: ${text}\n\n`);
  }

  function openStream(session: Session, response: ServerResponse, name: string): Stream {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      ...(withSessions && !legacySse ? { "mcp-session-id": session.id } : {}),
    });
    response.flushHeaders();
    const retry = options.resumable?.retryMs;
    if (options.resumable) response.write(`id: ${name}_0\n${retry === undefined ? "" : `retry: ${retry}\n`}data: \n\n`);
    return { response, name };
  }

  function newSession(): Session {
    const session: Session = {
      id: randomUUID(),
      get: undefined,
      posts: new Map(),
      queue: [],
      events: [],
      behaviour: createBehaviour(script, {
        record: () => {},
        async effect(what, _value, _step, context) {
          if (what !== "cut") throw new Error(`no such step over HTTP: ${what}`);
          const stream = context.id === undefined || legacySse ? session.get : session.posts.get(context.id);
          // What was written before still goes out.
          await new Promise((resolve) => setImmediate(resolve));
          stream?.response.socket?.destroySoon();
        },
        send(text, about) {
          const post = about.request === undefined ? undefined : session.posts.get(about.request);
          if (!post || legacySse) {
            if (!session.get) return void session.queue.push(text);
            return sendEvent(session, session.get, text, false);
          }
          if (about.final && !post.response.headersSent && (options.answer ?? "json") === "json") {
            post.response.writeHead(200, {
              "content-type": "application/json",
              ...(withSessions ? { "mcp-session-id": session.id } : {}),
            });
            post.response.end(text);
          } else {
            if (!post.response.headersSent) openStream(session, post.response, post.name);
            sendEvent(session, post, text, about.final === true);
            if (about.final) post.response.end();
          }
          if (about.final) session.posts.delete(about.request!);
        },
      }),
    };
    return session;
  }

  function reply(response: ServerResponse, answer: HttpAnswer): void {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  }

  function fault(response: ServerResponse, status: number, message: string): void {
    const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
    reply(response, { status, headers: { "content-type": "application/json" }, body });
  }

  function resume(session: Session, response: ServerResponse, lastId: string) {
    const name = lastId.slice(0, lastId.lastIndexOf("_"));
    const of = session.events.filter((event) => event.stream === name);
    const missed = of.slice(of.findIndex((event) => event.id === lastId) + 1);
    const stream = openStream(session, response, name);
    for (const event of missed) response.write(`id: ${event.id}\nevent: message\ndata: ${event.text}\n\n`);
    if (missed.some((event) => event.final)) return void response.end();
    if (name.startsWith("get")) session.get = stream;
    else for (const post of session.posts.values()) if (post.name === name) post.response = response;
  }

  function handle(request: HttpRequest, response: ServerResponse) {
    const early = options.intercept?.(request, requests.length);
    if (early === "hang") return;
    if (early === "cut") return void response.destroy();
    if (early) return reply(response, early);
    if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`) {
      return reply(response, { status: 401, headers: { "www-authenticate": "Bearer" } });
    }
    const path = request.path.split("?")[0];
    if (legacySse) return handleOld(request, response, path);
    if (path !== "/mcp") return reply(response, { status: 404 });

    const initialize = request.message?.method === "initialize";
    const id = request.headers["mcp-session-id"] as string | undefined;
    let session = withSessions ? sessions.get(id ?? "") : sessions.get("");
    if (!session && (initialize || !withSessions)) {
      session = newSession();
      sessions.set(withSessions ? session.id : "", session);
    }
    if (!session)
      return id === undefined ? fault(response, 400, "no session") : fault(response, 404, "Session not found");
    const version = request.headers["mcp-protocol-version"];
    if (options.onlyVersion !== undefined && !initialize && version !== options.onlyVersion) {
      return fault(response, 400, `Unsupported protocol version: ${version}`);
    }

    if (request.method === "GET") {
      if (options.get && options.get !== "stream") return reply(response, options.get);
      const last = request.headers["last-event-id"] as string | undefined;
      if (last !== undefined) return resume(session, response, last);
      const stream = openStream(session, response, `get${++eventCount}`);
      session.get = stream;
      response.on("close", () => {
        if (session.get === stream) session.get = undefined;
      });
      for (const text of session.queue.splice(0)) sendEvent(session, stream, text, false);
      return;
    }
    if (request.method === "DELETE") {
      end(session);
      return reply(response, { status: 200 });
    }
    if (request.method !== "POST") return reply(response, { status: 405, headers: { allow: "GET, POST, DELETE" } });
    const rpcId = rawAt(request.body, "id");
    if (request.message?.method !== undefined && rpcId !== undefined) {
      const stream: Stream = { response, name: `post${++eventCount}` };
      session.posts.set(rpcId, stream);
      if (options.answer === "sse") openStream(session, response, stream.name);
    } else reply(response, { status: 202 });
    session.behaviour.receive(request.body);
  }

  function handleOld(request: HttpRequest, response: ServerResponse, path: string | undefined) {
    if (request.method === "GET" && path === "/sse") {
      const session = newSession();
      sessions.set(session.id, session);
      session.get = openStream(session, response, "get");
      response.write(`event: endpoint\ndata: /messages?sessionId=${session.id}\n\n`);
      response.on("close", () => sessions.delete(session.id));
      return;
    }
    if (request.method === "POST" && path === "/messages") {
      const session = sessions.get(new URL(request.path, "http://localhost").searchParams.get("sessionId") ?? "");
      if (!session) return reply(response, { status: 404, body: "no such session" });
      reply(response, { status: 202, body: "Accepted" });
      return session.behaviour.receive(request.body);
    }
    reply(response, { status: 405, body: "Method Not Allowed" });
  }

  function end(session: Session): void {
    for (const [key, value] of sessions) if (value === session) sessions.delete(key);
    session.get?.response.destroy();
    for (const post of session.posts.values()) post.response.destroy();
  }

  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString("utf8");
    let message: Message | undefined;
    try {
      message = JSON.parse(body) as Message;
    } catch {}
    const record: HttpRequest = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
      at: performance.now(),
      ...(message === undefined ? {} : { message }),
    };
    requests.push(record);
    handle(record, response);
  };
  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener);
  server.listen(options.port ?? 0, "127.0.0.1");
  await new Promise((resolve, reject) => {
    server.once("listening", resolve);
    server.once("error", reject);
  });
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    server.closeAllConnections();
    await closed;
  };

  return {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}${legacySse ? "/sse" : "/mcp"}`,
    port,
    requests,
    received: (method) =>
      requests.filter(
        ({ message, method: verb }) =>
          verb === "POST" && message !== undefined && (method === undefined || (message.method ?? "") === method),
      ),
    get sessions() {
      return [...sessions.keys()];
    },
    loseSessions() {
      for (const session of [...sessions.values()]) end(session);
    },
    async run(steps) {
      for (const session of sessions.values()) await session.behaviour.run(steps);
    },
    get streams() {
      return [...sessions.values()].filter((session) => session.get !== undefined).length;
    },
    cutStreams() {
      for (const session of sessions.values()) session.get?.response.destroy();
    },
    close,
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await close();
    },
  };
}
