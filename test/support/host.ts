/**
 * A raw host: a process on whose stdin and stdout we play the MCP client, line by line, without an SDK. `startHost` runs
 * the built Switchyard, `startPeer` any server (to compare direct with proxied). Disposing ends the process, and fails
 * the test if a line on stdout was not a JSON-RPC message.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configFile } from "./config.ts";
import { tempDir } from "./dir.ts";
import type { Message } from "./record.ts";
import { until } from "./until.ts";

const BIN = fileURLToPath(new URL("../../bin/switchyard.js", import.meta.url));
const DIST = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface Reply {
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: unknown };
  /** The line as it came. */
  readonly raw: string;
}

export interface Incoming {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly raw: string;
  readonly id?: string | number;
  /** performance.now() */
  readonly at: number;
  /** Position among all lines that came: what came before what. */
  readonly index: number;
}

/** Thrown in an `answer` handler: becomes the JSON-RPC error. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a handler returns is the result: an object, or a string that is its raw JSON text. A promise that never settles: no answer. */
export type Answerer = (params: Record<string, unknown>, request: Incoming) => unknown;

export interface PeerOptions {
  env?: Record<string, string>;
  cwd?: string;
  capabilities?: object;
  protocolVersion?: string;
  clientInfo?: object;
  /** Default true: does the handshake before it returns. */
  initialize?: boolean;
  /** How long requests may take unless they say otherwise. Default 20 s. */
  within?: number;
  /** stdout may hold other things than JSON-RPC (a server with noise). */
  noisy?: boolean;
}

export interface HostOptions extends PeerOptions {
  /** An object is written to a file of its own (see `configFile`), a string is the path of a file. */
  config: object | string;
  /** More arguments of `serve`. */
  args?: string[];
  /** Log level, default debug. */
  logLevel?: string;
  /** Home and cache directory, to be kept between two hosts. Default: one of its own. */
  home?: string;
}

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

export class Host {
  /** All lines that came on stdout. */
  readonly raw: string[] = [];
  readonly notifications: Incoming[] = [];
  /** Requests of the peer. */
  readonly requests: Incoming[] = [];
  /** Responses to nothing we asked, second responses, and responses with id null. */
  readonly strays: string[] = [];
  /** Lines that are no JSON-RPC message. */
  readonly garbage: string[] = [];
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  initializeResult: Record<string, unknown> = {};
  stderr = "";

  readonly child: ChildProcess;
  readonly #options: PeerOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #answerers = new Map<string, Answerer>();
  readonly #cleanup: (() => Promise<void>)[] = [];
  #parts: Buffer[] = [];
  #nextId = 1;
  #exited = false;

