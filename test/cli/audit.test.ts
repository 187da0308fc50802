import { EventEmitter, once } from "node:events";
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { Follower } from "../../src/cli/audit/follow.ts";
import type { Io } from "../../src/cli/io.ts";
import { main } from "../../src/cli/main.ts";
import { asideName, setOf } from "../../src/pipeline/audit/set.ts";
import { folder, keys, open, run as writeRun } from "../pipeline/audit-support.ts";
import { linesOf } from "../pipeline/support.ts";
import { until } from "../support/until.ts";
import { capture, run } from "./run.ts";

const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();

interface Fields {
  readonly [field: string]: unknown;
}

function record(time: string, fields: Fields) {
  const whole = {
    session: "s-1",
    client: { name: "claude-code", version: "2" },
    era: "legacy",
    direction: "toServer",
    method: "tools/call",
    requestId: 7,
    server: "files",
    name: "read",
    publicName: "files__read",
    decision: { effect: "allow", rule: "default" },
    outcome: "ok",
    durationMs: 12.5,
    queuedMs: 0,
    upstreamMs: 11.25,
    ...fields,
  };
  return { time, rest: JSON.stringify(whole).slice(1, -1) };
}

/** A file of some records, from an hour ago to a minute ago. */
async function written(rotateBytes?: number) {
  const { file, path } = folder();
  const sink = open(file, { rotateBytes });
  await sink.append(record(at(60), { arguments: { path: "/a\nb\u001b[31m" } }));
  await sink.append(
    record(at(50), {
      name: "drop",
      publicName: "files__drop",
      outcome: "denied",
      decision: { effect: "deny", rule: "rules[2]", reason: "no" },
      error: { code: -32602, message: "Unknown tool: files__drop" },
    }),
  );
  await sink.append(
    record(at(40), {
      server: "db",
      name: "query",
      publicName: "db__query",
      outcome: "tool_error",
      result: { isError: true },
    }),
  );
  await sink.append(record(at(30), { method: "resources/read", name: "docs://a", publicName: "docs://a" }));
  await sink.append(
    record(at(20), {
      direction: "toHost",
      method: "sampling/createMessage",
      name: undefined,
      publicName: undefined,
      server: "db",
    }),
  );
  await sink.append({ time: at(10), rest: '"event":"pin","server":"db","name":"query"' });
  await sink.append(
    record(at(1), {
      method: "tools/list",
      server: undefined,
      name: undefined,
      publicName: undefined,
      outcome: "cancelled",
    }),
  );
  await sink.close();
  return { file, path };
}

/** What `main` needs, with an end that the test can see. */
function terminal() {
  const stdout = capture();
  const signals = new EventEmitter();
  const engine = { startServe: () => Promise.reject(), startClient: () => Promise.reject() };
  const world = { stdin: Readable.from([]), stderr: capture(), env: {}, cwd: "/", platform: process.platform };
  const io: Io = { ...world, stdout, signals, engine, exit: () => {} };
  return { io, stdout, signals };
}

