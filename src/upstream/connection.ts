/**
 * One server, as long as Switchyard runs: starts it, shakes hands, sends requests, notices when it is gone and brings it
 * back. States: idle → connecting → ready → (backoff → connecting …) → draining → closed; "needs-login" is a parked state.
 * A server in trouble never delays another: each connection has its own attempt and its own back-off.
 */
import type { ServerConfig } from "../config/types.ts";
import type { Fault } from "../errors.ts";
import type { Answer } from "../exchange.ts";
import type { Log } from "../log.ts";
import type { Frame } from "../wire/frame.ts";
import { type Leg, type LegClosed, LegError } from "../wire/leg.ts";
import { describe, gate, inTime, openLeg, settledOrCancelled } from "./attempt.ts";
import { backoffMs } from "./backoff.ts";
import { type HostView, type ServerHello, shakeHands } from "./handshake.ts";
import { incoming } from "./incoming.ts";
import { type Question, Questions } from "./questions.ts";
import { faultOf, type RequestSpec, Requests } from "./requests.ts";
import { type ConnectionState, type Trouble, unavailableFault } from "./state.ts";
import { runTask } from "./tasks.ts";

export interface ConnectionOptions {
  readonly server: ServerConfig;
  readonly version: string;
  readonly log: Log;
  createLeg(): Leg;
  /** The handshake is done: for the first time, or again (a restarted process, a renewed HTTP session). */
  onReady(connection: Connection): void;
  /** The server is gone, or an attempt to reach it failed. */
  onDown(connection: Connection): void;
  onNotification(connection: Connection, frame: Frame): void;
  onQuestion(connection: Connection, question: Question): Promise<Answer>;
}

/** A connection that served this long was a healthy one: the next failure starts counting anew. */
const HEALTHY_MS = 10_000;
const RESENDS = 2;

export class Connection {
  readonly server: ServerConfig;
  readonly #options: ConnectionOptions;
  readonly #requests: Requests;
  readonly #questions: Questions;
  readonly #take: (frame: Frame, of: number | undefined) => void;
  #state: ConnectionState = "idle";
  #leg: Leg | undefined;
  /** Counts legs and HTTP sessions: what belongs to an older one is stale. */
  #generation = 0;
  #host: HostView | undefined;
  readonly #hostKnown = gate();
  #hello: ServerHello | undefined;
  #trouble: Trouble | undefined;
  #failures = 0;
  #served = false;
  #readyAt = 0;
  #connectMs: number | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Passed when the attempt under way has succeeded or failed. */
  #settled = gate();
  #renewal: Promise<void> | undefined;
  #paused = false;