  constructor(command: string, args: string[], options: PeerOptions) {
    this.#options = options;
    this.child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    this.exit = new Promise((resolve) => {
      this.child.on("error", (error) => {
        this.stderr += String(error);
        resolve({ code: null, signal: null });
      });
      this.child.on("exit", () => {
        this.#exited = true;
      });
      this.child.on("close", (code, signal) => {
        this.#exited = true;
        for (const [id, waiting] of this.#waiting)
          waiting.reject(this.#failure(`ended (${code ?? signal}) with ${id} open`));
        resolve({ code, signal });
      });
    });
    this.child.stdin!.on("error", () => {});
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.child.stdout!.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** The records of the JSON log on stderr. */
  get logs(): Record<string, unknown>[] {
    return this.stderr.split("\n").flatMap((line) => {
      try {
        return line.startsWith("{") ? [JSON.parse(line) as Record<string, unknown>] : [];
      } catch {
        return [];
      }
    });
  }

  /** One line, as it is (also what is no message); the line feed is added. */
  send(line: string | Buffer): void {
    this.child.stdin!.write(line);
    this.child.stdin!.write("\n");
  }

  /** `params` as a string is raw JSON text. `token` goes to `_meta.progressToken`. Waits for the response, error or not. */
  request(
    method: string,
    params?: object | string,
    options: { id?: string | number; token?: string | number; within?: number } = {},
  ): Promise<Reply> {
    const id = options.id ?? `t${this.#nextId++}`;
    let text = params === undefined || typeof params === "string" ? params : JSON.stringify(params);
    if (options.token !== undefined) {
      if (typeof params === "string") throw new TypeError("a token needs params as an object");
      const meta = { ...(params as { _meta?: object } | undefined)?._meta, progressToken: options.token };
      text = JSON.stringify({ ...params, _meta: meta });
    }
    const line = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)}${text === undefined ? "" : `,"params":${text}`}}`;
    const reply = this.response(id, `${method} ${text?.slice(0, 100) ?? ""}`, options.within);
    this.send(line);
    return reply;
  }

  /** The response to `id`, of a request that was or will be sent with `send`. */
  response(id: string | number, what = "request", within = this.#options.within ?? 20_000): Promise<Reply> {
    const reply = new Promise<Reply>((resolve, reject) => {
      const key = JSON.stringify(id);
      const timer = setTimeout(() => {
        this.#waiting.delete(key);
        reject(this.#failure(`no response to ${key} (${what}) within ${within} ms`));
      }, within);
      this.#waiting.set(key, { resolve, reject, timer });
    });
    // A test that does not look at it (it cancelled the request, say) is not failed by it.
    reply.catch(() => {});
    return reply;
  }

  notify(method: string, params?: object | string): void {
    const text = params === undefined || typeof params === "string" ? params : JSON.stringify(params);
    this.send(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${text === undefined ? "" : `,"params":${text}`}}`);
  }

  cancel(id: string | number, reason?: string): void {
    this.notify("notifications/cancelled", { requestId: id, ...(reason === undefined ? {} : { reason }) });
  }

  /** How requests of the peer are answered. Without a handler: `ping` is `{}`, all else -32601. */
  answer(method: string, answerer: Answerer): void {
    this.#answerers.set(method, answerer);
  }

  /** Calls a tool and fails the test on a JSON-RPC error. Gives the result. */
  async call(name: string, args: object = {}, options: { token?: string | number; within?: number } = {}) {
    const reply = await this.request("tools/call", { name, arguments: args }, options);
    if (reply.error) throw this.#failure(`${name}: ${JSON.stringify(reply.error)}`);
    return reply.result!;
  }

  /** The text of the first content block of a call. */
  async callText(name: string, args: object = {}): Promise<string> {
    const result = await this.call(name, args);
    return (result["content"] as { text: string }[])[0]!.text;
  }

  /** Everything of a list, page by page. `key`: tools, prompts, resources, resourceTemplates. */
  async listAll(method: string, key: string): Promise<Record<string, unknown>[]> {
    const items: Record<string, unknown>[] = [];
    let cursor: unknown;
    for (let page = 0; page < 1000; page++) {
      const reply = await this.request(method, cursor === undefined ? {} : { cursor });
      if (!reply.result) throw this.#failure(`${method}: ${JSON.stringify(reply.error)}`);
      items.push(...(reply.result[key] as Record<string, unknown>[]));
      cursor = reply.result["nextCursor"];
      if (cursor === undefined) return items;
    }
    throw this.#failure(`${method}: no end after 1000 pages`);
  }

  async toolNames(): Promise<string[]> {
    return (await this.listAll("tools/list", "tools")).map((tool) => tool["name"] as string);
  }

  notified(method: string): Incoming[] {
    return this.notifications.filter((notification) => notification.method === method);
  }

  /** Waits for the n-th notification of a method. */
  notification(method: string, count = 1, within?: number): Promise<Incoming> {
    return until(() => this.notified(method)[count - 1], {
      what: `notification ${count} of ${method}`,
      ...(within === undefined ? {} : { within }),
    }) as Promise<Incoming>;
  }

  async initialize(): Promise<Reply> {
    const { protocolVersion = "2025-11-25", capabilities = {}, clientInfo } = this.#options;
    const reply = await this.request("initialize", {
      protocolVersion,
      capabilities,
      clientInfo: clientInfo ?? { name: "test-host", version: "1.0.0" },
    });
    if (!reply.result) throw this.#failure(`initialize: ${JSON.stringify(reply.error)}`);
    this.initializeResult = reply.result;
    this.notify("notifications/initialized");
    return reply;
  }

  /** A reader that stops reading, and reads on. */
  pause(): void {
    this.child.stdout!.pause();
  }
  resume(): void {
    this.child.stdout!.resume();
  }

  /** EOF, then waits for the exit. */
  async close(within = 15_000): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    this.child.stdin!.end();
    this.child.stdout!.resume();
    const ended = await this.#exitWithin(within);
    if (!ended) throw this.#failure(`did not exit within ${within} ms after EOF`);
    return ended;
  }

  /** Something to do after the end. */
  defer(cleanup: () => Promise<void>): void {
    this.#cleanup.push(cleanup);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin!.end();
    this.child.stdout!.resume();
    if (this.child.pid !== undefined && !(await this.#exitWithin(8_000))) {
      try {
        process.kill(-this.pid, "SIGKILL");
      } catch {}
      await this.#exitWithin(2_000);
    }
    for (const waiting of this.#waiting.values()) clearTimeout(waiting.timer);
    for (const cleanup of this.#cleanup) await cleanup();
    if (this.garbage.length > 0 && !this.#options.noisy) {
      throw new Error(`not JSON-RPC on stdout: ${JSON.stringify(this.garbage.slice(0, 3)).slice(0, 1000)}`);
    }
  }

  #exitWithin(within: number) {
    let timer: NodeJS.Timeout | undefined;
    return Promise.race([
      this.exit,
      new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), within);
      }),
    ]).finally(() => clearTimeout(timer));
  }

  get exited(): boolean {
    return this.#exited;
  }

  #failure(message: string): Error {
    return new Error(`${message}\n--- stderr ---\n${this.stderr.slice(-2000)}`);
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const at = chunk.indexOf(10, from);
      if (at < 0) break;
      this.#parts.push(chunk.subarray(from, at));
      this.#line(Buffer.concat(this.#parts).toString("utf8"));
      this.#parts = [];
      from = at + 1;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }

  #line(raw: string): void {
    const index = this.raw.push(raw) - 1;
    let message: Message;
    try {
      message = JSON.parse(raw) as Message;
      if (message?.jsonrpc !== "2.0") throw new Error("no message");
    } catch {
      this.garbage.push(raw);
      return;
    }
    if (message.method !== undefined) {
      const incoming: Incoming = {
        method: message.method,
        params: message.params ?? {},
        raw,
        at: performance.now(),
        index,
        ...(message.id === undefined || message.id === null ? {} : { id: message.id }),
      };
      if (message.id === undefined) this.notifications.push(incoming);
      else {
        this.requests.push(incoming);
        void this.#reply(incoming);
      }
      return;
    }
    const key = JSON.stringify(message.id);
    const waiting = this.#waiting.get(key);
    if (!waiting) {
      this.strays.push(raw);
      return;
    }
    this.#waiting.delete(key);
    clearTimeout(waiting.timer);
    waiting.resolve({
      raw,
      ...(message.result === undefined ? {} : { result: message.result }),
      ...(message.error === undefined ? {} : { error: message.error }),
    });
  }

  async #reply(request: Incoming): Promise<void> {
    const id = JSON.stringify(request.id);
    try {
      const answerer = this.#answerers.get(request.method);
      if (!answerer && request.method !== "ping") throw new RpcError(-32601, "Method not found");
      const result = answerer ? await answerer(request.params, request) : {};
      const text = typeof result === "string" ? result : JSON.stringify(result);
      this.send(`{"jsonrpc":"2.0","id":${id},"result":${text}}`);
    } catch (error) {
      const { code = -32603, message, data } = error as Partial<RpcError> & Error;
      this.send(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`);
    }
  }
}

/** A raw client directly on a server. */
export async function startPeer(command: string, args: string[], options: PeerOptions = {}): Promise<Host> {
  const host = new Host(command, args, options);
  if (options.initialize ?? true) await handshake(host);
  return host;
}

/** `switchyard serve` on stdio, with us as its host. */
export async function startHost(options: HostOptions): Promise<Host> {
  if (!existsSync(DIST)) throw new Error("build first: npm run build");
  const dir = await tempDir();
  const home = options.home ?? dir.path;
  const file = typeof options.config === "string" ? options.config : configFile(dir, options.config);
  const args = [BIN, "serve", "--config", file, "--log-level", options.logLevel ?? "debug", "--log-format", "json"];
  const host = new Host(process.execPath, [...args, ...(options.args ?? [])], {
    cwd: dir.path,
    ...options,
    env: { HOME: home, XDG_CACHE_HOME: `${home}/.cache`, XDG_CONFIG_HOME: `${home}/.config`, ...options.env },
  });
  host.defer(async () => dir[Symbol.asyncDispose]());
  if (options.initialize ?? true) await handshake(host);
  return host;
}

async function handshake(host: Host): Promise<void> {
  try {
    await host.initialize();
  } catch (error) {
    await host[Symbol.asyncDispose]();
    throw error;
  }
}
