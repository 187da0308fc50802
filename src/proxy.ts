/**
 * READ FIRST. Builds the whole from a Config: the legs that face hosts, the layers, the router, the legs that face servers.
 * The folders do not know each other; they are introduced here, by passing functions. A `tools/call` goes
 *
 *   downstream/stdio → downstream/session → pipeline/audit → router/resolve → pipeline/policy → pipeline/limits
 *     → router/dispatch → upstream/connection → upstream/requests → upstream/legs → the server
 *
 * and its answer the same way back; router/answers touches it only where the protocol makes that the proxy's business.
 */

import type { Config, ServerConfig } from "./config/types.ts";
import { mergeCapabilities, mergeInstructions, type ServerFacts } from "./downstream/handshake.ts";
import { type HostFacts, HostSession } from "./downstream/session.ts";
import { Fault } from "./errors.ts";
import { type Answer, type Exchange, type Handler, newTrail } from "./exchange.ts";
import { LastSeen } from "./lastseen.ts";
import type { Log } from "./log.ts";
import { auditLayer } from "./pipeline/audit/layer.ts";
import { type AuditSink, openAudit } from "./pipeline/audit/sink.ts";
import { limitsLayer } from "./pipeline/limits/limits.ts";
import { compilePolicy, type Policy, policyLayer } from "./pipeline/policy/policy.ts";
import { serverPort, source } from "./ports.ts";
import { makeRedactor } from "./redact/redact.ts";
import { AnswerRules } from "./router/answers.ts";
import { Catalogue } from "./router/catalogue.ts";
import { applyLevel, dispatcher } from "./router/dispatch.ts";
import { Elicitations } from "./router/elicitations.ts";
import type { Host } from "./router/hosts.ts";
import { Levels } from "./router/levels.ts";
import { Notify } from "./router/notify.ts";
import type { ServerPort } from "./router/ports.ts";
import { Questions } from "./router/questions.ts";
import { resolveLayer } from "./router/resolve.ts";
import { Subscriptions } from "./router/subscriptions.ts";
import { Connection } from "./upstream/connection.ts";
import { createLeg } from "./upstream/legs/create.ts";
import type { Question } from "./upstream/questions.ts";
import { rewrite } from "./wire/edits.ts";
import type { Frame } from "./wire/frame.ts";
import { type MethodRow, rowOf } from "./wire/methods.ts";
import { createSealer } from "./wire/seal.ts";
import { requestFrame } from "./wire/splice.ts";

export interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
  /** Ours, for serverInfo and clientInfo. */
  readonly version: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Folder where what each server offers is kept for the next start; none is kept without. */
  readonly cacheFolder?: string;
}

/** How long after a server said what it offers that is written down. */
const KEEP_MS = 3000;

/** How long each step of stopping a server may take: after EOF, after SIGTERM. */
const STOP_STEP_MS = 1500;

/** Everything between one host and its servers. */
export class SwitchyardProxy {
  readonly catalogue: Catalogue;
  readonly policy: Policy;
  readonly connections: readonly Connection[];
  readonly session: HostSession;
  readonly #options: ProxyOptions;
  readonly #byName: ReadonlyMap<string, Connection>;
  readonly #ports: ReadonlyMap<string, ServerPort>;
  readonly #subscriptions = new Subscriptions();
  readonly #levels = new Levels();
  readonly #notify: Notify;
  readonly #sink: AuditSink | undefined;
  readonly #handle: Handler<Exchange>;
  readonly #waited = new Set<string>();
  readonly #everReady = new Set<string>();
  readonly #lastSeen: LastSeen | undefined;
  readonly #keeping = new Map<string, NodeJS.Timeout>();
  #host: Host | undefined;
  #offered: Record<string, unknown> = {};

