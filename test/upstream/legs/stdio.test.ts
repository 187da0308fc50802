import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { StdioTarget } from "../../../src/config/types.ts";
import { killAllGroupsSync } from "../../../src/upstream/legs/kill.ts";
import { createStdioLeg, type StdioLegOptions } from "../../../src/upstream/legs/stdio.ts";
import { type Leg, LegError } from "../../../src/wire/leg.ts";
import { tempDir } from "../../support/dir.ts";
import { until } from "../../support/until.ts";
import { disposable, notification, Recorder, recordingLog, redact, request, SECRET } from "./recorder.ts";

const child = fileURLToPath(new URL("fixtures/child.mjs", import.meta.url));

function target(mode: string, overrides: Partial<StdioTarget> = {}, ...args: string[]): StdioTarget {
  return {
    type: "stdio",
    command: process.execPath,
    args: [child, mode, ...args],
    env: {},
    cwd: undefined,
    ...overrides,
  };
}

function legTo(to: StdioTarget, options: Partial<StdioLegOptions> = {}) {
  const log = recordingLog();
  const leg = createStdioLeg({ server: "s", target: to, log, maxMessageBytes: 0, redact, ...options });
  return { leg: disposable(leg), log, events: new Recorder() };
}

/** Starts the child and returns a leg to it. */
async function open(mode: string, options: Partial<StdioLegOptions> = {}, ...args: string[]) {
  const made = legTo(target(mode, {}, ...args), options);
  await made.leg.open(made.events);
  return { ...made, [Symbol.asyncDispose]: () => made.leg.close(1000) };
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie that its new parent has not noticed yet is not alive.
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return process.platform !== "linux";
  }
}

async function refusal(leg: Leg, events: Recorder): Promise<LegError> {
  const error = await leg.open(events).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(LegError);
  expect(events.ends).toEqual([{ reason: (error as LegError).message, expected: false }]);
  return error as LegError;
}

test("text that is written byte by byte, with CRLF and every odd line separator, arrives unchanged", async () => {
  await using peer = await open("bytes");
  const text = "日本語 é 🎉\u2028\u2029\u0085\n\r\t\u0000\u001b[0m";
  peer.leg.send(request(1, "m", { text }));
  const answer = await peer.events.answer(1);
  expect(answer.body()).toEqual({ text });
});

test("requests of one turn leave in order and are answered in order", async () => {
  await using peer = await open("echo");
  for (let id = 1; id <= 100; id++) peer.leg.send(request(id, "m", { id }));
  await peer.events.answer(100);
  expect(peer.events.frames.map((frame) => frame.idText)).toEqual(Array.from({ length: 100 }, (_, i) => String(i + 1)));
});

test("a message in many chunks is one line", async () => {
  await using peer = await open("echo");
  const chunks = ['{"jsonrpc":"2.0","id":', "7", ',"method":"m","params":{"a":', '"b"', "}}"].map((part) =>
    Buffer.from(part),
  );
  peer.leg.send({ chunks, kind: "request", id: 7, method: "m" });
  expect((await peer.events.answer(7)).body()).toEqual({ echo: { a: "b" } });
});

test("noise on stdout is logged with the server's name, bounded, redacted, and hurts nobody", async () => {
  await using peer = await open("noise", {}, SECRET);
  peer.leg.send(request(1));
  await peer.events.answer(1);
  expect(peer.events.frames).toHaveLength(1);
  const noise = peer.log.lines.filter((line) => String(line.message).startsWith("ignored on its stdout"));
  expect(noise).toHaveLength(20);
  expect(noise[0]).toMatchObject({ server: "s", line: "Welcome to the server" });
  expect(noise[1]).toMatchObject({ line: '{"level":"info","msg":"not a message"}' });
  await peer.leg.close(2000);
  expect(peer.log.lines.at(-1)).toMatchObject({ server: "s", lines: 44 });
  expect(JSON.stringify(peer.log.lines)).not.toContain(SECRET);
});

