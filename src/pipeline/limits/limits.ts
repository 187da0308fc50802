/**
 * Fourth layer: at most `concurrency` requests in flight to one server; the rest wait in order, at most `queueLimit`.
 * Only requests to an item wait. A server's question to the host never does: the call that it belongs to holds the slot
 * that it would wait for.
 */
import type PQueue from "p-queue";
import type { ServerConfig } from "../../config/types.ts";
import { Fault } from "../../errors.ts";
import type { Answer, Exchange, Handler, Layer, Permitted } from "../../exchange.ts";

type LimitedServer = Pick<ServerConfig, "name" | "concurrency" | "queueLimit">;

interface Gate {
  readonly server: string;
  readonly concurrency: number;
  readonly queueLimit: number;
  readonly queue: PQueue;
}

/** p-queue is loaded only if some server has a limit; what comes before it is there waits for it, in order. */
export function limitsLayer(config: { servers: readonly LimitedServer[] }): Layer<Permitted> {
  const limited = new Map<string, LimitedServer & { concurrency: number }>();
  for (const server of config.servers) {
    if (server.concurrency !== undefined) limited.set(server.name, { ...server, concurrency: server.concurrency });
  }
  if (limited.size === 0) return (next) => next;

  let gates: ReadonlyMap<string, Gate> | undefined;
  const loading = import("p-queue").then((module) => {
    const made = new Map<string, Gate>();
    for (const { name, concurrency, queueLimit } of limited.values()) {
      made.set(name, { server: name, concurrency, queueLimit, queue: new module.default({ concurrency }) });
    }
    gates = made;
    return made;
  });
  // Whoever waits for it hears of a failure; that nobody waits yet must not end the process.
  loading.catch(() => {});

  return (next) => (exchange) => {
    if (exchange.direction === "toHost" || exchange.target.type !== "item" || !limited.has(exchange.target.server)) {
      return next(exchange);
    }
    const { server } = exchange.target;
    if (gates !== undefined) return pass(gates.get(server)!, next, exchange);
    return loading.then((made) => pass(made.get(server)!, next, exchange));
  };
}

function pass(gate: Gate, next: Handler<Permitted>, exchange: Permitted): Promise<Answer> {
  const { queue, server, queueLimit, concurrency } = gate;
  const { cancellation } = exchange;
  if (cancellation.cancelled) return Promise.reject(cancelledWhileWaiting(exchange, server));
  if (queue.pending < concurrency && queue.size === 0) return queue.add(() => next(exchange));
  if (queue.size >= queueLimit) return Promise.reject(queueFull(gate));
  const since = performance.now();
  const abort = new AbortController();
  const stopListening = cancellation.onCancel(() => {
    exchange.trail.queuedMs += performance.now() - since;
    abort.abort(cancelledWhileWaiting(exchange, server));
  });
  return queue.add(
    () => {
      // From here on cancelling is the next layer's; the slot is held until the server has really been let go.
      stopListening();
      exchange.trail.queuedMs += performance.now() - since;
      return next(exchange);
    },
    { signal: abort.signal },
  );
}

function cancelledWhileWaiting(exchange: Exchange, server: string): Fault {
  const reason = exchange.cancellation.reason ?? "";
  return new Fault("CANCELLED", `Cancelled while waiting for ${server}${reason === "" ? "" : `: ${reason}`}`, {
    server,
    retrySafe: true,
  });
}

function queueFull({ server, concurrency, queueLimit }: Gate): Fault {
  return new Fault(
    "QUEUE_FULL",
    `Server "${server}" is busy: ${concurrency} requests are in flight and ${queueLimit} are waiting. ` +
      `Nothing was sent. Try again later, or raise "concurrency" or "queueLimit" of mcpServers.${server}.`,
    { server, retrySafe: true, data: { concurrency, queueLimit } },
  );
}
