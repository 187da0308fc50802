/** Promise: whatever an HTTP server answers, the host gets JSON-RPC: the answer, or an error that says what came instead. */
import { expect, test } from "vitest";
import { httpServer, tool } from "../support/config.ts";
import { startHost } from "../support/host.ts";
import { type HttpAnswer, startHttpServer } from "../support/http-server.ts";
import { rawAt } from "../support/raw.mjs";

const TOKEN = "s3cr3t-t0ken-value";
const json = { "content-type": "application/json" };
const ANSWERS: Record<string, HttpAnswer> = {
  other: { status: 200, headers: json, body: '{"hello":"world"}' },
  text: { status: 200, headers: json, body: "not json at all" },
  html: {
    status: 200,
    headers: { "content-type": "text/html" },
    body: `<html><title>Sign in</title>Bearer ${TOKEN} ${"x".repeat(100_000)}</html>`,
  },
  empty: { status: 200, headers: json, body: "" },
  accepted: { status: 202 },
  none: { status: 204 },
  wrongType: { status: 200, headers: { "content-type": "text/plain" }, body: "plain" },
  wrongId: { status: 200, headers: json, body: '{"jsonrpc":"2.0","id":987654321,"result":{}}' },
  array: { status: 200, headers: json, body: "[]" },
  failed: { status: 500, headers: { "content-type": "text/plain" }, body: `stack trace with ${TOKEN}` },
  emptyStream: { status: 200, headers: { "content-type": "text/event-stream" }, body: "" },
  oddStream: {
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: "data: <html>\n\n: comment\n\nevent: x\n\n",
  },
};

test("an HTTP answer that is no JSON-RPC becomes an error with status and a bounded, redacted snippet", async () => {
  // H10
  const exact = '{"content":[],"n":9223372036854775808,"z":1.0,"a":-0,"dup":1,"dup":2,"u":"\\u00e9\u2028"}';
  await using server = await startHttpServer(
    {
      tools: [...Object.keys(ANSWERS).map((name) => tool(name)), tool("exact"), tool("streamed")],
      on: { exact: [{ result: exact }], streamed: [{ log: { level: "info", data: 1 } }, { result: exact }] },
    },
    {
      token: TOKEN,
      intercept: ({ message }) =>
        message?.method === "tools/call" ? ANSWERS[message.params!["name"] as string] : undefined,
    },
  );
  const web = httpServer(server.url, { type: "http", headers: { Authorization: `Bearer ${TOKEN}` } });
  await using host = await startHost({ config: { mcpServers: { web } } });
  const replies = await Promise.all(
    Object.keys(ANSWERS).map((name) => host.request("tools/call", { name: `web__${name}`, arguments: {} })),
  );
  for (const [i, name] of Object.keys(ANSWERS).entries()) {
    const { error, raw } = replies[i]!;
    expect(error, name).toMatchObject({ code: -32603, data: { source: "switchyard", server: "web" } });
    expect(error!.message, name).toContain("web");
    expect(raw, name).not.toContain(TOKEN);
    expect(raw.length, name).toBeLessThan(3000);
  }
  const message = (name: string) => JSON.stringify(replies[Object.keys(ANSWERS).indexOf(name)]!.error);
  expect(message("html")).toContain("200");
  expect(message("html")).toContain("Sign in");
  expect(message("failed")).toContain("500");
  expect(message("wrongType")).toContain("text/plain");
  expect(host.stderr).not.toContain(TOKEN);
  // The connection lives, in one session; answers pass byte for byte, as JSON and as a stream.
  for (const name of ["exact", "streamed"]) {
    const reply = await host.request("tools/call", { name: `web__${name}`, arguments: {} });
    expect(rawAt(reply.raw, "result"), name).toBe(exact);
  }
  expect(server.received("initialize")).toHaveLength(1);
  // F9, R195: none of them was sent twice.
  expect(server.received("tools/call")).toHaveLength(Object.keys(ANSWERS).length + 2);
});
