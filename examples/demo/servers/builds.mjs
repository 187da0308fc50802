import { setTimeout as wait } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";

const history = [];
const text = (value) => ({ content: [{ type: "text", text: value }] });

/** Reports one step, if the host asked for reports. */
async function report({ _meta: meta, sendNotification }, progress, total, message) {
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return;
  await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total, message } });
}

const server = new McpServer({ name: "builds", version: "1.0.0" });

server.registerTool(
  "run_tests",
  { description: "Runs the tests, with progress", inputSchema: {} },
  async (_, extra) => {
    const suites = ["units", "flows", "contracts", "interop", "examples"];
    for (const [at, suite] of suites.entries()) {
      await report(extra, at + 1, suites.length, suite);
      await wait(120);
    }
    history.push("tests passed");
    return text(`${suites.length} suites passed`);
  },
);
server.registerTool(
  "deploy",
  { description: "Deploys; takes a minute", inputSchema: { to: z.string() } },
  async ({ to }, extra) => {
    const { signal } = extra;
    // Noted at once, not when the wait below has ended: the host may ask for the history with its next breath.
    signal.addEventListener("abort", () => history.push(`deployment to ${to} was cancelled`));
    await report(extra, 1, 60, `deploying to ${to}`);
    await wait(60_000, undefined, { signal });
    history.push(`deployed to ${to}`);
    return text("deployed");
  },
);
server.registerTool("history", { description: "What has happened so far" }, () => text(history.join("\n")));

await server.connect(new StdioServerTransport());