  constructor(options: ConnectionOptions) {
    this.server = options.server;
    this.#options = options;
    this.#requests = new Requests(options.server.name);
    this.#questions = new Questions(
      (question) => options.onQuestion(this, question),
      (chunks, kind) => this.#tell(chunks, kind),
      { once: options.server.target.type !== "stdio", log: options.log },
    );
    this.#take = incoming({
      server: this.name,
      log: options.log,
      requests: this.#requests,
      questions: this.#questions,
      notified: (frame) => options.onNotification(this, frame),
    });
  }

  get name(): string {
    return this.server.name;
  }
  get state(): ConnectionState {
    return this.#state;
  }
  get hello(): ServerHello | undefined {
    return this.#hello;
  }
  get trouble(): Trouble | undefined {
    return this.#trouble;
  }
  get connectMs(): number | undefined {
    return this.#connectMs;
  }
  /** Resolves when the attempt under way has succeeded or failed; at once if there is none. */
  settled(): Promise<void> {
    return this.#state === "connecting" ? this.#settled.passed : Promise.resolve();
  }

  /** Spawns or dials at once; the handshake follows when the host is known. */
  start(): void {
    if (this.#state === "idle") void this.#attempt();
  }

  /** The host's capabilities are known: servers may be told of them. */
  greet(host: HostView): void {
    this.#host = host;
    this.#hostKnown.open();
  }

  /** Sends a request and resolves with its response frame; rejects with a Fault. */
  request(spec: RequestSpec): Promise<Frame> {
    if (this.#state !== "ready") return this.#requestLater(spec);
    const generation = this.#generation;
    // Our own list walks do not count: a server that dies after each of them is not a healthy one.
    if (spec.cancellation !== undefined) this.#served = true;
    return this.#requests.send(this.#leg!, spec).catch((error: unknown) => this.#again(spec, generation, error, 1));
  }

  /** tools/call of a tool that runs only as a task, as one blocking request. */
  requestAsTask(spec: RequestSpec): Promise<Frame> {
    return runTask(this.name, spec, {
      request: (part) => this.request(part),
      forget: (token) => this.#requests.forget(token),
      note: (error) =>
        this.#options.log.warn({ server: this.name, reason: String(error) }, "a task could not be cancelled"),
    });
  }

  /** Sends a notification if the server is there; a server that is not has nothing to be told. */
  notify(chunks: readonly Buffer[]): void {
    if (this.#state === "ready") this.#tell(chunks, "notification");
  }

  pause(): void {
    this.#paused = true;
    this.#leg?.pause();
  }
  resume(): void {
    this.#paused = false;
    this.#leg?.resume();
  }

  /** Ends the server in order (see Leg.close). */
  async close(graceMs: number): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "draining";
    clearTimeout(this.#retry);
    this.#hostKnown.open();
    await this.#leg?.close(graceMs);
    this.#state = "closed";
    this.#requests.lost({ reason: "was stopped", expected: true });
    this.#questions.endAll("the server was stopped");
    this.#settled.open();
  }

  // --- connecting -----------------------------------------------------------------------------------------------------

  async #attempt(): Promise<void> {
    this.#state = "connecting";
    this.#hello = undefined;
    this.#generation += 1;
    const startedAt = performance.now();
    const leg = this.#options.createLeg();
    this.#leg = leg;
    if (this.#paused) leg.pause();
    const mine = (): boolean => this.#leg === leg;
    const opening = openLeg(leg, this.server.timeouts.connectMs, {
      frame: (frame, of) => {
        if (mine()) this.#take(frame, of);
      },
      failed: (id, error) => {
        if (mine()) this.#requests.failed(id, error);
      },
      closed: (why) => {
        if (mine()) this.#lost(leg, why);
      },
      sessionLost: () => {
        if (mine() && this.#state === "ready") void this.#renew(this.#generation);
      },
    });
    let stage: Trouble["stage"] = "spawn";
    try {
      await opening.open();
      await opening.orGone(this.#hostKnown.passed);
      if (this.#state !== "connecting") return;
      stage = "initialize";
      await opening.orGone(this.#handshake(leg));
    } catch (error) {
      if (mine() && this.#state === "connecting") this.#failed(leg, stage, error);
      return;
    }
    if (mine() && this.#state === "connecting") {
      this.#connectMs = performance.now() - startedAt;
      this.#becomeReady();
    }
  }

  async #handshake(leg: Leg): Promise<void> {
    const { connectMs } = this.server.timeouts;
    const send = (spec: RequestSpec): Promise<Frame> => this.#requests.send(leg, spec);
    this.#hello = await inTime(connectMs, shakeHands(leg, send, this.#host!, this.#options.version));
  }

  #becomeReady(): void {
    this.#state = "ready";
    this.#trouble = undefined;
    this.#readyAt = performance.now();
    this.#served = false;
    const { name, version } = this.#hello!.info;
    const fields = { server: this.name, revision: this.#hello!.revision, serverInfo: `${name} ${version}` };
    this.#options.log.info({ ...fields, ms: Math.round(this.#connectMs ?? 0) }, "server ready");
    this.#options.onReady(this);
    this.#newSettled();
  }

  #failed(leg: Leg, stage: Trouble["stage"], error: unknown): void {
    const login = error instanceof LegError && error.reason === "unauthorized";
    const reason = error instanceof Error ? error.message : String(error);
    this.#leg = undefined;
    this.#questions.endAll("the server is gone");
    void leg.close(1000);
    this.#failures += 1;
    if (login) {
      this.#state = "needs-login";
      this.#trouble = { stage: "auth", reason, nextRetryMs: undefined };
      this.#options.log.error(
        { server: this.name, stage: "auth", reason },
        "server needs a login and is parked until then",
      );
    } else {
      this.#backOff(stage, reason);
    }
    this.#options.onDown(this);
    this.#newSettled();
  }

  #backOff(stage: Trouble["stage"], reason: string): void {
    const nextRetryMs = backoffMs(this.#failures);
    this.#state = "backoff";
    this.#trouble = { stage, reason, nextRetryMs };
    this.#options.log.error({ server: this.name, stage, reason, nextRetryMs }, "server not available");
    this.#retry = setTimeout(() => void this.#attempt(), nextRetryMs);
    this.#retry.unref();
  }

  /**
   * The leg ended under us. A server that was healthy is brought back at once, and calls that come meanwhile wait for
   * that one attempt; one that keeps dying is retried with back-off.
   */
  #lost(leg: Leg, why: LegClosed): void {
    this.#requests.lost(why);
    this.#questions.endAll("the server is gone");
    if (this.#state !== "ready") return;
    this.#leg = undefined;
    void leg.close(1000);
    const reason = describe(why);
    if (this.#served || performance.now() - this.#readyAt > HEALTHY_MS) this.#failures = 0;
    this.#failures += 1;
    if (this.#failures === 1) {
      this.#trouble = { stage: "lost", reason, nextRetryMs: 0 };
      this.#options.log.warn(
        { server: this.name, stage: "lost", reason, nextRetryMs: 0 },
        "server lost, starting it again",
      );
      void this.#attempt();
    } else {
      this.#backOff("lost", reason);
    }
    this.#options.onDown(this);
  }

  /** HTTP 404 on our session: one new handshake on the same leg, however many requests met it (spec.md §1.17). */
  #renew(generation: number): Promise<void> {
    if (this.#generation !== generation) return this.#renewal ?? this.settled();
    this.#generation += 1;
    this.#state = "connecting";
    this.#questions.endAll("the server's session is gone");
    const leg = this.#leg!;
    this.#options.log.warn({ server: this.name }, "server lost its session, opening another");
    this.#renewal = this.#handshake(leg).then(
      () => {
        if (this.#leg === leg && this.#state === "connecting") this.#becomeReady();
      },
      (error: unknown) => {
        if (this.#leg === leg && this.#state === "connecting") this.#failed(leg, "initialize", error);
      },
    );
    return this.#renewal;
  }

  #newSettled(): void {
    this.#settled.open();
    this.#settled = gate();
  }

  // --- requests -------------------------------------------------------------------------------------------------------

  async #requestLater(spec: RequestSpec): Promise<Frame> {
    if (this.#state === "connecting") await settledOrCancelled(this.#settled.passed, spec.cancellation);
    if (this.#state !== "ready") throw this.unavailable();
    return this.request(spec);
  }

  /** Sends again only what certainly was not taken. */
  async #again(spec: RequestSpec, generation: number, error: unknown, resends: number): Promise<Frame> {
    if (!(error instanceof LegError)) throw error;
    const fault = faultOf(this.name, spec.method, error);
    if (error.reason === "unauthorized") {
      this.#options.log.warn({ server: this.name, stage: "auth", method: spec.method }, error.message);
    }
    if (error.delivered !== "no" || resends > RESENDS) throw fault;
    if (error.reason === "session-lost") await settledOrCancelled(this.#renew(generation), spec.cancellation);
    else if (error.reason === "closed" && this.#state === "connecting")
      await settledOrCancelled(this.#settled.passed, spec.cancellation);
    else throw fault;
    if (this.#state !== "ready") throw this.unavailable();
    const next = this.#generation;
    return this.#requests.send(this.#leg!, spec).catch((again: unknown) => this.#again(spec, next, again, resends + 1));
  }

  /** Why nothing can be sent right now. */
  unavailable(): Fault {
    return unavailableFault(this.name, this.#state, this.#trouble);
  }

  #tell(chunks: readonly Buffer[], kind: "response" | "notification"): void {
    try {
      this.#leg?.send({ chunks, kind });
    } catch (error) {
      if (!(error instanceof LegError)) throw error;
      this.#options.log.debug({ server: this.name, reason: error.message }, `a ${kind} could not be sent`);
    }
  }
}
