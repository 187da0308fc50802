import { expect, test } from "vitest";
import type { Answer } from "../../src/exchange.ts";
import { silentLog } from "../../src/log.ts";
import { type Question, Questions } from "../../src/upstream/questions.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { scan } from "../../src/wire/scan.ts";
import { resultFrame } from "../../src/wire/splice.ts";

function question(id: string): Frame {
  return scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":{}}`)) as Frame;
}

function setUp(once: boolean) {
  const asked: { question: Question; answer(answer: Answer): void }[] = [];
  const sent: string[] = [];
  const hand = (open: Question) => new Promise<Answer>((answer) => asked.push({ question: open, answer }));
  const questions = new Questions(hand, (chunks) => sent.push(Buffer.concat(chunks).toString()), {
    once,
    log: silentLog,
  });
  const ask = (id: string) => questions.ask(question(id), () => () => {});
  return { questions, asked, sent, ask };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a question that a resumed stream brings again while it is open is neither asked twice nor refused", async () => {
  for (const once of [true, false]) {
    const { asked, sent, ask } = setUp(once);
    ask("1");
    ask("1");
    expect(asked).toHaveLength(1);
    expect(sent).toEqual([]);
    asked[0]!.answer(resultFrame({ action: "accept" }));
    await settle();
    expect(sent).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}']);
  }
});

test("over HTTP a question that was answered is not asked again when a stream is replayed; on stdio an id may come back", async () => {
  for (const once of [true, false]) {
    const { questions, asked, ask } = setUp(once);
    ask('"q"');
    asked[0]!.answer(resultFrame({ action: "decline" }));
    await settle();
    ask('"q"');
    expect(asked).toHaveLength(once ? 1 : 2);
    // A new session counts anew.
    questions.endAll("the session is gone");
    ask('"q"');
    expect(asked).toHaveLength(once ? 2 : 3);
  }
});
