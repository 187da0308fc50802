/**
 * The leg of an entry with `url` and no `type`: Streamable HTTP first; if `initialize` is refused there, the old
 * HTTP+SSE (spec.md R37). 401, 403, 5xx and a lost network say nothing about the transport and never switch.
 */
import { type Leg, LegError, type LegEvents, type Outgoing } from "../../wire/leg.ts";
import { createHttpLeg, type HttpLegOptions } from "./http.ts";
import { createSseLeg } from "./sse.ts";

export function createHttpAutoLeg(options: HttpLegOptions): Leg {
  return new HttpAutoLeg(options);
}

class HttpAutoLeg implements Leg {
  readonly #options: HttpLegOptions;
  readonly #http: Leg;
  #leg: Leg;
  #events: LegEvents | undefined;
  /** The `initialize` whose outcome decides, while it is under way. */
  #probe: Outgoing | undefined;
  /** Set once Streamable HTTP has answered one, or HTTP+SSE was turned to. */
  #decided = false;
  /** Sent while the other transport is being opened. */
  #held: Outgoing[] | undefined;
  #paused = false;
  #closing = false;

  constructor(options: HttpLegOptions) {
    this.#options = options;
    this.#http = createHttpLeg(options);
    this.#leg = this.#http;
  }

  open(events: LegEvents): Promise<void> {
    this.#events = events;
    return this.#http.open({
      frame: (frame, of) => {
        if (frame.kind === "response" && frame.idText === String(this.#probe?.id)) {
          this.#probe = undefined;
          this.#decided = true;
        }
        events.frame(frame, of);
      },
      failed: (id, error) => {
        const probe = this.#probe;
        if (id !== probe?.id) return events.failed(id, error);
        this.#probe = undefined;
        if (meansOtherTransport(error)) void this.#switch(probe, error);
        else events.failed(id, error);
      },
      sessionLost: () => events.sessionLost?.(),
      closed: (why) => {
        if (this.#leg === this.#http) events.closed(why);
      },
    });
  }

  async #switch(probe: Outgoing, refusal: LegError): Promise<void> {
    const { server, log } = this.#options;
    const events = this.#events!;
    const id = probe.id!;
    const sse = createSseLeg(this.#options);
    this.#leg = sse;
    this.#decided = true;
    this.#held = [probe];
    void this.#http.close(0);
    if (this.#paused) sse.pause();
    log.info({ server, status: refusal.status }, "initialize was refused on Streamable HTTP: trying HTTP+SSE");
    let opened = false;
    try {
      await sse.open({
        frame: (frame) => events.frame(frame),
        failed: (failedId, error) => events.failed(failedId, error),
        closed: (why) => {
          if (!opened && !this.#closing) events.failed(id, bothRefused(refusal, why.reason));
          events.closed(why);
        },
      });
      opened = true;
      const held = this.#held;
      this.#held = undefined;
      for (const message of held) sse.send(message);
    } catch {
      // `closed` has told it.
      this.#held = undefined;
    }
  }

  send(message: Outgoing): void {
    if (this.#held !== undefined) {
      this.#held.push(message);
      return;
    }
    if (!this.#decided && message.method === "initialize") this.#probe = message;
    this.#leg.send(message);
  }

  negotiated(revision: string): void {
    this.#leg.negotiated?.(revision);
  }

  abandon(id: number): void {
    if (this.#held === undefined) this.#leg.abandon?.(id);
    else this.#held = this.#held.filter((message) => message.id !== id);
  }

  pause(): void {
    this.#paused = true;
    this.#leg.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#leg.resume();
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    await this.#leg.close(graceMs);
    await this.#http.close(graceMs);
  }
}

function meansOtherTransport({ reason, status }: LegError): boolean {
  if (reason !== "status" || status === undefined || status < 400 || status >= 500) return false;
  // 407, 408 and 429 come from what is in between, or say "later".
  return ![401, 403, 407, 408, 429].includes(status);
}

function bothRefused(refusal: LegError, sse: string): LegError {
  const message = `neither Streamable HTTP (${refusal.message}) nor HTTP+SSE (${sse}) works at this address`;
  const status = refusal.status;
  return new LegError("status", message, { delivered: "no", ...(status === undefined ? {} : { status }) });
}
