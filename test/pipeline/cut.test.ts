/** The pure part of `maxResultBytes`, on results that nobody thought of. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Permitted } from "../../src/exchange.ts";
import { cutResult, isCapped } from "../../src/pipeline/limits/cut.ts";
import { resultCapLayer } from "../../src/pipeline/limits/result-cap.ts";
import { answer, errorAnswer, exchange, frame, resolved, server } from "./support.ts";

const text = fc
  .tuple(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })), fc.nat({ max: 300 }))
  .map(([some, times]) => some.repeat(times));
const block = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("text"), text }) },
  fc.record({ type: fc.constant("image"), mimeType: text, data: text }),
  fc.record({ type: fc.constant("resource"), resource: fc.record({ uri: fc.webUrl(), text }) }),
  fc.record({ type: fc.constant("resource_link"), uri: fc.webUrl(), name: text }),
  fc.anything({ maxDepth: 2 }),
);

test("whatever comes: valid, never over a cap of 1 KiB or more, structured content whole or gone, texts prefixes of theirs", () => {
  fc.assert(
    fc.property(
      fc.record(
        {
          content: fc.array(block, { maxLength: 8 }),
          structuredContent: fc.dictionary(fc.string(), text, { maxKeys: 4 }),
          isError: fc.boolean(),
          _meta: fc.dictionary(fc.string(), text, { maxKeys: 3 }),
        },
        { requiredKeys: [] },
      ),
      fc.integer({ min: 1_024, max: 6_000 }),
      fc.boolean(),
      (result, cap, owed) => {
        const before = answer(result);
        const size = before.bodyEnd - before.bodyStart;
        fc.pre(size > cap);
        const { answer: after, truncation } = cutResult(before, "tools/call", cap, owed);
        const sent = JSON.parse(before.bodyText!) as typeof result;
        const body = JSON.parse(after.bodyText!) as typeof result & { content: Record<string, string>[] };
        expect(truncation).toMatchObject({ fromBytes: size, toBytes: after.bodyEnd - after.bodyStart });
        expect(truncation.toBytes).toBeLessThanOrEqual(cap);
        if ("structuredContent" in body) expect(body.structuredContent).toEqual(sent.structuredContent);
        else if (owed && sent.structuredContent !== undefined) expect(body.isError).toBe(true);
        expect(JSON.stringify(body)).toContain(`(maxResultBytes ${cap})`);
        const wholes = (sent.content ?? []).map((one) => String((one as { text?: unknown } | undefined)?.text));
        for (const one of body.content) {
          const cut = /^([\s\S]*)\n\[cut by Switchyard: [^\]]*\]$/u.exec(String(one?.["text"]));
          if (one?.["type"] !== "text" || cut === null) continue;
          const kept = cut[1]!;
          // Not between the halves of a character, unless they were apart before.
          const halved = (whole: string) =>
            /[\ud800-\udbff]$/.test(kept) && /^[\udc00-\udfff]/.test(whole.slice(kept.length));
          expect(wholes.some((whole) => whole.startsWith(kept) && !halved(whole))).toBe(true);
        }
      },
    ),
    { numRuns: 200, endOnFailure: true },
  );
});

test.each([0, 1, 7, 50, 100, 400])(
  "a cap of %d bytes, smaller than any notice, still ends in a valid result that says so",
  (cap) => {
    const { answer: after } = cutResult(
      answer({ content: [{ type: "text", text: "é".repeat(900) }] }),
      "tools/call",
      cap,
      false,
    );
    const { content } = after.body() as { content: { text: string }[] };
    expect(content).toHaveLength(1);
    expect(content[0]!.text).toContain("by Switchyard");
  },
);

test("escapes are never cut in two", () => {
  const inside = '\\u00e9\\n\\"\\\\\\ud83d\\ude00\\ud83dx\\u0041';
  const raw = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${inside.repeat(200)}"}]}}`;
  const whole = JSON.parse(`"${inside.repeat(200)}"`) as string;
  for (let cap = 1_100; cap < 1_200; cap++) {
    const { answer: after } = cutResult(frame(raw), "tools/call", cap, false);
    const { content } = after.body() as { content: { text: string }[] };
    const kept = content[0]!.text.split("\n[cut by")[0]!;
    expect(whole.startsWith(kept)).toBe(true);
  }
});

test("below the cap, without one, and for errors the very frame passes", async () => {
  const layer = resultCapLayer({ servers: [server("files", { maxResultBytes: 200 }), server("db")] });
  const call = async (of: string, reply: ReturnType<typeof answer>) => {
    const request = resolved(exchange("tools/call", { name: "x" }), { server: of, kind: "tool", original: "x" });
    const got = await layer(() => Promise.resolve(reply))(request as Permitted);
    return { got, trail: request.trail };
  };
  const small = answer();
  const large = answer({ content: [{ type: "text", text: "x".repeat(1_000) }] });
  const failed = errorAnswer(-32000, "x".repeat(1_000));
  expect((await call("files", small)).got).toBe(small);
  expect((await call("files", failed)).got).toBe(failed);
  expect((await call("db", large)).got).toBe(large);
  const { got, trail } = await call("files", large);
  expect(got).not.toBe(large);
  expect(trail.truncated).toMatchObject({ fromBytes: 1_039 });
  const none = resultCapLayer({ servers: [server("db")] });
  const next = () => Promise.resolve(small);
  expect(none(next)).toBe(next);
  expect(isCapped("tools/list")).toBe(false);
});
