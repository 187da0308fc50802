/**
 * A host in the same process, through the whole stack: what `check --connect`, `list` and `call` use, so that they show
 * exactly what a real host would get.
 */

import { type Definitions, definitionsOf } from "./definitions.ts";
import { type Explained, explainName, type Unknown } from "./explain.ts";
import type { Log } from "./log.ts";
import { type ProxyOptions, SwitchyardProxy } from "./proxy.ts";
import type { ListMethod } from "./router/catalogue.ts";
import type { Connection } from "./upstream/connection.ts";
import type { ConnectionState } from "./upstream/state.ts";
import type { Frame } from "./wire/frame.ts";
import { scan } from "./wire/scan.ts";
import { jsonText } from "./wire/splice.ts";
import { LATEST_LEGACY } from "./wire/version.ts";

/** What became of one server. */
export interface ServerReport {
  readonly name: string;
  readonly state: ConnectionState;
  /** Where the last attempt failed, and why. */
  readonly stage?: string;
  readonly reason?: string;
  readonly nextRetryMs?: number;
  readonly era?: "legacy";
  readonly revision?: string;
  readonly serverInfo?: { readonly name: string; readonly version: string };
  readonly counts?: {
    readonly tools: number;
    readonly prompts: number;
    readonly resources: number;
    readonly templates: number;
  };
  readonly connectMs?: number;
}

export interface PublicItem {
  readonly publicName: string;
  readonly server: string;
  readonly original: string;
  readonly definition: Record<string, unknown>;
}

export interface HiddenItem {
  readonly server: string;
  readonly kind: string;
  readonly original: string;
  readonly why: string;
}

export interface ProgressReport {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CallOutcome {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Client {
  /** Resolves when every server is ready or has failed its first attempt. */
  settled(): Promise<void>;
  servers(): ServerReport[];
  catalogue(): Promise<{
    tools: PublicItem[];
    prompts: PublicItem[];
    resources: PublicItem[];
    templates: PublicItem[];
    hidden: HiddenItem[];
  }>;
  call(
    name: string,
    args: unknown,
    on?: { progress?(report: ProgressReport): void; signal?: AbortSignal },
  ): Promise<CallOutcome>;
  /** Allow entries of filters and rules that match nothing that was listed. */
  unusedRules(): string[];
  /** A dry run; `catalogue` was called before. `args`: JSON text of an object. */
  explain(name: string, args?: string): Explained | Unknown;
  /** Everything that servers define, hidden or not, as they sent it. */
  definitions(): Promise<Definitions>;
  close(): Promise<void>;
}

const LIST_METHODS: readonly ListMethod[] = [
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
];

export interface ClientOptions extends ProxyOptions {
  /** As whom the policy sees us. */
  readonly clientName?: string;
  /** What we say that we can do; some servers define more for a host that can more. Default: nothing. */
  readonly capabilities?: object;
}

export async function startClient(options: ClientOptions): Promise<Client> {
  const client = new InProcessHost(options);
  await client.open();
  return client;
}

class InProcessHost implements Client {
  readonly #proxy: SwitchyardProxy;
  readonly #log: Log;
  readonly #version: string;
  readonly #name: string;
  readonly #capabilities: object;
  readonly #waiting = new Map<number, (answer: Frame) => void>();
  readonly #progress = new Map<number, (report: ProgressReport) => void>();
  #nextId = 1;

  constructor(options: ClientOptions) {
    this.#name = options.clientName ?? "switchyard-cli";
    this.#capabilities = options.capabilities ?? {};
    this.#log = options.log;
    this.#version = options.version;
    // What a server shows a host that can do nothing is not the whole of it, and not to be pinned.
    this.#proxy = new SwitchyardProxy({ ...options, learnPins: false }, (chunks) =>
      this.#receive(Buffer.concat(chunks)),
    );
  }

