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

/** Streamable HTTP: the standalone stream is open, or the server has none. What a server sends before is lost. */
let opened = () => {};
const listening = new Promise((resolve) => {
  opened = resolve;
});
const fetchAndTell = async (input, init) => {
  const response = await fetch(input, init);
  if (init?.method === "GET") opened();
  return response;
};

const transport =
  kind === "sse"
    ? new SSEClientTransport(new URL(url))
    : new StreamableHTTPClientTransport(new URL(url), { fetch: fetchAndTell });

transport.onmessage = (message) => {
  if (message.result?.serverInfo) transport.setProtocolVersion?.(message.result.protocolVersion);
  process.stdout.write(`${JSON.stringify(message)}\n`);
};
transport.onerror = (error) => process.stderr.write(`${error.stack}\n`);
await transport.start();
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  // Not awaited: with Streamable HTTP it takes until the answer's headers are there, and a call may wait for a later message.
  transport.send(message).catch(transport.onerror);
  if (kind === "http" && message.method === "notifications/initialized") await listening;
}
await transport.terminateSession?.().catch(() => {});
await transport.close();