describe("audit verify", () => {
  test("says what is there, and that it is as it was written", async () => {
    const { file } = await written(1_500);
    const { code, stdout, stderr } = await run(["audit", "verify", file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/audit\.jsonl: \d files, records 1 to 7: ok\n {2}last record 7:[0-9a-f]{64}\n$/);
    const again = /last record (\S+)/.exec(stdout)![1]!;
    expect((await run(["audit", "verify", file, "--contains", again])).code).toBe(0);
    expect((await run(["audit", "verify", file, "--contains", again.replace("7:", "8:")])).code).toBe(1);
  });

  test("exits 1 and names file, line and what is wrong", async () => {
    const { file } = await written();
    writeFileSync(file, readFileSync(file, "utf8").replace("db__query", "db__quern"));
    const { code, stdout } = await run(["audit", "verify", file]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `records 1 to 4: BROKEN\n  ${file}:3: was altered: the line after it has another hash of it\n`,
    );
    const json = await run(["audit", "verify", "--json", file]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, chains: [{ problem: { file, line: 3 } }] });
  });

  test("tells notes apart from breaks, and names chains of other processes beside it", async () => {
    const { file, path } = await written();
    appendFileSync(file, '{"time":');
    await writeRun(file, 0, 1);
    await writeRun(`${path}/audit.2.jsonl`, 0, 1);
    const { code, stdout } = await run(["audit", "verify", file]);
    expect(code).toBe(0);
    expect(stdout).toContain(`  note: ${file}:8: was cut by a crash (8 bytes) and is sealed off\n`);
    expect(stdout).toContain(`note: ${path}/audit.2.jsonl is a chain of its own, written by another process\n`);
    expect((await run(["audit", "verify", file, `${path}/audit.2.jsonl`, `${file}.lock`])).stdout).not.toContain(
      "of its own",
    );
  });

  test("checks the signatures of checkpoints against public keys", async () => {
    const { file, path } = folder();
    const { keyFile, publicFile } = keys(path);
    const other = keys(folder().path);
    await writeRun(file, 0, 5, { checkpoints: { every: 2, keyFile } });
    const signed = await run(["audit", "verify", file, "--public-key", other.publicFile, "--public-key", publicFile]);
    expect(signed).toMatchObject({ code: 0, stdout: expect.stringMatching(/4 checkpoints: ok/) });
    expect((await run(["audit", "verify", file])).stdout).toContain("4 signed checkpoints were not checked");
    const wrong = await run(["audit", "verify", file, "--public-key", other.publicFile]);
    expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining("signed with a key that was not given") });
    const none = await run(["audit", "verify", file, "--public-key", file]);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("holds no Ed25519 public key") });
  });

  test("takes the file from the configuration where none is named", async () => {
    const { file } = await written();
    const config = { mcpServers: { a: { command: "x" } }, audit: { file } };
    expect(await run(["audit", "verify"], { config })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("ok"),
    });
    const without = await run(["audit", "verify"], { config: { mcpServers: {} } });
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("audit: the key is missing") });
  });

  test.each([
    [["audit", "verify", "none.jsonl"], "there is no such file"],
    [["audit", "verify", "x", "--contains", "7"], "64 hex digits"],
    [["audit", "tail", "--outcome", "bad", "x"], "It is one of ok, tool_error"],
    [["audit", "tail", "-n", "many", "x"], "It is a whole number"],
    [["audit", "tail", "--since", "yesterday", "x"], '--since: "yesterday" is no time'],
    [["audit", "tail", "--tool", "", "x"], "--tool: an empty glob"],
    [["audit", "export", "x"], "required option '--format <format>'"],
    [["audit", "export", "--format", "xml", "x"], "Allowed choices are csv, otlp-json"],
  ])("%j is a mistake of usage", async (argv, message) => {
    expect(await run(argv)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
});

describe("audit tail", () => {
  test("shows one line a record, without anything that moves the cursor", async () => {
    const { file } = await written(700);
    expect(setOf(file).length).toBeGreaterThan(3);
    const { code, stdout } = await run(["audit", "tail", file]);
    expect(code).toBe(0);
    const lines = stdout.split("\n").slice(0, -1);
    for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}\S/);
    expect(lines.map((line) => line.slice(25).replace(/ {2,}/g, " | "))).toEqual([
      'ok | files/read | 13 ms | claude-code | {"path":"/a\\nb\\u001b[31m"}',
      "denied | files/drop | 13 ms | claude-code | deny by rules[2] (no) | -32602 Unknown tool: files__drop",
      "tool_error | db/query | 13 ms | claude-code",
      "ok | resources/read files docs://a | 13 ms | claude-code",
      "ok | db asks sampling/createMessage | 13 ms | claude-code",
      "— | pin server=db name=query",
      "cancelled | tools/list | 13 ms | claude-code",
    ]);
  });

  test.each<[string[], string[]]>([
    [
      ["-n", "2"],
      ["pin", "tools/list"],
    ],
    [["-n", "0"], []],
    [
      ["--server", "d*"],
      ["query", "sampling/createMessage", "pin"],
    ],
    [
      ["--tool", "files__*"],
      ["read", "drop"],
    ],
    [
      ["--tool", "query", "--tool", "drop"],
      ["drop", "query"],
    ],
    [
      ["--outcome", "denied", "--outcome", "tool_error"],
      ["drop", "query"],
    ],
    [
      ["--since", "35m"],
      ["docs://a", "sampling/createMessage", "pin", "tools/list"],
    ],
    [["--since", "35m", "-n", "1"], ["tools/list"]],
    [["--since", at(55), "--outcome", "denied"], ["drop"]],
    [["--since", "1h30m", "--server", "db", "--tool", "query"], ["query"]],
  ])("%j are these records", async (options, expected) => {
    const { file } = await written(700);
    const { stdout } = await run(["audit", "tail", "--json", ...options, file]);
    const whole = setOf(file).flatMap(linesOf);
    const lines = stdout.split("\n").slice(0, -1);
    // As they are, byte for byte.
    for (const line of lines) expect(whole).toContain(line);
    const shown = lines.map((line) => JSON.parse(line) as Record<string, string>);
    expect(shown.map(({ event, name, method }) => event ?? name ?? method)).toEqual(expected);
  });

  test("reads backwards over blocks and lines of any length", async () => {
    const { file } = folder();
    const sink = open(file);
    for (const length of [10, 70_000, 1, 65_536, 200_000, 5]) {
      await sink.append({ time: at(1), rest: `"x":"${"é".repeat(length)}"` });
    }
    await sink.close();
    const lines = linesOf(file);
    for (const count of [1, 2, 3, 5, 6, 99]) {
      const { stdout } = await run(["audit", "tail", "--json", "-n", String(count), file]);
      expect(stdout.split("\n").slice(0, -1)).toEqual(lines.slice(-count));
    }
  });

  test("-f goes on with what comes, and ends with a signal", async () => {
    const { file } = await written(700);
    const sink = open(file, { rotateBytes: 900 });
    const { io, stdout, signals } = terminal();
    const ended = main(["audit", "tail", "-f", "--json", "-n", "2", "--tool", "n*", file], io);
    const shown = () => stdout.text().split("\n").length - 1;
    await sink.append(record(at(0), { name: "not" }));
    await until(() => shown() === 1, { what: "the first record" });
    for (let n = 0; n < 20; n++) await sink.append(record(at(0), { name: n % 2 === 0 ? "new" : "old" }));
    await until(() => shown() === 11, { what: "ten more" });
    signals.emit("SIGINT");
    expect(await ended).toBe(0);
    expect(signals.listenerCount("SIGINT")).toBe(0);
  });

  test("-f ends when nobody reads any more", async () => {
    const { file } = await written();
    const { io, stdout } = terminal();
    const ended = main(["audit", "tail", "-f", file], io);
    await until(() => stdout.text() !== "", { what: "the last records" });
    stdout.destroy();
    await once(stdout, "close");
    expect(await ended).toBe(0);
  });
});