test("a batch is taken apart", async () => {
  await using peer = await open("batch");
  peer.leg.send(request(5));
  await peer.events.answer(5);
  expect(peer.events.order).toEqual(["frame:notifications/a", "frame:5"]);
});

test("an answer that is no valid message fails its request; a bad request of the server's does not", async () => {
  await using peer = await open("malformed");
  peer.leg.send(request(9));
  const error = await peer.events.failure(9);
  expect(error).toMatchObject({ reason: "bad-answer", delivered: "unknown" });
  expect(peer.events.failures).toHaveLength(1);
});

test.each(["big", "bigIdLast"])(
  "%s: a message above the limit fails its own request and names the limit",
  async (mode) => {
    await using peer = await open(mode, { maxMessageBytes: 100_000 });
    peer.leg.send(request(3, "m", { bytes: 300_000 }));
    peer.leg.send(request(4, "m", { bytes: 1000 }));
    await peer.events.answer(4);
    expect(peer.events.order).toEqual(["failed:3", "frame:4"]);
    const error = await peer.events.failure(3);
    expect(error).toMatchObject({ reason: "too-large", delivered: "unknown" });
    expect(error.message).toContain("100000");
  },
);

test("a message of 24 MiB passes both ways", async () => {
  await using peer = await open("echo");
  const text = "y".repeat(24 * 1024 * 1024);
  peer.leg.send(request(1, "m", { text }));
  const answer = await peer.events.answer(1);
  expect((answer.body() as { echo: { text: string } }).echo.text === text).toBe(true);
});

test("1 MiB on stderr without a line end does not freeze the child", async () => {
  await using peer = await open("stderr");
  peer.leg.send(request(1));
  await peer.events.answer(1);
  await peer.leg.close(2000);
  const line = peer.log.lines.find((entry) => entry["stream"] === "stderr");
  expect(line).toMatchObject({ level: "info", server: "s" });
  expect(line?.message).toBe(`${"e".repeat(4096)}…`);
});

test("an exit in mid-call: the answers before it arrive, then closed with code and redacted stderr", async () => {
  await using peer = await open("exit", {}, SECRET);
  const start = performance.now();
  peer.leg.send(request(1));
  peer.leg.send(request(2));
  const why = await peer.events.end();
  expect(performance.now() - start).toBeLessThan(3000);
  expect(peer.events.order).toEqual(["frame:1", "closed"]);
  expect(why).toMatchObject({ reason: "exited with code 3", exitCode: 3, signal: null, expected: false });
  expect(why.stderrTail).toHaveLength(20);
  expect(why.stderrTail?.at(-1)).toBe("fatal: bad token [redacted]");
  expect(why.stderrTail?.at(-2)).toBe("line 30");
  expect(() => peer.leg.send(request(3))).toThrow(expect.objectContaining({ reason: "closed", delivered: "no" }));
  await peer.leg.close(1000);
  expect(peer.events.ends).toHaveLength(1);
});

test("a child that is killed says by what", async () => {
  await using peer = await open("kill");
  peer.leg.send(request(1));
  expect(await peer.events.end()).toMatchObject({ reason: "killed by SIGKILL", signal: "SIGKILL", exitCode: null });
});

test("an answer without a line end before the exit is delivered", async () => {
  await using peer = await open("unterminated");
  peer.leg.send(request(1));
  await peer.events.end();
  expect(peer.events.order).toEqual(["frame:1", "closed"]);
});

test("closed does not wait for a grandchild that holds the pipes, and the grandchild is ended", async () => {
  await using peer = await open("leave");
  const start = performance.now();
  peer.leg.send(request(1));
  const why = await peer.events.end();
  expect(performance.now() - start).toBeLessThan(3000);
  expect(why.reason).toBe("exited with code 0");
  const { pid } = (await peer.events.answer(1)).body() as { pid: number };
  await peer.leg.close(1000);
  expect(alive(pid)).toBe(false);
});

