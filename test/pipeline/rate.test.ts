import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fault } from "../../src/errors.ts";
import type { Answer, Caller, Judged, LimitOf } from "../../src/exchange.ts";
import { rateLayer } from "../../src/pipeline/limits/rate.ts";
import { faultToError } from "../../src/wire/codes.ts";
import { answer, caller, exchange, resolved } from "./support.ts";

const FIVE: LimitOf = { rule: "rules[0]", calls: 5, perMs: 10_000 };

function call(
  name: string,
  limits: readonly LimitOf[] | undefined,
  by: Caller = caller,
  method = "tools/call",
): Judged {
  const one = resolved(exchange(method, { name }, { caller: by }), { server: "db", kind: "tool", original: name });
  one.trail.decision = { effect: "allow", rule: "rules[0]", ...(limits === undefined ? {} : { limits }) };
  return one as Judged;
}

function limited() {
  const reached: string[] = [];
  const handle = rateLayer()((one): Promise<Answer> => {
    reached.push(one.trail.name!);
    return Promise.resolve(answer());
  });
  const outcome = (one: Judged): Promise<Fault | "ok"> =>
    handle(one).then(
      () => "ok" as const,
      (error: unknown) => error as Fault,
    );
  return { reached, outcome };
}

describe("a limit", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("of 5 in 10 s lets 5 of 8 through, and the others are told when to try again (J8)", async () => {
    const { reached, outcome } = limited();
    const outcomes = [];
    for (let i = 0; i < 8; i++) {
      outcomes.push(await outcome(call("query", [FIVE])));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(outcomes.slice(0, 5)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    expect(reached).toHaveLength(5);
    const refused = outcomes[5] as Fault;
    expect(refused).toBeInstanceOf(Fault);
    expect(refused.message).toBe("db__query may be used 5 times in 10 s. Nothing was sent. Try again in 9.5 s");
    expect(refused.retrySafe).toBe(true);
    expect(faultToError(refused)).toEqual({
      code: -32603,
      message: refused.message,
      data: {
        source: "switchyard",
        code: "RATE_LIMITED",
        server: "db",
        retryAfterMs: 9500,
        limit: { calls: 5, perMs: 10_000 },
      },
    });
  });

  test("ends with its span, however often it was asked in vain meanwhile", async () => {
    const { outcome } = limited();
    for (let i = 0; i < 50; i++) await outcome(call("query", [FIVE]));
    await vi.advanceTimersByTimeAsync(9_900);
    expect(await outcome(call("query", [FIVE]))).toBeInstanceOf(Fault);
    await vi.advanceTimersByTimeAsync(200);
    expect(await outcome(call("query", [FIVE]))).toBe("ok");
  });

  test("is one caller's and one tool's: others are free", async () => {
    const { outcome } = limited();
    for (let i = 0; i < 6; i++) await outcome(call("query", [FIVE]));
    expect(await outcome(call("other", [FIVE]))).toBe("ok");
    expect(await outcome(call("query", undefined))).toBe("ok");
    expect(await outcome(call("query", [FIVE], { ...caller, client: { name: "codex", version: "1" } }))).toBe("ok");
    expect(await outcome(call("query", [FIVE], { ...caller, principal: "team-a" }))).toBe("ok");
    expect(await outcome(call("query", [FIVE], { ...caller, session: "another" }))).toBeInstanceOf(Fault);
  });

  test("with a burst lets so many more through in ten spans", async () => {
    const { outcome } = limited();
    const bursty = [{ rule: "rules[0]", calls: 2, perMs: 1_000, burst: 3 }];
    const passed = async (count: number): Promise<number> => {
      let ok = 0;
      for (let i = 0; i < count; i++) if ((await outcome(call("query", bursty))) === "ok") ok++;
      return ok;
    };
    expect(await passed(10)).toBe(5);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await passed(10)).toBe(2);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await passed(10)).toBe(5);
  });

  test("of several rules each holds for itself, and the record names the one that refused", async () => {
    const { outcome } = limited();
    const limits = [FIVE, { rule: "rules[3]", calls: 1, perMs: 1_000 }];
    expect(await outcome(call("query", limits))).toBe("ok");
    const second = call("query", limits);
    expect(((await outcome(second)) as Fault).message).toContain("db__query may be used once in 1 s");
    expect(second.trail.decision).toEqual({ effect: "deny", rule: "rules[3].limit" });
  });

  test("is for calls, gets and reads: subscriptions and completions use nothing up", async () => {
    const { outcome } = limited();
    const one = [{ rule: "rules[0]", calls: 1, perMs: 1_000 }];
    for (let i = 0; i < 3; i++) expect(await outcome(call("x", one, caller, "completion/complete"))).toBe("ok");
    expect(await outcome(call("x", one, caller, "prompts/get"))).toBe("ok");
    expect(await outcome(call("x", one, caller, "prompts/get"))).toBeInstanceOf(Fault);
  });

  test("calls that come at once are counted one by one", async () => {
    const { reached, outcome } = limited();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome(call("query", [FIVE]))));
    expect(outcomes.filter((one) => one === "ok")).toHaveLength(5);
    expect(reached).toHaveLength(5);
  });
});