describe("following a file", () => {
  const numbered = (n: number) => ({ time: at(0), rest: `"n":${n},"text":"${"x".repeat(200)}"` });
  const numbers = (lines: Buffer[]) => lines.map((line) => (JSON.parse(line.toString()) as { n: number }).n);

  test("finds every line once, also of several files that were set aside between two looks, and of one that was removed", async () => {
    const { file } = folder();
    const sink = open(file, { rotateBytes: 900 });
    for (let n = 0; n < 4; n++) await sink.append(numbered(n));
    const follower = new Follower(file);
    expect(follower.poll()).toEqual([]);
    for (let n = 4; n < 24; n++) await sink.append(numbered(n));
    expect(numbers(follower.poll())).toEqual(Array.from({ length: 20 }, (_, index) => index + 4));
    rmSync(file);
    expect(follower.poll()).toEqual([]);
    await sink.append(numbered(24));
    expect(numbers(follower.poll())).toEqual([24]);
    await sink.close();
    renameSync(file, asideName(file, 25));
    expect(follower.poll()).toEqual([]);
    await writeRun(file, 25, 27);
    expect(numbers(follower.poll())).toEqual([25, 26]);
    follower.close();
  });

  test("waits for the rest of a line, and begins anew with a file that was emptied", async () => {
    const { file } = folder();
    writeFileSync(file, '{"n":1}\n{"n"');
    const follower = new Follower(file);
    appendFileSync(file, ":2");
    expect(follower.poll()).toEqual([]);
    appendFileSync(file, '}\n{"n":3}\n{');
    expect(numbers(follower.poll())).toEqual([2, 3]);
    writeFileSync(file, '{"n":4}\n');
    expect(numbers(follower.poll())).toEqual([4]);
    follower.close();
  });
});

