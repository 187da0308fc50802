/** What a person is shown of a call, and the layer that asks. The way through real processes: test/flow/approval.test.ts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../../src/errors.ts";
import type { Judged, Permitted } from "../../src/exchange.ts";
import { approvalLayer, type User } from "../../src/pipeline/approval/layer.ts";
import { shownJson } from "../../src/pipeline/approval/shown.ts";
import { answer, exchange, resolved } from "./support.ts";

describe("what is shown of arguments", () => {
  test("is the whole value, in lines, where there is room", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const shown = shownJson(text, 1_000_000);
        const plain = shown.replace(/\\u\{([0-9A-F]+)\}/g, (_, code: string) =>
          String.fromCodePoint(Number.parseInt(code, 16)),
        );
        expect(JSON.parse(plain)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("is never longer than its limit and what says so, and never holds what cannot be seen", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.integer({ min: 10, max: 300 }), (value, limit) => {
        const shown = shownJson(JSON.stringify(value), limit);
        expect(shown.length).toBeLessThanOrEqual(limit + 80);
        expect(shown).not.toMatch(/[\p{Cf}\p{Cs}\u2028\u2029]|[\0-\x08\x0b-\x1f\x7f]/u);
      }),
    );
  });

  test("keeps twins, order and numbers as they were sent", () => {
    expect(shownJson('{"b":1.0,"a":9223372036854775808,"b":{},"c":[ ]}', 500)).toBe(
      '{\n  "b": 1.0,\n  "a": 9223372036854775808,\n  "b": {},\n  "c": []\n}',
    );
  });

  test("of megabytes takes no time", () => {
    const text = JSON.stringify({ a: "x".repeat(5_000_000), b: Array.from({ length: 500_000 }, (_, i) => i) });
    const started = performance.now();
    expect(shownJson(text, 2_000).length).toBeLessThan(2_100);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe("the layer", () => {
  const judged = (effect: "allow" | "ask", name = "x") => {
    const one = resolved(exchange("tools/call", { name, arguments: {} }), {
      server: "s",
      kind: "tool",
      original: name,
    });
    one.trail.decision = { effect, rule: "rules[0]" };
    return one as Judged;
  };
  const user = (reply: object): User & { asked: number } => ({
    asked: 0,
    obstacle: () => undefined,
    ask() {
      this.asked++;
      return Promise.resolve(answer(reply));
    },
  });
  const next = (_: Permitted) => Promise.resolve(answer());

  test("lets what is allowed pass without a word", async () => {
    const person = user({ action: "decline" });
    await approvalLayer(person)(next)(judged("allow"));
    expect(person.asked).toBe(0);
  });

  test("asks each session anew: what one remembered is none of the other's business", async () => {
    const person = user({ action: "accept", content: { remember: true } });
    const layer = approvalLayer(person)(next);
    await layer(judged("ask"));
    await layer(judged("ask"));
    expect(person.asked).toBe(1);
    const other = judged("ask");
    await layer({ ...other, caller: { ...other.caller, session: "session-2" } } as Judged);
    expect(person.asked).toBe(2);
  });

  test("a yes that comes after the call was cancelled sends nothing", async () => {
    let accept: () => void = () => {};
    const slow: User = {
      obstacle: () => undefined,
      ask: () => new Promise((resolve) => (accept = () => resolve(answer({ action: "accept" })))),
    };
    let sent = 0;
    const call = judged("ask");
    const done = approvalLayer(slow)(() => {
      sent++;
      return Promise.resolve(answer());
    })(call);
    call.cancellation.cancel("no");
    accept();
    await expect(done).rejects.toSatisfy((error) => error instanceof Fault && error.code === "CANCELLED");
    expect(sent).toBe(0);
  });
});