  async open(): Promise<void> {
    await this.#proxy.start();
    const clientInfo = { name: this.#name, version: this.#version };
    const capabilities = this.#capabilities;
    const answered = this.#request("initialize", { protocolVersion: LATEST_LEGACY, capabilities, clientInfo });
    await answered.answer;
    this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  async settled(): Promise<void> {
    await Promise.all(this.#proxy.connections.map((connection) => connection.settled()));
  }

  servers(): ServerReport[] {
    return this.#proxy.connections.map((connection) => this.#report(connection));
  }

  async catalogue(): ReturnType<Client["catalogue"]> {
    const { catalogue } = this.#proxy;
    await this.settled();
    await Promise.all(LIST_METHODS.map((method) => this.#walk(method)));
    const shown = (method: ListMethod): PublicItem[] =>
      catalogue.items(method).map((item) => ({
        publicName: item.publicName,
        server: item.server,
        original: item.original,
        definition: JSON.parse(item.bytes.toString("utf8")) as Record<string, unknown>,
      }));
    return {
      tools: shown("tools/list"),
      prompts: shown("prompts/list"),
      resources: shown("resources/list"),
      templates: shown("resources/templates/list"),
      hidden: catalogue.hidden((item) => this.#proxy.whyHidden(item)),
    };
  }

  async call(name: string, args: unknown, on: Parameters<Client["call"]>[2] = {}): Promise<CallOutcome> {
    await this.settled();
    const _meta = on.progress === undefined ? undefined : { progressToken: this.#nextId };
    if (on.progress) this.#progress.set(this.#nextId, on.progress);
    const { id, answer } = this.#request("tools/call", { name, arguments: args, ...(_meta ? { _meta } : {}) });
    const abort = (): void => {
      this.#send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: "interrupted" },
      });
      this.#waiting.delete(id);
      cancelled({ error: { code: -32603, message: "cancelled" } });
    };
    let cancelled: (outcome: CallOutcome) => void = () => {};
    const stopped = new Promise<CallOutcome>((resolve) => {
      cancelled = resolve;
    });
    on.signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([stopped, answer.then(outcomeOf)]);
    } finally {
      on.signal?.removeEventListener("abort", abort);
      this.#progress.delete(id);
    }
  }

  unusedRules(): string[] {
    const { catalogue, policy } = this.#proxy;
    const listed = LIST_METHODS.flatMap((method) => catalogue.items(method));
    return policy.unused([...listed, ...catalogue.hidden()]);
  }

  explain(name: string, args?: string): Explained | Unknown {
    const caller = { client: this.#name, version: this.#version, principal: undefined };
    return explainName(this.#proxy, caller, name, args);
  }

  async definitions(): Promise<Definitions> {
    await this.catalogue();
    await Promise.all(this.#proxy.connections.map(({ name }) => this.#proxy.catalogue.complete(name)));
    return definitionsOf(this.#proxy);
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }

  #report(connection: Connection): ServerReport {
    const { name, state, hello, trouble, connectMs } = connection;
    return {
      name,
      state,
      ...(trouble === undefined ? {} : { stage: trouble.stage, reason: trouble.reason }),
      ...(trouble?.nextRetryMs === undefined ? {} : { nextRetryMs: trouble.nextRetryMs }),
      ...(hello === undefined
        ? {}
        : {
            era: "legacy",
            revision: hello.revision,
            serverInfo: { name: hello.info.name, version: hello.info.version },
            counts: this.#counts(name),
          }),
      ...(connectMs === undefined ? {} : { connectMs: Math.round(connectMs) }),
    };
  }

  #counts(server: string): NonNullable<ServerReport["counts"]> {
    const { tools, prompts, resources, resourceTemplates } = this.#proxy.catalogue.counts(server);
    return { tools, prompts, resources, templates: resourceTemplates };
  }

  /** Turns every page of a list, so that the catalogue knows all of it. */
  async #walk(method: ListMethod): Promise<void> {
    let cursor: unknown;
    do {
      const answer = await this.#request(method, cursor === undefined ? {} : { cursor }).answer;
      if (answer.isError) throw new Error(`${method}: ${answer.string("message") ?? "failed"}`);
      cursor = answer.value("nextCursor");
    } while (cursor !== undefined);
  }

  #request(method: string, params: unknown): { id: number; answer: Promise<Frame> } {
    const id = this.#nextId++;
    const answer = new Promise<Frame>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ jsonrpc: "2.0", id, method, params });
    return { id, answer };
  }

  #send(message: unknown): void {
    const bytes = Buffer.from(jsonText(message));
    this.#proxy.session.receive(scan(bytes), bytes);
  }

  #receive(bytes: Buffer): void {
    const frame = scan(bytes);
    if ("fault" in frame) {
      this.#log.error({ reason: frame.reason }, "a message of our own is malformed");
    } else if (frame.kind === "response") {
      const id = Number(frame.idText);
      this.#waiting.get(id)?.(frame);
      this.#waiting.delete(id);
    } else if (frame.method === "notifications/progress") {
      this.#progress.get(Number(frame.text("progressToken")))?.(frame.body() as ProgressReport);
    } else if (frame.kind === "request") {
      // Nobody is here to be asked, whatever was declared.
      const error = { code: -32601, message: `Method not found: ${frame.method}` };
      const reply = Buffer.from(`{"jsonrpc":"2.0","id":${frame.idText},"error":${jsonText(error)}}`);
      this.#proxy.session.receive(scan(reply), reply);
    }
  }
}

function outcomeOf(answer: Frame): CallOutcome {
  return answer.isError ? { error: answer.body() as NonNullable<CallOutcome["error"]> } : { result: answer.body() };
}
