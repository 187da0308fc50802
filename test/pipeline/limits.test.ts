import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Fault } from "../../src/errors.ts";
import type { Answer, Handler, Permitted } from "../../src/exchange.ts";
import { limitsLayer } from "../../src/pipeline/limits/limits.ts";
import { answer, exchange, resolved, server } from "./support.ts";

/** A server that answers when told to. */
class Held {
  readonly started: string[] = [];
  most = 0;
  readonly #open: { name: string; end: (failed?: Error) => void }[] = [];
  readonly next: Handler<Permitted> = (one) => {
    const name = one.trail.name!;
    this.started.push(name);
    return new Promise<Answer>((resolve, reject) => {
      const end = (failed?: Error): void => (failed === undefined ? resolve(answer()) : reject(failed));
      this.#open.push({ name, end });
      this.most = Math.max(this.most, this.#open.length);
    });
  };
  get inFlight(): number {
    return this.#open.length;
  }
  end(failed?: Error): void {
    this.#open.shift()!.end(failed);
  }
  async endAll(): Promise<void> {
    while (this.#open.length > 0) {
      this.end();
      await turn();
    }
  }
}

function call(name: string, of = "db"): Permitted {
  return resolved(exchange("tools/call", { name }), { server: of, kind: "tool", original: name }) as Permitted;
}

async function limited(concurrency: number, queueLimit = 1000): Promise<{ held: Held; handle: Handler<Permitted> }> {
  const held = new Held();
  const handle = limitsLayer({ servers: [server("files"), server("db", { concurrency, queueLimit })] })(held.next);
  // p-queue is loaded by the first call.
  const first = handle(call("first"));
  while (held.inFlight === 0) await turn();
  await held.endAll();
  await first;
  held.started.length = 0;
  held.most = 0;
  return { held, handle };
}

describe("limits", () => {
  test("at most so many are in flight; the rest goes in the order it came", async () => {
    const { held, handle } = await limited(2);
    const names = Array.from({ length: 20 }, (_, i) => `call${i}`);
    const answers = names.map((name) => handle(call(name)));
    expect(held.inFlight).toBe(2);
    await held.endAll();
    await Promise.all(answers);
    expect(held.started).toEqual(names);
    expect(held.most).toBe(2);
  });

  test("order and limit hold for calls that come before the queue is there", async () => {
    const held = new Held();
    const handle = limitsLayer({ servers: [server("db", { concurrency: 1, queueLimit: 3 })] })(held.next);
    const calls = Array.from({ length: 5 }, (_, i) => handle(call(`call${i}`)));
    const outcomes = Promise.allSettled(calls);
    while (held.inFlight === 0) await turn();
    expect(held.inFlight).toBe(1);
    await held.endAll();
    expect((await outcomes).map((outcome) => outcome.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
    ]);
    expect(held.started).toEqual(["call0", "call1", "call2", "call3"]);
  });

  test("a server that fails frees its place", async () => {
    const { held, handle } = await limited(1);
    const first = handle(call("a"));
    const second = handle(call("b"));
    held.end(new Error("broken"));
    await expect(first).rejects.toThrow("broken");
    await turn();
    expect(held.started).toEqual(["a", "b"]);
    await held.endAll();
    await second;
  });

  test("one more than the queue takes is refused at once, readably, and may be sent again", async () => {
    const { held, handle } = await limited(1, 2);
    const waiting = ["a", "b", "c"].map((name) => handle(call(name)));
    const fault = await handle(call("d")).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "QUEUE_FULL", server: "db", retrySafe: true });
    expect((fault as Fault).message).toMatch(/"db" is busy: 1 requests are in flight and 2 are waiting/);
    await held.endAll();
    await Promise.all(waiting);
    expect(held.started).toEqual(["a", "b", "c"]);
  });

  test("a queue of length 0 refuses only while all places are taken", async () => {
    const { held, handle } = await limited(1, 0);
    const first = handle(call("a"));
    await expect(handle(call("b"))).rejects.toMatchObject({ code: "QUEUE_FULL" });
    await held.endAll();
    await first;
    await turn();
    const third = handle(call("c"));
    await held.endAll();
    await third;
    expect(held.started).toEqual(["a", "c"]);
  });

  test("a cancelled call leaves the queue at once, never starts, and makes room", async () => {
    const { held, handle } = await limited(1, 1);
    const first = handle(call("a"));
    const waiting = call("b");
    const second = handle(waiting);
    waiting.cancellation.cancel("the user gave up");
    await expect(second).rejects.toMatchObject({ code: "CANCELLED", server: "db", retrySafe: true });
    expect(waiting.trail.queuedMs).toBeGreaterThan(0);
    const third = handle(call("c"));
    await held.endAll();
    await Promise.all([first, third]);
    expect(held.started).toEqual(["a", "c"]);
  });

  test("a call that is cancelled before it comes is not started", async () => {
    const { held, handle } = await limited(1);
    const one = call("a");
    one.cancellation.cancel("gone");
    await expect(handle(one)).rejects.toMatchObject({ code: "CANCELLED" });
    expect(held.started).toEqual([]);
  });

  test("a running call keeps its place when it is cancelled, until the server lets go", async () => {
    const { held, handle } = await limited(1);
    const running = call("a");
    const waited = call("b");
    const first = handle(running);
    const second = handle(waited);
    running.cancellation.cancel("late");
    waited.cancellation.onCancel(() => {});
    await turn();
    expect(held.started).toEqual(["a"]);
    await held.endAll();
    await Promise.all([first, second]);
    const next = call("c");
    const fourth = handle(next);
    next.cancellation.cancel("late");
    await held.endAll();
    await fourth;
  });

  test("a server's question to the host never waits", async () => {
    const { held, handle } = await limited(1);
    const first = handle(call("a"));
    const question = { ...call("q"), direction: "toHost", target: { type: "host", server: "db" } } as const;
    const asked = handle(question as unknown as Permitted);
    expect(held.started).toEqual(["a", "q"]);
    await held.endAll();
    await Promise.all([first, asked]);
  });

  test("the time in the queue is on the trail, and none for who did not wait", async () => {
    const { held, handle } = await limited(1);
    const a = call("a");
    const b = call("b");
    const both = [handle(a), handle(b)];
    const since = performance.now();
    while (performance.now() - since < 5) await turn();
    await held.endAll();
    await Promise.all(both);
    expect(a.trail.queuedMs).toBe(0);
    expect(b.trail.queuedMs).toBeGreaterThanOrEqual(5);
  });

  test("servers without a limit are passed by: the very promise of the next layer comes back", async () => {
    const promise = Promise.resolve(answer());
    const handle = limitsLayer({ servers: [server("files"), server("db", { concurrency: 1 })] })(() => promise);
    expect(handle(call("a", "files"))).toBe(promise);
    const next: Handler<Permitted> = () => promise;
    expect(limitsLayer({ servers: [server("files")] })(next)).toBe(next);
  });
});
