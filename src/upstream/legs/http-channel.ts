/**
 * The door to undici: one address, requests as callbacks over raw chunks. Undici is loaded by the first `openChannel`,
 * so that a configuration with stdio servers only never pays for it. Knows HTTP, no MCP.
 */
import type { buildConnector, Dispatcher, Pool } from "undici";
import { LegError } from "../../wire/leg.ts";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What comes of one request, in this order: started?, head?, data*, then exactly one of end and failed. */
export interface HttpListener {
  /** There is a connection and the request is being written: from now on the server may have taken it. */
  started?(): void;
  head(status: number, headers: ResponseHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  /** `started`: whether the server may have taken the request. */
  failed(error: Error, started: boolean): void;
}

export interface HttpCall {
  /** Closes the connection of this request; its listener hears nothing more. */
  abort(): void;
}

export interface ChannelOptions {
  readonly url: URL;
  /** Used instead of an agent of our own, and not closed by us. */
  readonly dispatcher?: Dispatcher;
  /** Where HTTP_PROXY and its kin are looked for. */
  readonly env: NodeJS.ProcessEnv;
}

/** Undici's defaults end a request after 300 s without a header or a chunk; a long call and a quiet stream are neither. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 };

export async function openChannel(options: ChannelOptions): Promise<HttpChannel> {
  const dispatcher = options.dispatcher ?? (await ownDispatcher(options.url, options.env));
  return new HttpChannel(options.url, dispatcher, options.dispatcher === undefined);
}

async function ownDispatcher(url: URL, env: NodeJS.ProcessEnv): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent, Pool } = await import("undici");
  const any = env["all_proxy"] || env["ALL_PROXY"] || "";
  const httpProxy = env["http_proxy"] || env["HTTP_PROXY"] || any;
  const httpsProxy = env["https_proxy"] || env["HTTPS_PROXY"] || any;
  // A proxy cannot reach our loopback, whatever NO_PROXY says (Go decides the same).
  if ((httpProxy === "" && httpsProxy === "") || isLoopback(url.hostname)) return new Agent(NO_TIMEOUTS);
  const noProxy = env["no_proxy"] || env["NO_PROXY"] || "";
  try {
    // Without a tunnel for http://, since proxies commonly allow CONNECT to port 443 only.
    const factory = (origin: string | URL, pool: object): Dispatcher => new Pool(origin, withFinalErrors(pool));
    return new EnvHttpProxyAgent({ ...NO_TIMEOUTS, httpProxy, httpsProxy, noProxy, proxyTunnel: false, factory });
  } catch (cause) {
    const message = "the proxy set by HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a URL";
    throw new LegError("network", message, { delivered: "no", cause });
  }
}

/**
 * Undici takes an error of the kind UND_ERR_SOCKET for the end of an idle connection and connects again, at once and
 * without end. A proxy that drops CONNECT brings just that (measured: 2,000 attempts a second), so it gets another code.
 */
function withFinalErrors(options: Pool.Options): Pool.Options {
  const { connect } = options;
  if (typeof connect !== "function") return options;
  const wrapped: buildConnector.connector = (to, callback) =>
    connect(to, (...outcome) => {
      const [error] = outcome;
      if (error === null || (error as NodeJS.ErrnoException).code !== "UND_ERR_SOCKET") return callback(...outcome);
      callback(Object.assign(new Error("the proxy closed the connection", { cause: error }), { code: "EPROXY" }), null);
    });
  return { ...options, connect: wrapped };
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname);
}

export class HttpChannel {
  readonly #url: URL;
  readonly #dispatcher: Dispatcher;
  readonly #own: boolean;
  readonly #calls = new Set<Call>();
  #paused = false;

  constructor(url: URL, dispatcher: Dispatcher, own: boolean) {
    this.#url = url;
    this.#dispatcher = dispatcher;
    this.#own = own;
  }

  /** `headers`: names (lower case) and values by turns. `url` is another address of the same origin. */
  call(
    method: "GET" | "POST" | "DELETE",
    headers: string[],
    body: Buffer | undefined,
    listener: HttpListener,
    url: URL = this.#url,
  ): HttpCall {
    const call = new Call(listener, () => this.#paused, this.#calls);
    const target = { origin: url.origin, path: url.pathname + url.search, method, headers, ...NO_TIMEOUTS };
    this.#dispatcher.dispatch(body === undefined ? target : { ...target, body }, call);
    return call;
  }

  /** Stops reading from every response, those of later requests included. */
  pause(): void {
    this.#paused = true;
    for (const call of this.#calls) call.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const call of this.#calls) call.resume();
  }

  /** Ends every request and every connection. */
  async destroy(): Promise<void> {
    for (const call of this.#calls) call.abort();
    if (this.#own) await this.#dispatcher.destroy();
  }
}

class Call implements HttpCall, Dispatcher.DispatchHandler {
  readonly #listener: HttpListener;
  readonly #isPaused: () => boolean;
  readonly #calls: Set<Call>;
  #controller: Dispatcher.DispatchController | undefined;
  #over = false;

  constructor(listener: HttpListener, isPaused: () => boolean, calls: Set<Call>) {
    this.#listener = listener;
    this.#isPaused = isPaused;
    this.#calls = calls;
    calls.add(this);
  }

  abort(): void {
    if (this.#finish()) this.#controller?.abort(new Error("abandoned"));
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#calls.delete(this);
    return true;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A second start would be a second sending: what may have run is never repeated.
    const repeated = this.#controller !== undefined;
    this.#controller = controller;
    if (this.#over) controller.abort(new Error("abandoned"));
    else if (repeated) controller.abort(new Error("the connection was lost"));
    else this.#listener.started?.();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.#over || status < 200) return;
    this.#listener.head(status, headers);
    if (this.#isPaused()) controller.pause();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#listener.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#finish()) this.#listener.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#finish()) this.#listener.failed(error, this.#controller !== undefined);
  }
}
