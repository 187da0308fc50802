/** Two servers whose names collide, behind one entry; the host is the official SDK's client. Exit code 1 on a mismatch. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Instead of the user's cache, so that nothing is left behind. */
const cache = mkdtempSync(join(tmpdir(), "switchyard-two-servers-"));
const client = new Client({ name: "two-servers-example", version: "1.0.0" });
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [file("../../bin/switchyard.js"), "serve", "--config", file("switchyard.json"), "--log-level", "warn"],
  env: { ...getDefaultEnvironment(), XDG_CACHE_HOME: cache },
});

async function callText(name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = CallToolResultSchema.parse(await client.callTool({ name, arguments: args }));
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}

/** Servers may still be starting when the first list is asked for; `list_changed` says when there is more. */
async function allTools(expected: number): Promise<string[]> {
  for (const deadline = Date.now() + 20_000; ; ) {
    const { tools } = await client.listTools();
    if (tools.length >= expected || Date.now() > deadline) return tools.map(({ name }) => name);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

try {
  await client.connect(transport);
  console.log("connected to", client.getServerVersion()?.name);

  const tools = await allTools(4);
  console.log("tools:  ", tools.join("  "));
  assert.deepEqual(tools, ["calendar__search", "calendar__add_event", "tracker__search", "tracker__close_ticket"]);

  const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
  console.log("prompts:", prompts.join("  "));
  assert.deepEqual(prompts, ["calendar__summary", "tracker__summary"]);

  const events = await callText("calendar__search", { text: "planning" });
  console.log(`calendar__search "planning":\n  ${events.replaceAll("\n", "\n  ")}`);
  assert.equal(events, "Monday: planning\nFriday: planning retrospective");

  const tickets = await callText("tracker__search", { text: "planning" });
  console.log(`tracker__search "planning":\n  ${tickets}`);
  assert.equal(tickets, "#17 planning board does not load");

  assert.equal(await callText("tracker__close_ticket", { id: 17 }), "#17 is closed");
  assert.equal(await callText("calendar__add_event", { day: "Tuesday", title: "demo" }), "4 events");

  const prompt = await client.getPrompt({ name: "tracker__summary" });
  assert.deepEqual(prompt.messages[0]?.content, { type: "text", text: "Sum up: #23 export loses the last row" });

  // A name belongs to one server for good: without its prefix it belongs to nobody.
  await assert.rejects(client.callTool({ name: "search", arguments: { text: "planning" } }), (error) => {
    assert(error instanceof McpError);
    console.log(`search without prefix: ${error.message}`);
    return error.code === -32602;
  });
} finally {
  await client.close();
  rmSync(cache, { recursive: true, force: true });
}
console.log("two-servers: as expected");