test("a grandchild that ignores the end of input and SIGTERM is gone after close", async () => {
  await using peer = await open("group");
  peer.leg.send(request(1));
  const { pid, self } = (await peer.events.answer(1)).body() as { pid: number; self: number };
  expect(alive(pid)).toBe(true);
  await Promise.all([peer.leg.close(100), peer.leg.close(100)]);
  expect([alive(pid), alive(self)]).toEqual([false, false]);
  expect(peer.events.ends).toEqual([expect.objectContaining({ expected: true })]);
});

test("close gives the end of input first, and a child that heeds it gets no signal", async () => {
  await using dir = await tempDir();
  await using peer = await open("eof", {}, dir.file("eof"));
  await peer.leg.close(5000);
  expect(readFileSync(dir.file("eof"), "utf8")).toBe("eof");
  expect(peer.events.ends).toEqual([expect.objectContaining({ expected: true, exitCode: 0, signal: null })]);
});

test("what was sent just before close still reaches the child", async () => {
  await using peer = await open("echo");
  peer.leg.send(request(1));
  await peer.leg.close(2000);
  expect(peer.events.order).toEqual(["frame:1", "closed"]);
});

test("the last resort kills every group at once", async () => {
  await using peer = await open("stubborn");
  await until(() => peer.events.frames[0], { what: "the child runs" });
  killAllGroupsSync();
  expect(await peer.events.end()).toMatchObject({ reason: "killed by SIGKILL" });
});

test("closed while it is being started: open rejects, nothing is left", async () => {
  const { leg, events } = legTo(target("stubborn"));
  const opening = leg.open(events).catch((error: unknown) => error);
  await leg.close(50);
  expect(await opening).toBeInstanceOf(LegError);
  expect(events.ends).toHaveLength(1);
  expect(events.ends[0]?.expected).toBe(true);
});

test("a child that closes its stdin ends the connection and crashes nobody", async () => {
  await using peer = await open("closeStdin");
  await until(() => peer.events.frames[0], { what: "the child runs" });
  // The pipe breaks with the first write that the kernel refuses.
  peer.leg.send(notification("notifications/x"));
  expect(await peer.events.end()).toMatchObject({ reason: "closed its standard input", expected: false });
});

test("a child that closes its stdout ends the connection and is ended", async () => {
  await using peer = await open("closeStdout");
  expect(await peer.events.end()).toMatchObject({ reason: "closed its standard output", expected: false });
});

test("a child that never reads: the queue has a bound, and a cancel is taken for longer than a request", async () => {
  await using peer = await open("deaf");
  const big = Buffer.from(`{"jsonrpc":"2.0","method":"n","params":{"x":"${"z".repeat(16 * 1024 * 1024)}"}}`);
  let sent = 0;
  const send = (kind: "request" | "notification"): void => {
    peer.leg.send({ chunks: [big], kind, method: "n", ...(kind === "request" ? { id: sent + 1 } : {}) });
    sent += 1;
  };
  const full = expect.objectContaining({ reason: "full", delivered: "no" });
  expect(() => {
    for (let i = 0; i < 20; i++) send("request");
  }).toThrow(full);
  expect(sent).toBe(4);
  expect(() => {
    for (let i = 0; i < 20; i++) send("notification");
  }).toThrow(full);
  expect(sent).toBe(8);
  await peer.leg.close(50);
  expect(peer.events.ends).toHaveLength(1);
});

test("pause stops reading, resume goes on; nothing is lost", async () => {
  await using peer = await open("big");
  peer.leg.pause();
  peer.leg.send(request(1, "m", { bytes: 2_000_000 }));
  peer.leg.send(request(2, "m", { bytes: 10 }));
  // Another process has answered a whole request by then.
  await using other = await open("big");
  other.leg.send(request(1, "m", { bytes: 2_000_000 }));
  await other.events.answer(1);
  expect(peer.events.frames).toHaveLength(0);
  peer.leg.resume();
  await peer.events.answer(2);
  expect(peer.events.order).toEqual(["frame:1", "frame:2"]);
});

