import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";

const notes = new Map([
  ["release", "The release waits for the export fix."],
  ["lunch", "Soup on Tuesdays."],
]);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const title = z.string().describe("Title of the note");

const server = new McpServer({ name: "notes", version: "1.0.0" });

server.registerTool(
  "search",
  { description: "Finds notes that contain a text", inputSchema: { text: z.string() } },
  ({ text: wanted }) => text([...notes].flatMap(([name, body]) => (body.includes(wanted) ? [name] : [])).join("\n")),
);
server.registerTool("read_note", { description: "Reads one note", inputSchema: { title } }, ({ title: name }) =>
  text(notes.get(name) ?? "no such note"),
);
server.registerTool(
  "write_note",
  { description: "Writes one note", inputSchema: { title, body: z.string() } },
  ({ title: name, body }) => {
    notes.set(name, body);
    return text("written");
  },
);
server.registerTool(
  "delete_note",
  { description: "Deletes one note", inputSchema: { title }, annotations: { destructiveHint: true } },
  ({ title: name }) => text(notes.delete(name) ? "deleted" : "no such note"),
);
server.registerResource("release", "note://release", { mimeType: "text/plain" }, (uri) => ({
  contents: [{ uri: uri.href, text: notes.get("release") }],
}));
server.registerPrompt("summary", { description: "Asks for a summary of all notes" }, () => ({
  messages: [{ role: "user", content: { type: "text", text: `Sum up: ${[...notes.values()].join(" ")}` } }],
}));

await server.connect(new StdioServerTransport());
