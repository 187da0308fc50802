// A small server, written with version 2 of the official SDK. Its `search` and `summary` are called like the calendar's.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const tickets = new Map([
  [17, "planning board does not load"],
  [23, "export loses the last row"],
]);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const listed = () => [...tickets].map(([id, title]) => `#${id} ${title}`);

serveStdio(() => {
  const server = new McpServer({ name: "tracker", version: "1.0.0" });
  server.registerTool(
    "search",
    { description: "Finds open tickets", inputSchema: z.object({ text: z.string().describe("What to look for") }) },
    ({ text: wanted }) =>
      text(
        listed()
          .filter((ticket) => ticket.includes(wanted))
          .join("\n"),
      ),
  );
  server.registerTool(
    "close_ticket",
    { description: "Closes a ticket", inputSchema: z.object({ id: z.number().int() }) },
    ({ id }) => text(tickets.delete(id) ? `#${id} is closed` : `#${id} is not open`),
  );
  server.registerPrompt("summary", { description: "Asks for a summary of the open tickets" }, () => ({
    messages: [{ role: "user", content: { type: "text", text: `Sum up: ${listed().join("; ")}` } }],
  }));
  return server;
});