  /** `write` puts one message on the leg that faces the host. */
  constructor(options: ProxyOptions, write: (chunks: readonly Buffer[]) => void) {
    const { config, log } = options;
    this.#options = options;
    this.#lastSeen = options.cacheFolder === undefined ? undefined : new LastSeen(options.cacheFolder, log);
    this.connections = config.servers.map((server) => this.#connection(server));
    this.#byName = new Map(this.connections.map((connection) => [connection.name, connection]));
    this.#ports = new Map(this.connections.map((connection) => [connection.name, serverPort(connection, log)]));
    this.policy = compilePolicy({ policy: config.policy, servers: config.servers });
    this.catalogue = new Catalogue({
      config,
      sources: this.connections.map(source),
      log,
      sealer: createSealer(),
      viewKey: "",
      visible: (item) => this.policy.decide(item, this.#policyCaller()).effect === "allow",
      onChanged: (list) => this.#listChanged(list),
    });
    const elicitations = new Elicitations();
    const hosts = (): Host[] => (this.#host === undefined ? [] : [this.#host]);
    this.#notify = new Notify({
      catalogue: this.catalogue,
      subscriptions: this.#subscriptions,
      levels: this.#levels,
      elicitations,
      log,
      hostsOf: hosts,
    });
    const dispatch = dispatcher({
      config,
      catalogue: this.catalogue,
      subscriptions: this.#subscriptions,
      levels: this.#levels,
      answers: new AnswerRules(this.catalogue, elicitations),
      questions: new Questions(config, elicitations, () => this.#host),
      server: (name) => this.#ports.get(name)!,
      servers: () => this.#ports.values(),
      host: () => this.#host!,
      listWaitMs: (method) => this.#listWaitMs(method),
    });

    this.#sink = config.audit === undefined ? undefined : openAudit(config.audit, log, { whenHeld: "beside" });
    const redactions = { secrets: config.secrets, redactKeys: config.audit?.redactKeys ?? [] };
    // The first layer sees a request first and its outcome last: what is denied, refused or cancelled is recorded too.
    const audit = auditLayer(this.#sink, { payloads: config.audit?.payloads ?? "none", ...redactions });
    const resolve = resolveLayer(this.catalogue, (owner) => this.#probe(owner));
    const policy = policyLayer(this.policy);
    const limits = limitsLayer({ servers: config.servers });
    this.#handle = audit(resolve(policy(limits(dispatch))));

    this.session = new HostSession({
      write,
      handle: this.#handle,
      log,
      initialize: (host) => this.#initialize(host),
      offered: (row) => this.#isOffered(row),
      notified: (frame) => this.#fromHost(frame),
    });
  }

  /** Starts every server, at once and in parallel. The handshakes follow when the host has said what it can do. */
  async start(): Promise<void> {
    for (const connection of this.connections) connection.start();
    await this.#lastSeen?.restore(this.#options.config.servers, this.catalogue);
  }

  /** The host does not keep up: nobody reads what it would only have to keep. */
  pressed(pressed: boolean): void {
    for (const connection of this.connections) {
      if (pressed) connection.pause();
      else connection.resume();
    }
  }

  /** Ends every server, in order, and closes the audit file. */
  async close(): Promise<void> {
    this.session.close("Switchyard is shutting down");
    await Promise.all([...this.#keeping.keys()].map((server) => this.#keep(server)));
    await Promise.all(this.connections.map((connection) => connection.close(STOP_STEP_MS)));
    await this.#sink?.close();
  }

  // --- towards the host -----------------------------------------------------------------------------------------------

  async #initialize(facts: HostFacts): Promise<Record<string, unknown>> {
    const { config, version } = this.#options;
    const { session } = this;
    this.#host = {
      id: session.id,
      capabilities: facts.capabilities,
      revision: facts.revision,
      notify: (chunks) => session.notify(chunks),
      ask: (exchange, deadlineMs, compose) => session.ask(exchange, deadlineMs, compose),
    };
    const view = { capabilities: facts.capabilities, staticRoots: config.roots !== undefined };
    for (const connection of this.connections) connection.greet(view);
    await within(config.timeouts.startupMs, Promise.all(this.connections.map((connection) => connection.settled())));
    const servers: ServerFacts[] = this.connections.map(({ name, hello }) => ({
      name,
      title: hello?.info.title,
      capabilities: hello?.capabilities,
      instructions: hello?.instructions,
    }));
    this.#offered = mergeCapabilities(servers);
    const instructions = mergeInstructions(servers, config.names.separator);
    return {
      capabilities: this.#offered,
      serverInfo: { name: "switchyard", title: "Switchyard", version },
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  #isOffered(row: MethodRow): boolean {
    if (!row.eras.includes("legacy") || row.route === "none" || row.route === "leg") return false;
    if (row.capability === "subscribe") return (this.#offered.resources as { subscribe?: boolean }).subscribe === true;
    return row.capability === undefined || row.capability in this.#offered;
  }

  /** Only the first ask for a list waits for servers that are still starting; `list_changed` brings the rest. */
  #listWaitMs(method: string): number {
    if (this.#waited.has(method)) return 0;
    this.#waited.add(method);
    return this.#options.config.timeouts.startupMs;
  }

  #listChanged(list: "tools" | "prompts" | "resources"): void {
    this.#host?.notify([Buffer.from(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)]);
  }

  /** roots/list_changed goes to servers that were told of it; what MCP does not know goes to all, as it came. */
  #fromHost(frame: Frame): void {
    const roots = frame.method === "notifications/roots/list_changed";
    if (!roots && rowOf(frame.method!) !== undefined) return;
    const declared = this.#host?.capabilities.roots as { listChanged?: unknown } | undefined;
    if (roots && declared?.listChanged !== true) return;
    for (const connection of this.connections) connection.notify([frame.bytes]);
  }

  #policyCaller(): { client: string; principal: string | undefined } {
    return { client: this.session.host?.client.name ?? "", principal: undefined };
  }

  // --- towards the servers --------------------------------------------------------------------------------------------

  #connection(server: ServerConfig): Connection {
    const { log, version, config, env } = this.#options;
    const { text: redact } = makeRedactor({ secrets: config.secrets, redactKeys: config.audit?.redactKeys ?? [] });
    return new Connection({
      server,
      version,
      log,
      createLeg: () =>
        createLeg({
          server: server.name,
          target: server.target,
          log,
          maxMessageBytes: config.maxMessageBytes,
          redact,
          ...(env ? { baseEnv: env } : {}),
        }),
      onReady: (connection) => this.#serverReady(connection),
      onDown: () => {},
      onNotification: (connection, frame) => this.#notify.fromServer(connection.name, frame),
      onQuestion: (connection, question) => this.#question(connection, question),
    });
  }

  /** First of all what the host had asked for is asked for again, then the lists are walked. */
  #serverReady(connection: Connection): void {
    const port = this.#ports.get(connection.name)!;
    applyLevel(port, this.#levels);
    const again = this.#everReady.has(connection.name);
    this.#everReady.add(connection.name);
    if (again && port.declares("subscribe")) {
      for (const { original } of this.#subscriptions.of(connection.name)) this.#watchAgain(port, original);
      this.#notify.changedUnseen(connection.name);
    }
    this.catalogue.refresh(connection.name);
    this.#keepSoon(connection.name);
  }

  /** Not at once: the lists are being walked, and a server that changes them often is written seldom. */
  #keepSoon(server: string): void {
    if (this.#lastSeen === undefined || this.#keeping.has(server)) return;
    this.#keeping.set(server, setTimeout(() => void this.#keep(server), KEEP_MS).unref());
  }

  async #keep(server: string): Promise<void> {
    clearTimeout(this.#keeping.get(server));
    this.#keeping.delete(server);
    const lists = this.catalogue.stored(server);
    // A server that was not walked to the end of one list has nothing whole to keep.
    if (lists.size > 0) await this.#lastSeen?.keep(this.#byName.get(server)!.server, lists);
  }

  #watchAgain(port: ServerPort, uri: string): void {
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
  async #probe(owner: { server: string; original: string }): Promise<boolean> {
    const item = { server: owner.server, kind: "resource", original: owner.original } as const;
    if (this.policy.decide(item, this.#policyCaller()).effect !== "allow") return false;
    const port = this.#ports.get(owner.server)!;
    const frame = requestFrame("resources/read", { uri: owner.original });
    const timeouts = port.config.timeouts;
    const answer = await port
      .request({ method: frame.method!, compose: (id) => rewrite(frame, id, []), cancellation: undefined, timeouts })
      .catch(() => undefined);
    return answer !== undefined && !answer.isError && answer.text("contents") !== "[]";
  }

  #question(connection: Connection, { frame, cancellation, progress }: Question): Promise<Answer> {
    const row = rowOf(frame.method!);
    const { caller } = this.session;
    if (row === undefined || row.route !== "host" || caller === undefined) {
      return Promise.reject(new Fault("METHOD_NOT_FOUND", `Method not found: ${frame.method}`));
    }
    const trail = newTrail();
    trail.server = connection.name;
    return this.#handle({
      direction: "toHost",
      frame,
      row,
      caller,
      cancellation,
      trail,
      progress,
      server: connection.name,
      target: undefined,
    });
  }

  /** For reports: what became of each server. */
  connection(name: string): Connection | undefined {
    return this.#byName.get(name);
  }
}

/** Waits for `work`, but no longer than `ms`. */
export function within(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
