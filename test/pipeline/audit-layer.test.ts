import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Fault, unknownItem } from "../../src/errors.ts";
import type { Answer, Exchange, Handler } from "../../src/exchange.ts";
import { auditLayer } from "../../src/pipeline/audit/layer.ts";
import { type AuditSink, openAudit } from "../../src/pipeline/audit/sink.ts";
import {
  answer,
  auditConfig,
  errorAnswer,
  exchange,
  firstBreak,
  keptLog,
  linesOf,
  recordsOf,
  tempDir,
} from "./support.ts";

const options = { payloads: "redacted", secrets: ["sentinel-0815"], redactKeys: [] } as const;

function recorded(next: Handler<Exchange>, more: Parameters<typeof auditConfig>[1] = {}) {
  const dir = tempDir();
  const inside = join(dir.path, "in");
  const file = join(inside, "audit.jsonl");
  const sink: AuditSink = openAudit(auditConfig(file, more), keptLog(), { retryMs: 0 });
  onTestFinished(async () => {
    await sink.close();
    dir[Symbol.dispose]();
  });
  const handle = auditLayer(sink, options)(next);
  const block = (): void => {
    rmSync(inside, { recursive: true });
    writeFileSync(inside, "");
  };
  return { handle, sink, file, block, free: () => rmSync(inside) };
}

const call = (args: unknown = {}) => exchange("tools/call", { name: "x", arguments: args });
const sent: Handler<Exchange> = (one) => {
  one.trail.sentAt = performance.now();
  return Promise.resolve(answer());
};

describe("the audit layer", () => {
  test("the record is in the file before the answer leaves, and the answer is the very one", async () => {
    const given = answer();
    const { handle, file } = recorded(() => Promise.resolve(given));
    const seen = handle(call()).then((got) => ({ got, lines: linesOf(file).length }));
    expect(await seen).toEqual({ got: given, lines: 1 });
  });

  test("exactly one record for each exchange, however it ends", async () => {
    const endings: [string, () => Promise<Answer>][] = [
      ["ok", () => Promise.resolve(answer())],
      ["tool_error", () => Promise.resolve(answer({ isError: true, content: [] }))],
      ["error", () => Promise.resolve(errorAnswer(-1, "no"))],
      ["denied", () => Promise.reject(unknownItem("tool", "x"))],
      ["cancelled", () => Promise.reject(new Fault("CANCELLED", "x"))],
      ["timeout", () => Promise.reject(new Fault("DEADLINE_EXCEEDED", "x"))],
      ["lost", () => Promise.reject(new Fault("SERVER_CLOSED", "x"))],
      [
        "error",
        () => {
          throw new Fault("INVALID_PARAMS", "thrown, not rejected");
        },
      ],
    ];
    let at = 0;
    const { handle, file } = recorded((one) => {
      const [outcome, end] = endings[at++]!;
      if (outcome === "denied") one.trail.decision = { effect: "deny", rule: "rules[0]" };
      return end();
    });
    for (const _ of endings) await handle(call()).catch(() => {});
    expect(recordsOf(file).map((record) => record["outcome"])).toEqual(endings.map(([outcome]) => outcome));
    expect(firstBreak(file)).toBeUndefined();
  });

  test("the failure of a recorded exchange is the very one", async () => {
    const fault = new Fault("QUEUE_FULL", "full");
    const { handle } = recorded(() => Promise.reject(fault));
    expect(await handle(call()).catch((error: unknown) => error)).toBe(fault);
  });

  test("what is not audited passes untouched, and without a sink nothing is added", async () => {
    const promise = Promise.resolve(answer());
    const { handle, file } = recorded(() => promise);
    expect(handle(exchange("ping", undefined))).toBe(promise);
    expect(linesOf(file)).toEqual([]);
    const next: Handler<Exchange> = () => promise;
    expect(auditLayer(undefined, options)(next)).toBe(next);
  });

  test("requests in flight at once are recorded in the order in which they end", async () => {
    const ends: (() => void)[] = [];
    const { handle, file } = recorded(() => new Promise((resolve) => ends.push(() => resolve(answer()))));
    const calls = Array.from({ length: 10 }, (_, n) => handle(call({ n })));
    for (const end of ends.toReversed()) end();
    await Promise.all(calls);
    expect(recordsOf(file).map((record) => (record["arguments"] as { n: number }).n)).toEqual([
      9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
    ]);
    expect(firstBreak(file)).toBeUndefined();
  });

  test("a newline in an argument forges no line, and a secret does not come out", async () => {
    const { handle, file } = recorded(() => Promise.resolve(errorAnswer(1, "bad sentinel-0815\n{}")));
    await handle(call({ text: 'a\n{"seq":2,"outcome":"ok"}\r\n', token: "t0ps3cret", note: "sentinel-0815" }));
    expect(linesOf(file)).toHaveLength(1);
    expect(recordsOf(file)[0]).toMatchObject({
      arguments: { text: 'a\n{"seq":2,"outcome":"ok"}\r\n', token: "[redacted]", note: "[redacted]" },
      error: { message: "bad [redacted]\n{}" },
    });
  });
});

describe("while records cannot be written", () => {
  test('"deny": the answer of a call that ran is withheld, and the host is told that it ran', async () => {
    const { handle, block } = recorded(sent);
    block();
    const fault = (await handle(call()).catch((error: unknown) => error)) as Fault;
    expect(fault).toMatchObject({ code: "AUDIT_UNAVAILABLE", retrySafe: false, data: { ran: true } });
    expect(fault.message).toMatch(/was carried out, but its record could not be written/);
  });

  test('"deny": from then on nothing goes out, until the file is back, with the record that was missing', async () => {
    let ran = 0;
    const { handle, file, block, free } = recorded((one) => {
      ran++;
      return sent(one);
    });
    block();
    await handle(call({ n: 1 })).catch(() => {});
    const fault = (await handle(call({ n: 2 })).catch((error: unknown) => error)) as Fault;
    expect(fault).toMatchObject({ code: "AUDIT_UNAVAILABLE", retrySafe: true, data: { ran: false } });
    expect(ran).toBe(1);
    free();
    await handle(call({ n: 3 }));
    expect(ran).toBe(2);
    expect(recordsOf(file).map((record) => record["arguments"])).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test('"deny": a call that was refused before it was sent says that it did not run', async () => {
    const { handle, block } = recorded(() => Promise.reject(new Fault("QUEUE_FULL", "full")));
    block();
    await expect(handle(call())).rejects.toMatchObject({ code: "AUDIT_UNAVAILABLE", data: { ran: false } });
  });

  test('"allow": answers go on', async () => {
    const { handle, block } = recorded(sent, { onFailure: "allow" });
    block();
    await handle(call());
    await handle(call());
  });
});
