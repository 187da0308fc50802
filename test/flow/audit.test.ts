/** Promise: every request has one record that tells how it ended, and nothing is answered that could not be recorded. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { setOf } from "../../src/pipeline/audit/set.ts";
import { keys } from "../pipeline/audit-support.ts";
import { stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const BIN = fileURLToPath(new URL("../../bin/switchyard.js", import.meta.url));

type Line = Record<string, unknown>;

function linesOf(file: string): Line[] {
  return setOf(file).flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line),
  );
}

const calls = (file: string) => linesOf(file).filter(({ method }) => method === "tools/call");
const numbers = (file: string) => calls(file).map((record) => (record["arguments"] as { n?: number }).n);

function verify(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, "audit", "verify", ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** One server behind an audit file in a folder of its own. */
async function start(dir: TempDir, audit: object = {}, more: object = {}) {
  const one = stdioServer(dir, "one", { tools: [tool("do"), tool("echo"), tool("drop")] });
  const file = dir.file("log/audit.jsonl");
  const config = { mcpServers: { one: one.entry }, audit: { file, ...audit }, ...more };
  const host = await startHost({ config, capabilities: { roots: {} } });
  await host.toolNames();
  return { one, host, file, config };
}

const echo = (host: Host, n: number) => host.request("tools/call", { name: "one__echo", arguments: { n } });

