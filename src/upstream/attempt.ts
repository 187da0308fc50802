/** The pieces of one attempt to reach a server: a leg that may go at any moment, and the clock of `connectMs`. */
import { Fault } from "../errors.ts";
import type { Cancellation } from "../exchange.ts";
import { type Leg, type LegClosed, LegError, type LegEvents } from "../wire/leg.ts";

export interface Opening {
  /** Opens the leg, within `connectMs`. */
  open(): Promise<void>;
  /** `work`, unless the leg goes first: then it rejects with the reason. */
  orGone<T>(work: Promise<T>): Promise<T>;
}

export function openLeg(leg: Leg, connectMs: number, events: LegEvents): Opening {
  let fail: (error: LegError) => void = () => {};
  const gone = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Nobody may be waiting when the leg goes: that is not an unhandled rejection, `events.closed` has told it.
  gone.catch(() => {});
  const orGone = <T>(work: Promise<T>): Promise<T> => Promise.race([work, gone]);
  const opened = (): Promise<void> =>
    leg.open({
      ...events,
      closed: (why) => {
        fail(new LegError(why.needsLogin ? "unauthorized" : "closed", describe(why), { delivered: "unknown" }));
        events.closed(why);
      },
    });
  return { open: () => orGone(inTime(connectMs, opened())), orGone };
}

/** Rejects when `connectMs` is over; what was begun is then dropped by the caller. */
export function inTime<T>(connectMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const text = `no answer within ${connectMs} ms (timeouts.connectMs)`;
    const timer = setTimeout(() => reject(new Fault("DEADLINE_EXCEEDED", text)), connectMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Why a leg ended, with the child's last words. */
export function describe(why: LegClosed): string {
  const tail = why.stderrTail?.length ? `; last lines of its stderr: ${why.stderrTail.slice(-3).join(" | ")}` : "";
  return why.reason + tail;
}

/** Waits, but not longer than the one who waits wants to. */
export function settledOrCancelled(settled: Promise<void>, cancellation: Cancellation | undefined): Promise<void> {
  if (cancellation === undefined) return settled;
  return new Promise((resolve, reject) => {
    const take = cancellation.onCancel((reason) => reject(new Fault("CANCELLED", reason)));
    settled.then(() => {
      take();
      resolve();
    }, reject);
  });
}

/** Something to wait for that somebody else opens, once. */
export interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
