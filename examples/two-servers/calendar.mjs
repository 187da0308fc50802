// A small server, written with version 1 of the official SDK.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";

const events = ["Monday: planning", "Wednesday: release review", "Friday: planning retrospective"];
const text = (value) => ({ content: [{ type: "text", text: value }] });

const server = new McpServer({ name: "calendar", version: "1.0.0" });

server.registerTool(
  "search",
  { description: "Finds events in the calendar", inputSchema: { text: z.string().describe("What to look for") } },
  ({ text: wanted }) => text(events.filter((event) => event.includes(wanted)).join("\n")),
);
server.registerTool(
  "add_event",
  { description: "Adds an event to the calendar", inputSchema: { day: z.string(), title: z.string() } },
  ({ day, title }) => text(`${events.push(`${day}: ${title}`)} events`),
);
server.registerPrompt("summary", { description: "Asks for a summary of the week" }, () => ({
  messages: [{ role: "user", content: { type: "text", text: `Sum up: ${events.join("; ")}` } }],
}));

await server.connect(new StdioServerTransport());
