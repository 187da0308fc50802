/**
 * READ FIRST. Builds the whole from a Config: the legs that face hosts, the layers, the router, the legs that face servers.
 * The folders do not know each other; they are introduced here, by passing functions. A `tools/call` goes
 *
 *   downstream/stdio → downstream/session → pipeline/audit → router/resolve → pipeline/policy → pipeline/pins
 *     → pipeline/approval → pipeline/limits → router/dispatch → upstream/connection → upstream/requests → upstream/legs
 *     → the server
 *
 * and its answer the same way back; router/answers touches it only where the protocol makes that the proxy's business.
 */

import { userOf } from "./approvals.ts";
import type { Config, ServerConfig } from "./config/types.ts";
import { connect } from "./connect.ts";
import type { HostFacts } from "./downstream/facts.ts";
import { mergeCapabilities, mergeInstructions, type ServerFacts } from "./downstream/handshake.ts";
import { HostSession } from "./downstream/session.ts";
import { Fault } from "./errors.ts";
import {
  type Answer,
  type Exchange,
  type Handler,
  type Judged,
  newTrail,
  type Permitted,
  type PolicyItem,
} from "./exchange.ts";
import { hostView, passToServers } from "./hostview.ts";
import { LastSeen } from "./lastseen.ts";
import type { Log } from "./log.ts";
import { Pinning } from "./pinning.ts";
import { approvalLayer } from "./pipeline/approval/layer.ts";
import { auditLayer } from "./pipeline/audit/layer.ts";
import { eventLine } from "./pipeline/audit/record.ts";
import { type AuditSink, openAudit } from "./pipeline/audit/sink.ts";
import { limitsLayer } from "./pipeline/limits/limits.ts";
import { rateLayer } from "./pipeline/limits/rate.ts";
import { resultCapLayer } from "./pipeline/limits/result-cap.ts";
import { pinsLayer } from "./pipeline/pins/layer.ts";
import { compilePolicy, type Policy, type PolicyCaller, policyLayer } from "./pipeline/policy/policy.ts";
import { serverPort, source } from "./ports.ts";
import { makeRedactor } from "./redact/redact.ts";
import { hasResource, knock, watchAgain } from "./requests.ts";
import { AnswerRules } from "./router/answers.ts";
import { Catalogue, type CatalogueSetup } from "./router/catalogue.ts";
import { applyLevel, dispatcher } from "./router/dispatch.ts";
import { Elicitations } from "./router/elicitations.ts";
import type { Host } from "./router/hosts.ts";
import { Levels } from "./router/levels.ts";
import { Notify } from "./router/notify.ts";
import type { ServerPort } from "./router/ports.ts";
import { Questions } from "./router/questions.ts";
import { resolveLayer } from "./router/resolve.ts";
import { Subscriptions } from "./router/subscriptions.ts";
import type { Connection } from "./upstream/connection.ts";
import type { Question } from "./upstream/questions.ts";
import { type MethodRow, rowOf } from "./wire/methods.ts";
import { createSealer } from "./wire/seal.ts";
import { within } from "./within.ts";

export interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
  /** Ours, for serverInfo and clientInfo. */
  readonly version: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Folder where what each server offers is kept for the next start; none is kept without. */
  readonly cacheFolder?: string;
  /** Whether what is seen of a server for the first time is pinned. Default true. */
  readonly learnPins?: boolean;
}

/** How long each step of stopping a server may take: after EOF, after SIGTERM. */
const STOP_STEP_MS = 1500;
/** The same when the host insists: it sends SIGKILL two seconds later, and then nobody is left to stop them. */
const HURRIED_STEP_MS = 400;

