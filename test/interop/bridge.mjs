/**
 * `bridge.mjs http|sse URL`: a remote server as one on stdio, through the official client transport. So a test speaks to a
 * remote server directly with the same raw host as to the proxy. Messages are parsed and written anew on the way.
 *
 * The transport is that of the SDK 2.x: that of 1.x takes a stream that brought an error for a broken one, resumes it a
 * second later, and server-everything then replays all that it ever sent.
 */
import { createInterface } from "node:readline";
import { SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [kind, url] = process.argv.slice(2);
const transport =
  kind === "sse" ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url));

transport.onmessage = (message) => {
  if (message.result?.serverInfo) transport.setProtocolVersion?.(message.result.protocolVersion);
  process.stdout.write(`${JSON.stringify(message)}\n`);
};
transport.onerror = (error) => process.stderr.write(`${error.stack}\n`);
await transport.start();
for await (const line of createInterface({ input: process.stdin })) {
  // Not awaited: with Streamable HTTP it takes until the answer's headers are there, and a call may wait for a later message.
  transport.send(JSON.parse(line)).catch(transport.onerror);
}
await transport.terminateSession?.().catch(() => {});
await transport.close();
