/**
 * The order in which messages leave over HTTP, where each is a request of its own and later ones may overtake earlier
 * ones on the way. Kept is what matters: nothing leaves while `initialize` has no session yet, nothing overtakes
 * `notifications/initialized`, and a notification (a cancel, say) is not written before the requests that were sent before
 * it are; which of two connections a server reads first is its own affair. Also the bound on what waits to be taken by a
 * server that does not read.
 */
import { LegError, type Outgoing } from "../../wire/leg.ts";

/** Bytes that may be on their way, the message that exceeds them included. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A server that never answers `notifications/initialized` does not hold up the rest for ever. */
const INITIALIZED_MS = 5000;

/** How a message fares; each may be called more than once. */
export interface Ticket {
  /** It is being written. */
  started(): void;
  /** The response has begun, or there will be none. */
  headed(): void;
}

type Dispatch = (message: Outgoing, body: Buffer, ticket: Ticket) => void;

interface Waiting {
  readonly message: Outgoing;
  readonly bytes: number;
}

export class SendOrder {
  readonly #dispatch: Dispatch;
  readonly #queue: Waiting[] = [];
  #waitingBytes = 0;
  #unstarted = 0;
  #barrier = false;

  constructor(dispatch: Dispatch) {
    this.#dispatch = dispatch;
  }

  /** Throws a LegError if too much waits already. Answers and cancels are taken for longer than requests. */
  add(message: Outgoing): void {
    if (this.#waitingBytes > (message.kind === "request" ? MAX_WAITING_BYTES : 2 * MAX_WAITING_BYTES)) {
      const text = `the server does not take what is sent to it: ${this.#waitingBytes} bytes are waiting`;
      throw new LegError("full", text, { delivered: "no" });
    }
    const bytes = message.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#waitingBytes += bytes;
    this.#queue.push({ message, bytes });
    this.#pump();
  }

  /** Takes back a request that has not left yet. */
  remove(id: number): boolean {
    const at = this.#queue.findIndex(({ message }) => message.id === id);
    if (at < 0) return false;
    const [removed] = this.#queue.splice(at, 1);
    this.#waitingBytes -= removed!.bytes;
    return true;
  }

  clear(): void {
    this.#queue.length = 0;
  }

  #pump(): void {
    for (let next = this.#queue[0]; next !== undefined && !this.#barrier; next = this.#queue[0]) {
      if (next.message.kind === "notification" && this.#unstarted > 0) return;
      this.#queue.shift();
      this.#start(next);
    }
  }

  #start({ message, bytes }: Waiting): void {
    const { method, chunks } = message;
    const initialized = method === "notifications/initialized";
    let blocks = initialized || method === "initialize";
    let started = false;
    let headed = false;
    let timer: NodeJS.Timeout | undefined;
    const open = (): void => {
      clearTimeout(timer);
      // Once only: by the time of a second call the barrier may be another message's.
      if (blocks) this.#barrier = false;
      blocks = false;
      this.#pump();
    };
    const start = (): void => {
      if (started) return;
      started = true;
      this.#unstarted -= 1;
      this.#pump();
    };
    this.#unstarted += 1;
    this.#barrier = blocks;
    if (initialized) timer = setTimeout(open, INITIALIZED_MS).unref();
    this.#dispatch(message, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes), {
      started: start,
      headed: () => {
        if (headed) return;
        headed = true;
        this.#waitingBytes -= bytes;
        start();
        open();
      },
    });
  }
}
