// An incident desk. An unknown incident is the business of the tool and answered as its result (`isError`), not as a protocol
// error. `add_incident_note` takes a request id: sent again under the same one it adds nothing and gives the same answer.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";

const incidents = new Map([
  ["INC-7", { id: "INC-7", title: "checkout answers slowly", severity: 2, notes: [] }],
  ["INC-9", { id: "INC-9", title: "nightly export is missing", severity: 3, notes: [] }],
]);
/** Request id -> the answer that was given to it. */
const answered = new Map();

const json = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const unknown = (id) => ({ content: [{ type: "text", text: `There is no incident ${id}.` }], isError: true });

const server = new McpServer({ name: "incidents", version: "1.0.0" });

server.registerTool(
  "get_incident",
  {
    description: "One incident with its notes",
    inputSchema: { incident_id: z.string().describe("As in INC-7") },
    annotations: { readOnlyHint: true },
  },
  ({ incident_id }) => {
    const incident = incidents.get(incident_id);
    return incident === undefined ? unknown(incident_id) : json(incident);
  },
);

server.registerTool(
  "add_incident_note",
  {
    description: "Adds a note to an incident. Safe to send again under the same request_id.",
    inputSchema: {
      incident_id: z.string(),
      note: z.string(),
      request_id: z.string().describe("Chosen by the caller, one for each note"),
    },
    annotations: { idempotentHint: true },
  },
  ({ incident_id, note, request_id }) => {
    const incident = incidents.get(incident_id);
    if (incident === undefined) return unknown(incident_id);
    let answer = answered.get(request_id);
    if (answer === undefined) {
      incident.notes.push(note);
      answer = json({ incident_id, note_number: incident.notes.length });
      answered.set(request_id, answer);
    }
    return answer;
  },
);

await server.connect(new StdioServerTransport());
