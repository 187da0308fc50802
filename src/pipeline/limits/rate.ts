/**
 * How often one caller may use one item: the `limit` of the rules that allow it, which the decision carries. Behind
 * policy and before the user is asked: nobody is asked about a call that may not go out. Counted in the memory of this
 * process, in spans that begin with the first call.
 */
import type { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { Fault } from "../../errors.ts";
import type { Answer, Exchange, Handler, Judged, Layer, LimitOf } from "../../exchange.ts";

type Limiter = RateLimiterMemory | BurstyRateLimiter;
type Library = typeof import("rate-limiter-flexible");

/** A burst is counted over so many spans. */
const BURST_SPANS = 10;

/** The library is loaded by the first call that has a limit; others never wait. */
export function rateLayer(): Layer<Judged> {
  const limiters = new Map<string, Limiter>();
  let library: Library | undefined;

  const limiterOf = (limit: LimitOf): Limiter => {
    const known = limiters.get(limit.rule) ?? makeLimiter(library!, limit);
    limiters.set(limit.rule, known);
    return known;
  };

  async function pass(next: Handler<Judged>, exchange: Judged, limits: readonly LimitOf[]): Promise<Answer> {
    library ??= await import("rate-limiter-flexible");
    const key = keyOf(exchange);
    const refused = await firstRefusal(limits, (limit) => limiterOf(limit).consume(key));
    if (refused === undefined) return next(exchange);
    const { limit, waitMs } = refused;
    const decided = exchange.trail.decision;
    exchange.trail.decision = {
      effect: "deny",
      rule: `${limit.rule}.limit`,
      ...(decided?.reason === undefined ? {} : { reason: decided.reason }),
    };
    throw refusal(exchange, limit, waitMs);
  }

  return (next) => (exchange) => {
    const { limits } = exchange.trail.decision!;
    // Lists, subscriptions and completions use nothing up.
    return limits === undefined || exchange.row.route !== "item" ? next(exchange) : pass(next, exchange, limits);
  };
}

/** Of several limits the first that is used up; what the ones before it counted stays counted. */
async function firstRefusal(
  limits: readonly LimitOf[],
  consume: (limit: LimitOf) => Promise<RateLimiterRes>,
): Promise<{ limit: LimitOf; waitMs: number } | undefined> {
  for (const limit of limits) {
    try {
      await consume(limit);
    } catch (refused) {
      if (refused instanceof Error) throw refused;
      return { limit, waitMs: Math.max(1, Math.ceil((refused as RateLimiterRes).msBeforeNext)) };
    }
  }
  return undefined;
}

function makeLimiter({ RateLimiterMemory, BurstyRateLimiter }: Library, { calls, perMs, burst }: LimitOf): Limiter {
  const steady = new RateLimiterMemory({ points: calls, duration: perMs / 1000 });
  if (burst === undefined) return steady;
  return new BurstyRateLimiter(
    steady,
    new RateLimiterMemory({ points: burst, duration: (BURST_SPANS * perMs) / 1000, keyPrefix: "burst" }),
  );
}

function keyOf({ caller, trail }: Exchange): string {
  const { name } = caller.client;
  return JSON.stringify([name, caller.principal ?? null, trail.server, trail.name]);
}

function refusal({ trail }: Exchange, { calls, perMs }: LimitOf, retryAfterMs: number): Fault {
  const times = calls === 1 ? "once" : `${calls} times`;
  const text = `${trail.publicName} may be used ${times} in ${seconds(perMs)}. Nothing was sent. Try again in ${seconds(retryAfterMs)}`;
  return new Fault("RATE_LIMITED", text, {
    ...(trail.server === undefined ? {} : { server: trail.server }),
    retrySafe: true,
    data: { retryAfterMs, limit: { calls, perMs } },
  });
}

/** "850 ms", "2.4 s". */
function seconds(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return `${Number((ms / 1_000).toFixed(1))} s`;
}