/** Everything between one host and its servers. */
export class SwitchyardProxy {
  readonly catalogue: Catalogue;
  readonly policy: Policy;
  readonly pinning: Pinning;
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
  readonly #setup: CatalogueSetup;
  readonly #waited = new Set<string>();
  readonly #everReady = new Set<string>();
  readonly #lastSeen: LastSeen | undefined;
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
    this.#setup = {
      config,
      sources: this.connections.map(source),
      viewKey: "",
      visible: (item) => this.#isVisible(item),
    };
    this.pinning = new Pinning({
      file: config.file,
      servers: config.servers,
      learns: options.learnPins ?? true,
      log,
      listsUri: (server, uri) => this.catalogue.listsUri(server, uri),
      record: (fields) => void this.#sink?.append(eventLine("pin", fields, redactor)).catch(() => {}),
      changed: () => this.catalogue.reconfigure(this.#setup),
    });
    this.catalogue = new Catalogue({
      ...this.#setup,
      log,
      sealer: createSealer(),
      listed: (server, method, items, from) => this.pinning.listed(server, method, items, from),
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
    const redactor = makeRedactor(redactions);
    // The first layer sees a request first and its outcome last: what is denied, refused or cancelled is recorded too.
    const audit = auditLayer(this.#sink, { payloads: config.audit?.payloads ?? "none", ...redactions });
    const resolve = resolveLayer({
      catalogue: this.catalogue,
      shows: this.#setup.visible,
      hides: (server) => this.policy.mayHideResources(server) || this.pinning.enforces(server),
      probe: (owner) => this.#probe(owner),
      knock: (server) => knock(this.#ports.get(server)!),
      settle: (item) => (this.pinning.enforces(item.server) ? this.catalogue.current(item) : undefined),
    });
    const policy = policyLayer(this.policy);
    const rates = rateLayer();
    const limits = limitsLayer({ servers: config.servers });
    const cap = resultCapLayer({ servers: config.servers });
    const approval = approvalLayer(userOf(() => this.#host));
    const pins = pinsLayer<Judged>(this.pinning);
    const pinsStill = pinsLayer<Permitted>(this.pinning);
    this.#handle = audit(resolve(policy(pins(rates(approval(limits(cap(pinsStill(dispatch)))))))));

    this.session = new HostSession({
      write,
      handle: this.#handle,
      log,
      initialize: (host) => this.#initialize(host),
      offered: (row) => this.#isOffered(row),
      notified: (frame) =>
        passToServers(frame, this.#host?.capabilities, this.connections, this.policy, this.#policyCaller()),
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
  async close(hurried = false): Promise<void> {
    this.session.close("Switchyard is shutting down");
    // A server that is not read cannot be seen to end; what it still says goes to nobody.
    this.pressed(false);
    this.pinning.close();
    await this.#lastSeen?.close();
    await Promise.all(this.connections.map((connection) => connection.close(hurried ? HURRIED_STEP_MS : STOP_STEP_MS)));
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
    // What was listed of an earlier start was judged for nobody yet.
    if (this.policy.perCaller) this.catalogue.reconfigure(this.#setup);
    const view = { capabilities: facts.capabilities, staticRoots: config.roots !== undefined };
    const who = this.#policyCaller();
    for (const connection of this.connections) connection.greet(hostView(this.policy, connection.name, who, view));
    await within(config.timeouts.startupMs, Promise.all(this.connections.map((connection) => connection.settled())));
    const servers: ServerFacts[] = this.connections.map(({ name, hello }) => ({
      name,
      capabilities: hello?.capabilities,
      ...this.pinning.introduction(name, hello?.info.title, hello?.instructions),
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

  /** Of an item that is not visible: which rule or pin hides it, and the reason it gives. */
  whyHidden(item: PolicyItem): string {
    const decided = this.policy.decide(item, this.#policyCaller());
    const { rule, reason } = decided.effect === "deny" ? decided : (this.pinning.refusal(item) ?? decided);
    return `hidden by ${rule === "pin" ? "pin" : `policy, ${rule}`}${reason === undefined ? "" : `: ${reason}`}`;
  }

  #isVisible(item: PolicyItem): boolean {
    return this.policy.decide(item, this.#policyCaller()).effect !== "deny" && this.pinning.refusal(item) === undefined;
  }

  #policyCaller(): PolicyCaller {
    const { name = "", version = "" } = this.session.host?.client ?? {};
    return { client: name, version, principal: undefined };
  }

  // --- towards the servers --------------------------------------------------------------------------------------------

  #connection(server: ServerConfig): Connection {
    return connect(server, this.#options, {
      onReady: (connection) => this.#serverReady(connection),
      onDown: () => {},
      onNotification: (connection, frame) => this.#notify.fromServer(connection.name, frame),
      onQuestion: (connection, question) => this.#question(connection, question),
    });
  }

  /** First of all what the host had asked for is asked for again, then the lists are walked. */
  #serverReady(connection: Connection): void {
    const port = this.#ports.get(connection.name)!;
    this.pinning.greeted(connection.name, connection.hello?.instructions);
    applyLevel(port, this.#levels);
    const again = this.#everReady.has(connection.name);
    this.#everReady.add(connection.name);
    if (again && port.declares("subscribe")) {
      for (const { original } of this.#subscriptions.of(connection.name)) watchAgain(port, original);
      this.#notify.changedUnseen(connection.name);
    }
    this.catalogue.refresh(connection.name);
    this.#lastSeen?.keepSoon(connection.server, () => this.catalogue.stored(connection.name));
  }

  /** Does this server have the URI? Asked by reading, the one request without side effects by intent. */
  async #probe(owner: { server: string; original: string }): Promise<boolean> {
    const port = this.#ports.get(owner.server)!;
    const item = this.catalogue.resource(owner);
    const mayAsk = this.policy.decide(item, this.#policyCaller()).effect === "allow" && !this.pinning.refusal(item);
    if (mayAsk) return hasResource(port, owner.original);
    await knock(port).catch(() => {});
    return false;
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