test("calls that succeed, fail, are denied, cancelled, time out or are lost have one parsable line each, with all that was known", async () => {
  // J6
  await using dir = await tempDir();
  const policy = { default: "allow", rules: [{ effect: "deny", tools: ["drop"], reason: "nothing is dropped" }] };
  const { one, host, file } = await start(dir, {}, { policy, timeouts: { requestMs: 400 } });
  await using _ = host;
  host.answer("roots/list", () => ({ roots: [] }));
  const args = { text: 'a\n{"seq":1,"outcome":"ok"}\r\n\u2028', n: 1 };
  await host.call("one__echo", args);
  await host.call("one__do", { steps: [{ result: { isError: true, content: [] } }] });
  await host.request("tools/call", {
    name: "one__do",
    arguments: { steps: [{ error: { code: -5, message: "no disk" } }] },
  });
  await host.request("tools/call", { name: "one__drop", arguments: {} });
  await host.request("tools/call", { name: "one__none", arguments: {} });
  await host.call("one__do", { steps: [{ ask: [{ method: "roots/list" }] }] });
  await host.request("tools/call", { name: "one__do", arguments: { steps: [{ silent: true }] } });
  const cancelled = { name: "one__do", arguments: { steps: [{ untilCancelled: true }] } };
  void host.request("tools/call", cancelled, { id: "gone" });
  await until(() => one.received("tools/call").length === 6, { what: "the call at the server" });
  host.cancel("gone", "changed my mind");
  await until(() => calls(file).length === 8, { what: "the record of the cancelled call" });
  await host.request("tools/call", { name: "one__do", arguments: { steps: [{ exit: 3 }] } });

  const records = calls(file);
  expect(records.map(({ outcome }) => outcome)).toEqual([
    "ok",
    "tool_error",
    "error",
    "denied",
    "error",
    "ok",
    "timeout",
    "cancelled",
    "lost",
  ]);
  const [first, , failed, denied] = records;
  expect(first).toMatchObject({
    client: { name: "test-host", version: "1.0.0" },
    session: expect.stringMatching(/^[\w-]{16,}$/),
    direction: "toServer",
    server: "one",
    name: "echo",
    publicName: "one__echo",
    decision: { effect: "allow", rule: "default" },
    durationMs: expect.any(Number),
    argumentsSha256: createHash("sha256").update(JSON.stringify(args)).digest("hex"),
    arguments: args,
  });
  expect(failed).toMatchObject({ error: { code: -5, message: "no disk" } });
  expect(denied).toMatchObject({
    server: "one",
    name: "drop",
    decision: { effect: "deny", rule: "rules[0]", reason: "nothing is dropped" },
  });
  expect(records.find(({ requestId }) => requestId === "gone")).toMatchObject({ outcome: "cancelled" });
  expect(linesOf(file).filter(({ direction }) => direction === "toHost")).toMatchObject([
    { method: "roots/list", server: "one", outcome: "ok" },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(verify(file)).toMatchObject({ status: 0, stderr: "" });
});

test("rotation, checkpoints and fsync under load: no record is lost or doubled, and `audit verify` says so", async () => {
  await using dir = await tempDir();
  const pair = keys(dir.path);
  const audit = { durability: "fsync", rotateBytes: 8_000, signingKeyFile: pair.keyFile, checkpointEvery: 10 };
  const { host, file } = await start(dir, audit);
  await using _ = host;
  await Promise.all(Array.from({ length: 200 }, (_, n) => echo(host, n)));
  // While it is being written.
  expect(verify(file, "--public-key", pair.publicFile)).toMatchObject({ status: 0 });
  await host.close();
  expect(setOf(file).length).toBeGreaterThan(5);
  expect(numbers(file).sort((a, b) => a! - b!)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  const checked = verify(file, "--public-key", pair.publicFile);
  expect(checked).toMatchObject({ status: 0, stderr: "" });
  expect(checked.stdout).not.toContain("note");
  const second = setOf(file)[1]!;
  writeFileSync(second, readFileSync(second, "utf8").replace('"outcome":"ok"', '"outcome":"no"'));
  expect(verify(file)).toMatchObject({ status: 1, stdout: expect.stringContaining(`${second}:`) });
});

test("two processes with one configuration write a chain each", async () => {
  await using dir = await tempDir();
  const { host, file, config } = await start(dir);
  await using _ = host;
  await using other = await startHost({ config });
  await echo(host, 1);
  await echo(other, 2);
  expect(numbers(file)).toEqual([1]);
  expect(numbers(dir.file("log/audit.2.jsonl"))).toEqual([2]);
  expect(other.logs.find(({ msg }) => String(msg).startsWith("another process writes"))).toBeDefined();
});

/** A file stands where the folder was: neither the audit file nor its lock can be made. */
function block(dir: TempDir): void {
  rmSync(dir.file("log"), { recursive: true });
  writeFileSync(dir.file("log"), "");
}

test('"deny": nothing is sent and nothing answered while records cannot be kept, and it goes on by itself', async () => {
  await using dir = await tempDir();
  const { one, host, file } = await start(dir);
  await using _ = host;
  await echo(host, 1);
  block(dir);
  // The file is still open here: that it is gone is noticed within a second.
  await until(async () => (await echo(host, 2)).error !== undefined, { what: "a refusal", every: 50 });
  const sent = one.received("tools/call").length;
  const refused = await echo(host, 3);
  expect(refused.error).toMatchObject({ data: { code: "AUDIT_UNAVAILABLE", source: "switchyard" } });
  expect((await host.request("tools/list", {})).error).toMatchObject({ data: { code: "AUDIT_UNAVAILABLE" } });
  expect(one.received("tools/call")).toHaveLength(sent);
  expect((await host.request("ping")).result).toEqual({});
  rmSync(dir.file("log"));
  await until(async () => (await echo(host, 4)).result !== undefined, { what: "an answer", every: 50 });
  // What had run has its record, though its answer was withheld.
  expect(numbers(file).filter((n) => n === 2).length).toBeGreaterThan(0);
  expect(linesOf(file)[0]).toMatchObject({ begins: "anew" });
  expect(verify(file)).toMatchObject({ status: 0, stdout: expect.stringContaining("gone while it was written") });
});

test('"allow": answers go on, the log says so loudly, and the records that wait are made up for', async () => {
  await using dir = await tempDir();
  const { host, file } = await start(dir, { onFailure: "allow" });
  await using _ = host;
  await echo(host, 1);
  block(dir);
  const loud = () => host.logs.filter(({ level, msg }) => level === "error" && /WITHOUT A RECORD/.test(String(msg)));
  let n = 2;
  await until(
    async () => {
      expect((await echo(host, n++)).result).toBeDefined();
      return loud().length > 0;
    },
    { what: "the log", every: 50 },
  );
  for (let more = 0; more < 20; more++) expect((await echo(host, n++)).result).toBeDefined();
  expect(loud()).toHaveLength(1);
  rmSync(dir.file("log"));
  await until(
    async () => {
      await echo(host, n++);
      return host.logs.some(({ msg }) => msg === "audit file can be written again");
    },
    { what: "the recovery", every: 50 },
  );
  const kept = numbers(file).map(Number);
  expect(kept.slice(-20)).toEqual(Array.from({ length: 20 }, (_, index) => n - 20 + index));
  expect(verify(file)).toMatchObject({ status: 0 });
});

const prlimit = spawnSync("prlimit", ["--version"]).status === 0;

test.skipIf(!prlimit).each(["deny", "allow"])(
  "a full disk, in the middle of a line (%s): no part of a line stays, and it goes on when there is room",
  async (onFailure) => {
    await using dir = await tempDir();
    const { host, file } = await start(dir, { onFailure });
    await using _ = host;
    await echo(host, 1);
    const whole = readFileSync(file, "utf8");
    const limit = (bytes: string) => execFileSync("prlimit", ["--pid", String(host.pid), `--fsize=${bytes}:`]);
    limit(String(whole.length + 100));
    const full = await echo(host, 2);
    if (onFailure === "allow") expect(full.result).toBeDefined();
    else expect(full.error).toMatchObject({ data: { code: "AUDIT_UNAVAILABLE", ran: true } });
    expect(readFileSync(file, "utf8")).toBe(whole);
    expect((await echo(host, 3)).error === undefined).toBe(onFailure === "allow");
    limit("unlimited");
    await until(async () => (await echo(host, 4)).result !== undefined && numbers(file).includes(4), {
      what: "a record",
      every: 50,
    });
    expect(numbers(file).slice(0, 2)).toEqual([1, 2]);
    expect(numbers(file).includes(3)).toBe(onFailure === "allow");
    expect(verify(file)).toMatchObject({ status: 0, stdout: expect.stringMatching(/ok\n.*\n$/) });
  },
);

test("a file that is moved away by somebody else's rotation is begun anew", async () => {
  await using dir = await tempDir();
  const { host, file } = await start(dir);
  await using _ = host;
  await echo(host, 1);
  renameSync(file, `${file}.old`);
  await until(
    async () => {
      await echo(host, 2);
      return setOf(file).includes(file);
    },
    { what: "a new file", every: 50 },
  );
  expect(verify(`${file}.old`)).toMatchObject({ status: 0 });
  expect(verify(file)).toMatchObject({ status: 0, stdout: expect.stringContaining("note") });
});

test.each([
  ["a device", "/dev/full", /not a regular file/],
  ["a folder", "log", /EISDIR/],
])('%s in the place of the file ends the start with the reason, but not with "allow"', async (_, place, reason) => {
  await using dir = await tempDir();
  mkdirSync(dir.file("log"));
  const one = stdioServer(dir, "one", { tools: [tool("echo")] });
  const config = (onFailure: string) => ({
    mcpServers: { one: one.entry },
    audit: { file: place.startsWith("/") ? place : dir.file(place), onFailure },
  });
  await using refused = await startHost({ config: config("deny"), initialize: false });
  expect(await refused.exit).toMatchObject({ code: 1 });
  expect(refused.stderr).toMatch(reason);
  expect(refused.stderr).toMatch(/cannot be written/);
  await using goes = await startHost({ config: config("allow") });
  expect(await goes.toolNames()).toEqual(["one__echo"]);
  expect(goes.logs.some(({ level, msg }) => level === "error" && /WITHOUT A RECORD/.test(String(msg)))).toBe(true);
});