describe("audit export", () => {
  test("as CSV quotes every text, ends lines with CRLF, and lets no text be a formula", async () => {
    const { file } = folder();
    const sink = open(file);
    const evil = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", 'say "x", then\r\nnew line'];
    for (const name of evil) await sink.append(record(at(1), { name, error: { code: -32602, message: name } }));
    await sink.close();
    const { code, stdout, stderr } = await run(["audit", "export", "--format", "csv", file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = parseCsv(stdout);
    const header = rows[0]!;
    expect(header.slice(0, 4)).toEqual(["time", "seq", "event", "session"]);
    expect(rows.slice(1).map((row) => row[header.indexOf("name")])).toEqual([
      ...evil.slice(0, -1).map((name) => `'${name}`),
      evil.at(-1),
    ]);
    expect(rows[1]![header.indexOf("error.code")]).toBe("-32602");
    expect(rows[1]![header.indexOf("durationMs")]).toBe("12.5");
    for (const row of rows) expect(row).toHaveLength(header.length);
    expect(stdout.endsWith("\r\n")).toBe(true);
  });

  test("as OTLP/JSON has a span a request, with the names of the conventions and ids that stay the same", async () => {
    const { file } = folder();
    const sink = open(file);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await sink.append(
      record("2026-11-30T12:00:01.500Z", {
        arguments: { a: 1 },
        result: { content: [] },
        traceparent,
        principal: "alice",
        truncated: { fromBytes: 9, toBytes: 8 },
      }),
    );
    await sink.append(
      record("2026-11-30T12:00:02.000Z", { outcome: "denied", error: { code: -32602, message: "Unknown tool" } }),
    );
    await sink.append(record("2026-11-30T12:00:02.000Z", { outcome: "tool_error" }));
    await sink.append(record("2026-11-30T12:00:02.000Z", { method: "prompts/get", requestId: "a", publicName: "p" }));
    await sink.append(record("2026-11-30T12:00:02.000Z", { method: "resources/read", publicName: "docs://a" }));
    await sink.append(
      record("2026-11-30T12:00:02.000Z", { method: "tools/list", publicName: undefined, name: undefined }),
    );
    await sink.append({ time: at(0), rest: '"event":"pin"' });
    await sink.close();
    const { stdout, stderr } = await run(["audit", "export", "--format", "otlp-json", file]);
    expect((await run(["audit", "export", "--format", "otlp-json", file])).stdout).toBe(stdout);
    expect(stderr).toBe("left out: 1 lines that are no requests\n");
    const request = JSON.parse(stdout) as OtlpRequest;
    expect(request.resourceSpans[0]!.resource.attributes).toEqual([
      { key: "service.name", value: { stringValue: "switchyard" } },
    ]);
    const [{ scope, spans }] = request.resourceSpans[0]!.scopeSpans as [OtlpScope];
    expect(scope.name).toBe("switchyard.audit");
    const [first, denied, failed, prompt, resource, list] = spans;
    expect(first).toMatchObject({
      traceId: "0af7651916cd43dd8448eb211c80319c",
      parentSpanId: "b7ad6b7169203331",
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: "tools/call files__read",
      kind: 2,
      startTimeUnixNano: "1796040001487500000",
      endTimeUnixNano: "1796040001500000000",
      status: {},
    });
    expect(attributesOf(first!)).toMatchObject({
      "mcp.method.name": "tools/call",
      "mcp.session.id": "s-1",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "files__read",
      "gen_ai.tool.call.arguments": '{"a":1}',
      "gen_ai.tool.call.result": '{"content":[]}',
      "jsonrpc.request.id": "7",
      "enduser.id": "alice",
      "switchyard.server": "files",
      "switchyard.original_name": "read",
      "switchyard.seq": "1",
      "switchyard.queued_ms": 0,
      "switchyard.upstream_ms": 11.25,
      "switchyard.truncated_from_bytes": "9",
    });
    expect(attributesOf(first!)).not.toHaveProperty("error.type");
    expect(denied!.status).toEqual({ code: 2, message: "Unknown tool" });
    expect(attributesOf(denied!)).toMatchObject({ "error.type": "-32602", "rpc.response.status_code": "-32602" });
    expect(failed!.status).toEqual({ code: 2 });
    expect(attributesOf(failed!)).toMatchObject({ "error.type": "tool_error" });
    expect(prompt!.name).toBe("prompts/get p");
    expect(attributesOf(prompt!)).toMatchObject({ "gen_ai.prompt.name": "p", "jsonrpc.request.id": "a" });
    // A URI in the name would make as many names as there are resources.
    expect(resource!.name).toBe("resources/read");
    expect(attributesOf(resource!)).toMatchObject({ "mcp.resource.uri": "docs://a" });
    expect(list!.name).toBe("tools/list");
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
  });

  test("takes the same filters, and says what is no record", async () => {
    const { file } = await written(700);
    appendFileSync(file, "garbage\n");
    const { stdout, stderr } = await run(["audit", "export", "--format", "csv", "--server", "db", file]);
    expect(parseCsv(stdout)).toHaveLength(1 + 3);
    expect(stderr).toContain("1 lines that are no records");
  });
});

interface OtlpSpan {
  spanId: string;
  name: string;
  status: object;
  attributes: { key: string; value: Record<string, unknown> }[];
}
interface OtlpScope {
  scope: { name: string };
  spans: OtlpSpan[];
}
interface OtlpRequest {
  resourceSpans: { resource: { attributes: unknown[] }; scopeSpans: OtlpScope[] }[];
}

function attributesOf({ attributes }: OtlpSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** RFC 4180, by the letter. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let match = cells.exec(text); match !== null; match = cells.exec(text)) {
    rows.at(-1)!.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] !== ",") rows.push([]);
    if (cells.lastIndex === text.length) break;
  }
  return rows.slice(0, -1);
}
