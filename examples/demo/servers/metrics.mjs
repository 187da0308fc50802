import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";

const series = new Map([
  ["http.latency", [12, 14, 13]],
  ["http.errors", [0, 1, 0]],
]);

const server = new McpServer({ name: "metrics", version: "1.0.0" });

server.registerTool(
  "search",
  { description: "Finds series by a part of their name", inputSchema: { text: z.string() } },
  ({ text: wanted }) => ({
    content: [{ type: "text", text: [...series.keys()].filter((name) => name.includes(wanted)).join("\n") }],
  }),
);
server.registerTool(
  "query",
  {
    description: "The values of one series",
    inputSchema: { name: z.string() },
    outputSchema: { values: z.array(z.number()) },
  },
  ({ name }) => {
    const structuredContent = { values: series.get(name) ?? [] };
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
);
server.registerPrompt("summary", { description: "Asks for a summary of all series" }, () => ({
  messages: [{ role: "user", content: { type: "text", text: `Sum up: ${JSON.stringify([...series])}` } }],
}));

await server.connect(new StdioServerTransport());