test("an exit while reading is paused waits for resume", async () => {
  await using peer = await open("exit");
  peer.leg.pause();
  peer.leg.send(request(1));
  await until(() => peer.log.lines.some((line) => line.message === "line 20"), { what: "the child has spoken" });
  peer.leg.resume();
  await peer.events.end();
  expect(peer.events.order).toEqual(["frame:1", "closed"]);
});

test("the environment is the safe base and the entry's own, nothing else", async () => {
  const baseEnv = {
    ...{ PATH: process.env["PATH"], HOME: "/h", LANG: "C.UTF-8", LC_ALL: "C", TZ: "UTC", XDG_CACHE_HOME: "/c" },
    ...{
      HTTPS_PROXY: "http://p:1",
      no_proxy: "x",
      NODE_EXTRA_CA_CERTS: "",
      SECRET_A: SECRET,
      NODE_OPTIONS: "--no-warnings",
    },
    ...{ SHELL: "() { :; }", TMPDIR: "/t" },
  };
  const to = target("env", { env: { B_KEY: "b", TMPDIR: "/own" } }, "--flag", "a b");
  const { leg, events } = legTo(to, { baseEnv });
  await using _leg = leg;
  await leg.open(events);
  leg.send(request(1));
  const { env, argv } = (await events.answer(1)).body() as { env: Record<string, string>; argv: string[] };
  expect(env).toEqual({
    ...{ PATH: baseEnv.PATH, HOME: "/h", LANG: "C.UTF-8", LC_ALL: "C", TZ: "UTC", XDG_CACHE_HOME: "/c" },
    ...{ HTTPS_PROXY: "http://p:1", no_proxy: "x", NODE_EXTRA_CA_CERTS: "", B_KEY: "b", TMPDIR: "/own" },
  });
  expect(argv).toEqual(["--flag", "a b"]);
});

test("cwd is the child's working directory", async () => {
  await using dir = await tempDir();
  const { leg, events } = legTo(target("env", { cwd: dir.path }));
  await using _leg = leg;
  await leg.open(events);
  leg.send(request(1));
  expect((await events.answer(1)).body()).toMatchObject({ cwd: dir.path });
});

test("what cannot be started is refused in words that help", async () => {
  await using dir = await tempDir();
  writeFileSync(dir.file("plain"), "#!/bin/sh\n");
  writeFileSync(dir.file("lost"), "#!/no/such/interpreter\n");
  chmodSync(dir.file("lost"), 0o755);
  mkdirSync(dir.file("folder"));
  const refused = async (overrides: Partial<StdioTarget>): Promise<string> => {
    const { leg, events } = legTo(target("echo", overrides));
    const error = await refusal(leg, events);
    expect(error).toMatchObject({ reason: "closed", delivered: "no" });
    return error.message;
  };
  expect(await refused({ command: "no-such-command", env: { PATH: "/usr/bin:/bin" } })).toBe(
    "command not found: no-such-command (searched PATH: /usr/bin:/bin). Install it, give its full path as " +
      '"command", or set PATH in the entry\'s "env"',
  );
  expect(await refused({ command: dir.file("missing") })).toContain(`command not found: ${dir.file("missing")}`);
  expect(await refused({ command: dir.file("folder") })).toContain("command not found");
  expect(await refused({ command: dir.file("plain") })).toContain(`permission denied: ${dir.file("plain")}`);
  expect(await refused({ command: "plain", env: { PATH: dir.path } })).toContain("permission denied");
  expect(await refused({ command: dir.file("lost") })).toContain("interpreter");
  expect(await refused({ cwd: dir.file("nowhere") })).toContain("working directory does not exist");
  expect(await refused({ args: ["a\0b"] })).toContain("NUL character");
});
