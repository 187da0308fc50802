/**
 * The main job as a demonstration: a real host (the official SDK's client) talks through one entry to three servers.
 * Every step checks what it shows; exit code 1 on a mismatch.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, McpError, type Progress, type Tool } from "@modelcontextprotocol/sdk/types.js";

interface AuditRecord {
  readonly prev: string;
  readonly outcome: string;
  readonly publicName?: string;
  readonly decision?: { readonly effect: string; readonly rule: string; readonly reason?: string };
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const color = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
const paint = (code: number) => (text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = paint(1);
const dim = paint(2);
const green = paint(32);

function title(text: string): void {
  console.log(`\n${bold(text)}`);
}

function show(...lines: readonly string[]): void {
  for (const line of lines) console.log(`  ${line}`);
}

const folder = mkdtempSync(join(tmpdir(), "switchyard-demo-"));
const auditFile = join(folder, "audit.jsonl");
const client = new Client({ name: "demo-host", version: "1.0.0" });

async function call(name: string, args: Record<string, unknown> = {}, options = {}): Promise<string> {
  const { content } = CallToolResultSchema.parse(
    await client.callTool({ name, arguments: args }, CallToolResultSchema, options),
  );
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}

async function pagesOfTools(): Promise<Tool[][]> {
  const pages: Tool[][] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    pages.push(page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

async function catalogue(): Promise<void> {
  title("One entry, three servers: the merged catalogue");
  const tools = (await pagesOfTools()).flat();
  for (const { name, description } of tools) show(`${green(name.padEnd(20))} ${dim(description ?? "")}`);
  assert.deepEqual(
    tools.map(({ name }) => name),
    [
      ...["notes__search", "notes__read_note", "notes__write_note"],
      ...["builds__run_tests", "builds__deploy", "builds__history"],
      ...["metrics__search", "metrics__query"],
    ],
  );
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  show(`prompts:   ${prompts.map(({ name }) => name).join("  ")}`);
  show(`resources: ${resources.map(({ uri }) => uri).join("  ")}`);
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ["notes__summary", "metrics__summary"],
  );
  assert.deepEqual(
    resources.map(({ uri }) => uri),
    ["note://release"],
  );
}

async function twoSearches(): Promise<void> {
  title("Two tools called search: each call reaches its own server");
  for (const [name, text, answer] of [
    ["notes__search", "export", "release"],
    ["metrics__search", "errors", "http.errors"],
  ] as const) {
    const found = await call(name, { text });
    show(`${green(name)} ${JSON.stringify(text)} → ${found}`);
    assert.equal(found, answer);
  }
}

async function progress(): Promise<void> {
  title("A call with progress");
  const steps: string[] = [];
  const onprogress = ({ progress, total, message }: Progress): void => {
    steps.push(message ?? "");
    show(`${"█".repeat(progress * 4).padEnd((total ?? 0) * 4, "░")} ${progress}/${total} ${message}`);
  };
  const answer = await call("builds__run_tests", {}, { onprogress });
  show(`→ ${answer}`);
  assert.deepEqual(steps, ["units", "flows", "contracts", "interop", "examples"]);
  assert.equal(answer, "5 suites passed");
}

async function pageTurns(): Promise<void> {
  title("Page turns: three tools a page, cut across the servers");
  const pages = await pagesOfTools();
  for (const [at, tools] of pages.entries()) show(`page ${at + 1}: ${tools.map(({ name }) => name).join("  ")}`);
  assert.deepEqual(
    pages.map(({ length }) => length),
    [3, 3, 2],
  );
  const foreign = client.listTools({ cursor: "Zm9yZ2Vk" });
  await assert.rejects(foreign, (error) => {
    assert(error instanceof McpError);
    show(`a cursor that is not ours: ${error.message}`);
    return error.code === -32602;
  });
}

async function cancellation(): Promise<void> {
  title("A cancelled call");
  const controller = new AbortController();
  // The host changes its mind as soon as the tool is at work.
  const onprogress = ({ message }: Progress): void => {
    show(`${message} … and the host cancels`);
    controller.abort("changed my mind");
  };
  await assert.rejects(call("builds__deploy", { to: "production" }, { onprogress, signal: controller.signal }));
  const history = await call("builds__history");
  show(`the server says: ${history.replaceAll("\n", ", ")}`);
  assert.equal(history, "tests passed\ndeployment to production was cancelled");
}

async function denial(): Promise<void> {
  title("A denied call, and what the audit file says about it");
  await assert.rejects(call("notes__delete_note", { title: "release" }), (error) => {
    assert(error instanceof McpError);
    show(`notes__delete_note: ${error.message}`);
    return error.code === -32602;
  });
  const lines = readFileSync(auditFile, "utf8").trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as AuditRecord);
  const record = records.find(({ outcome }) => outcome === "denied");
  assert(record, "the denied call is not in the audit file");
  for (const [key, value] of Object.entries(record)) show(dim(`${key.padEnd(16)} ${JSON.stringify(value)}`));
  assert.equal(record.publicName, "notes__delete_note");
  assert.equal(record.decision?.effect, "deny");
  assert.equal(record.decision?.reason, "nothing is deleted from here");

  for (const [at, { prev }] of records.entries()) {
    const before = lines[at - 1];
    if (before !== undefined) assert.equal(prev, createHash("sha256").update(before).digest("hex"));
  }
  show(`${records.length} records so far; each holds the SHA-256 of the line before it, and the chain is whole`);
}

const begin = performance.now();
try {
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [file("../../bin/switchyard.js"), "serve", "--config", file("switchyard.json"), "--log-level", "warn"],
      // Nothing is left behind, in the user's cache neither.
      env: { ...getDefaultEnvironment(), DEMO_AUDIT_FILE: auditFile, XDG_CACHE_HOME: folder },
    }),
  );
  const { name, version } = client.getServerVersion() ?? {};
  console.log(`Connected to ${name} ${version} in ${Math.round(performance.now() - begin)} ms`);
  await catalogue();
  await twoSearches();
  await progress();
  await pageTurns();
  await cancellation();
  await denial();
} finally {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\n${green("Everything as expected")}, in ${((performance.now() - begin) / 1000).toFixed(1)} s.`);
