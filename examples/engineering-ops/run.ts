/** The life cycle on the raw wire, both kinds of error, and a call that is safe to repeat. Exit code 1 on a mismatch. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Reply, WireHost } from "./wire.ts";

interface Hello {
  readonly protocolVersion: string;
  readonly serverInfo: { readonly name: string };
}

interface Tools {
  readonly tools: readonly { readonly name: string }[];
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const args = [file("../../bin/switchyard.js"), "serve", "--config", file("switchyard.json"), "--log-level", "warn"];
/** Instead of the user's cache, so that nothing is left behind. */
const cache = mkdtempSync(join(tmpdir(), "switchyard-engineering-ops-"));
const env = { ...process.env, XDG_CACHE_HOME: cache };
const clientInfo = { name: "engineering-ops-example", version: "1.0.0" };

function title(text: string): void {
  console.log(`\n${text}`);
}

function start(print: (line: string) => void = (line) => console.log(`  ${line}`)): WireHost {
  return new WireHost(process.execPath, args, env, print);
}

function initialize(host: WireHost, id: number | string, protocolVersion: string): Promise<Reply> {
  return host.request(id, "initialize", { protocolVersion, capabilities: {}, clientInfo });
}

/** The result of an answer that must have one. */
function resultOf<Result>({ result, error }: Reply): Result {
  assert(result, `an error instead of a result: ${JSON.stringify(error)}`);
  return result as Result;
}

function text(reply: Reply): string {
  const [block] = resultOf<{ content: { type: string; text: string }[] }>(reply).content;
  assert.equal(block?.type, "text");
  return block.text;
}

async function lifeCycle(): Promise<void> {
  const host = start();
  try {
    title("Before initialize: ping is answered, anything else is an error");
    assert.deepEqual((await host.request(1, "ping")).result, {});
    assert.equal((await host.request(2, "tools/list")).error?.code, -32600);

    title("initialize, then initialized");
    const hello = await initialize(host, "hello", "2025-11-25");
    assert.equal(hello.id, "hello");
    const { protocolVersion, serverInfo } = resultOf<Hello>(hello);
    assert.equal(protocolVersion, "2025-11-25");
    assert.equal(serverInfo.name, "switchyard");
    host.notify("notifications/initialized");

    title("A second initialize is an error");
    assert.equal((await initialize(host, 3, "2025-11-25")).error?.code, -32600);

    title("The tools");
    const { tools } = resultOf<Tools>(await host.request(4, "tools/list"));
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["ops__get_incident", "ops__add_incident_note"],
    );

    title("A call");
    const found = await host.request(5, "tools/call", {
      name: "ops__get_incident",
      arguments: { incident_id: "INC-7" },
    });
    assert.equal(JSON.parse(text(found)).title, "checkout answers slowly");

    title("First kind of error, the tool's own: a result with isError, which the model reads");
    const missing = await host.request(6, "tools/call", {
      name: "ops__get_incident",
      arguments: { incident_id: "INC-404" },
    });
    assert.equal(missing.error, undefined);
    assert.equal(missing.result?.["isError"], true);
    assert.equal(text(missing), "There is no incident INC-404.");

    title("Second kind, the protocol's: no such tool, no such method");
    const unknown = await host.request(7, "tools/call", { name: "ops__restart_everything", arguments: {} });
    assert.equal(unknown.result, undefined);
    assert.equal(unknown.error?.code, -32602);
    assert.equal((await host.request(8, "incidents/list")).error?.code, -32601);

    title("The same note twice under one request id: one note, the same answer");
    const note = {
      name: "ops__add_incident_note",
      arguments: { incident_id: "INC-7", note: "cache was cold", request_id: "note-0001" },
    };
    const first = await host.request(9, "tools/call", note);
    const second = await host.request(10, "tools/call", note);
    assert.deepEqual(second.result, first.result);
    const after = await host.request(11, "tools/call", {
      name: "ops__get_incident",
      arguments: { incident_id: "INC-7" },
    });
    assert.deepEqual(JSON.parse(text(after)).notes, ["cache was cold"]);
  } finally {
    title("The host closes stdin");
    const code = await host.close();
    console.log(`  exit code ${code}`);
    assert.equal(code, 0);
  }
}

async function negotiation(): Promise<void> {
  title("Versions: a known one is taken, an unknown one is answered with the newest");
  const asked = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"];
  for (const version of asked) {
    const host = start(() => {});
    try {
      const { protocolVersion } = resultOf<Hello>(await initialize(host, 1, version));
      console.log(`  asked for ${version}, got ${protocolVersion}`);
      assert.equal(protocolVersion, version === "1999-01-01" ? "2025-11-25" : version);
      host.notify("notifications/initialized");
      const { tools } = resultOf<Tools>(await host.request(2, "tools/list"));
      assert.equal(tools.length, 2);
    } finally {
      assert.equal(await host.close(), 0);
    }
  }
}

try {
  await lifeCycle();
  await negotiation();
} finally {
  rmSync(cache, { recursive: true, force: true });
}
console.log("\nengineering-ops: as expected");
