import { afterEach, expect, test, vi } from "vitest";
import { NoiseLog } from "../../../src/upstream/legs/noise.ts";
import { StderrLines } from "../../../src/upstream/legs/stderr.ts";
import { shorten } from "../../../src/upstream/legs/text.ts";
import { recordingLog, redact, SECRET } from "./recorder.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("a secret on the edge of what is shown is never shown in part", () => {
  for (let before = 3900; before < 4110; before += 7) {
    const log = recordingLog();
    const stderr = new StderrLines({ server: "s", log, redact });
    stderr.push(Buffer.from(`${"x".repeat(before)}${SECRET}${"y".repeat(10_000)}\n`));
    expect(log.lines[0]?.message).not.toContain(SECRET.slice(0, 4));
    expect(log.lines[0]?.message.length).toBeLessThanOrEqual(4097);
  }
  for (let before = 8170; before < 8195; before++) {
    const log = recordingLog();
    const stderr = new StderrLines({ server: "s", log, redact });
    stderr.push(
      Buffer.from(`${`${SECRET} `.repeat(300)}${"x".repeat(before - 300 * (SECRET.length + 1))}${SECRET}yy\n`),
    );
    expect(log.lines[0]?.message).not.toContain(SECRET.slice(0, 4));
  }
});

test("lines end with LF or CR, may come in pieces, and hold no control codes", () => {
  const log = recordingLog();
  const stderr = new StderrLines({ server: "s", log, redact });
  for (const byte of Buffer.from("one\r\n\n10%\r20%\r\u001b[1;31mré日\u001b[0m\u0007\t!\nlast"))
    stderr.push(Buffer.from([byte]));
  stderr.end();
  expect(stderr.tail).toEqual(["one", "10%", "20%", "ré日 !", "last"]);
});

test("the first lines are at info, the rest at debug", () => {
  const log = recordingLog();
  const stderr = new StderrLines({ server: "s", log, redact });
  stderr.push(Buffer.from(Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join("")));
  expect(log.lines.filter((line) => line.level === "debug")).toHaveLength(10);
  expect(log.lines.filter((line) => line.level === "info")).toHaveLength(21);
  expect(stderr.tail).toHaveLength(20);
});

test("noise: so many lines in a while, then their number, and then again", () => {
  vi.useFakeTimers();
  const log = recordingLog();
  const noise = new NoiseLog({ server: "s", log, redact });
  for (let i = 0; i < 50; i++) noise.add(Buffer.from(`line ${i}`), "no JSON");
  noise.add(Buffer.from(" \t\r"), "no JSON");
  expect(log.lines).toHaveLength(20);
  vi.advanceTimersByTime(10_000);
  expect(log.lines).toHaveLength(21);
  expect(log.lines[20]).toMatchObject({ server: "s", lines: 30 });
  noise.add(Buffer.from("again"), "no JSON");
  expect(log.lines).toHaveLength(22);
});

test("a text is cut with an ellipsis only where something is missing", () => {
  expect(shorten(Buffer.from("abc"), { limit: 3, redact })).toBe("abc");
  expect(shorten(Buffer.from("abcd"), { limit: 3, redact })).toBe("abc…");
});
