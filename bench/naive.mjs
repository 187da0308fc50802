// For comparison: the proxy that one writes first, on the SDK's Client and Server. argv: one JSON array
// [{ name, command, args }]. Lists and calls tools under `<name>__<tool>`, relays progress and cancellation. Nothing else.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const identity = { name: "naive", version: "1.0.0" };
const clients = new Map();

await Promise.all(
  JSON.parse(process.argv[2]).map(async ({ name, command, args }) => {
    const client = new Client(identity);
    await client.connect(new StdioClientTransport({ command, args }));
    clients.set(name, client);
  }),
);

async function allTools(name, client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools({ cursor });
    tools.push(...page.tools.map((tool) => ({ ...tool, name: `${name}__${tool.name}` })));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

const server = new Server(identity, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, async () => {
  const lists = await Promise.all([...clients].map(([name, client]) => allTools(name, client)));
  return { tools: lists.flat() };
});

server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
  const [prefix, ...rest] = params.name.split("__");
  const client = clients.get(prefix);
  if (client === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
  const progressToken = params._meta?.progressToken;
  const onprogress =
    progressToken === undefined
      ? undefined
      : (step) => void sendNotification({ method: "notifications/progress", params: { ...step, progressToken } });
  return client.callTool({ name: rest.join("__"), arguments: params.arguments }, undefined, { signal, onprogress });
});

await server.connect(new StdioServerTransport());
process.stdin.on("end", async () => {
  await Promise.all([...clients.values()].map((client) => client.close()));
  process.exit(0);
});
