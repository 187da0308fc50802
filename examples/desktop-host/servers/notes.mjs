import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const server = new McpServer({ name: "notes", version: "1.0.0" });
server.registerTool("list_notes", { description: "Titles of all notes" }, () => ({
  content: [{ type: "text", text: "shopping\nideas" }],
}));
server.registerTool("delete_all_notes", { description: "Deletes every note" }, () => ({
  content: [{ type: "text", text: "gone" }],
}));
await server.connect(new StdioServerTransport());
