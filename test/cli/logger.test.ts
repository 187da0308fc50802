import { once } from "node:events";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { makeLogger } from "../../src/cli/logger.ts";
import { cut, oneLine, plain, table } from "../../src/cli/text.ts";
import { makeRedactor } from "../../src/redact/redact.ts";
import { capture } from "./run.ts";

const redaction = makeRedactor({ secrets: ["s3cret-value"], redactKeys: ["ssn"] });

describe("the log", () => {
  it("as JSON has time, level, message and the fields", async () => {
    const stream = capture();
    const log = await makeLogger({ level: "info", format: "json", redaction, stream });
    log.info({ server: "files", tools: 3 }, "ready");
    expect(JSON.parse(stream.text())).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: "info",
      msg: "ready",
      server: "files",
      tools: 3,
    });
  });

  it("for people is one line a record", async () => {
    const stream = capture();
    const log = await makeLogger({ level: "info", format: "pretty", redaction, stream });
    log.warn({ server: "files", why: "two words", n: 0 }, "line one\nline two \x1b[31m");
    expect(stream.text()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}files: line one line two why="two words" n=0\n$/);
  });

  it("leaves out what is below its level", async () => {
    const stream = capture();
    const log = await makeLogger({ level: "warn", format: "json", redaction, stream });
    log.trace({}, "a");
    log.debug({}, "a");
    log.info({}, "a");
    log.warn({}, "b");
    log.error({}, "c");
    expect(
      stream
        .text()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).msg),
    ).toEqual(["b", "c"]);
  });

  it.each(["json", "pretty"] as const)("has no secret in it, wherever it stands (%s) (J4)", async (format) => {
    const stream = capture();
    const log = await makeLogger({ level: "trace", format, redaction, stream });
    const error = new Error("s3cret-value", { cause: new Error("s3cret-value") });
    log.debug({ "s3cret-value": ["s3cret-value"], error, url: new URL("http://a/?k=s3cret-value") }, "s3cret-value");
    expect(stream.text()).not.toContain("s3cret");
    expect(stream.text()).toContain("[redacted]");
  });

  it.each(["json", "pretty"] as const)(
    "masks what looks like a secret or is called one, too (%s) (J4)",
    async (format) => {
      const stream = capture();
      const log = await makeLogger({ level: "trace", format, redaction, stream });
      const fields = {
        password: "hunter22",
        nested: { apiKey: { x: "hunter22" }, ssn: ["hunter22"] },
        tokens: 22,
        key: "open",
      };
      log.debug(
        { ...fields, url: new URL("https://u:hunter22@h/?sig=hunter22") },
        "Bearer hunter22hunter22, token=hunter22",
      );
      expect(stream.text()).not.toContain("hunter");
      expect(stream.text().match(/\[redacted\]|%5Bredacted%5D/g)!.length).toBeGreaterThanOrEqual(6);
      expect(stream.text()).toMatch(/tokens"?[=:]22/);
      expect(stream.text()).toMatch(/key"?[=:]"?open/);
    },
  );

  it("keeps fields that are called like its own", async () => {
    const stream = capture();
    const log = await makeLogger({ level: "info", format: "json", redaction, stream });
    log.info({ level: 7, msg: "field" }, "message");
    expect(JSON.parse(stream.text())).toMatchObject({ level: "info", msg: "message", level_: 7, msg_: "field" });
  });

  it("is bounded when nobody reads it, says so when it is read again, and never waits", async () => {
    let release: (() => void) | undefined;
    let open = false;
    const chunks: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        chunks.push(String(chunk));
        if (open) done();
        else release = done;
      },
    });
    const log = await makeLogger({ level: "info", format: "json", redaction, stream });
    const big = "x".repeat(100_000);
    for (let count = 0; count < 50; count++) log.info({ big }, "record");
    expect(stream.writableLength).toBeLessThan(1_300_000);
    open = true;
    const drained = once(stream, "drain");
    release?.();
    await drained;
    log.info({}, "after");
    const messages = chunks.map((line) => JSON.parse(line));
    const dropped = messages.find((record) => record.dropped !== undefined);
    expect(dropped.dropped + messages.filter(({ msg }) => msg === "record").length).toBe(50);
    expect(messages.at(-1).msg).toBe("after");
  });

  it("does not throw when its reader has gone away", async () => {
    const stream = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error("EPIPE"), { code: "EPIPE" }));
      },
    });
    let errors = 0;
    const closed = new Promise((resolve) => stream.on("close", resolve));
    stream.on("error", () => errors++);
    const log = await makeLogger({ level: "info", format: "json", redaction, stream });
    for (let count = 0; count < 10; count++) log.info({}, "record");
    await closed;
    for (let count = 0; count < 10; count++) log.info({}, "record");
    expect(errors).toBe(1);
  });
});

describe("text for a terminal", () => {
  it("has no escape sequence, control or direction character", () => {
    expect(oneLine(" a\x1b[1;31mb\x1b]0;title\x07c\r\n\td\u202ee\x9bf ")).toBe("abc def");
    expect(plain("a\x1b[2J\n\tb\0")).toBe("a\n\tb");
  });
  it("is cut at whole characters", () => {
    expect(cut("abc", 3)).toBe("abc");
    expect(cut("abcd", 3)).toBe("ab…");
    expect(cut("🚀🚀🚀", 2)).toBe("🚀…");
    expect(cut("abc", 0)).toBe("");
  });
  it("stands in columns", () => {
    expect(
      table(
        [
          ["a", "b"],
          ["long", ""],
        ],
        80,
        "> ",
      ),
    ).toBe("> a     b\n> long\n");
    expect(table([], 80)).toBe("");
  });
});
