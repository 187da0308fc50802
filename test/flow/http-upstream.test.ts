/** Promise: an HTTP server gets the headers it is owed, on every request, and a broken one is named. */
import { expect, test } from "vitest";
import { httpServer, tool } from "../support/config.ts";
import { type Host, startHost } from "../support/host.ts";
import { type HttpAnswer, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const failures = (host: Host, server: string) =>
  host.logs.filter((record) => record["server"] === server && record["stage"] !== undefined);

test("after the handshake every request carries the negotiated revision, the session and the configured headers, and no others", async () => {
  // I1, R70, R71, R79, R74
  const script = { tools: [tool("do"), tool("t")], resources: [{ uri: "x://r", name: "r" }] };
  await using strict = await startHttpServer(
    { ...script, versions: ["2025-03-26"] },
    { onlyVersion: "2025-03-26", answer: "sse" },
  );
  await using young = await startHttpServer(script, { onlyVersion: "2025-11-25" });
  await using middle = await startHttpServer({ ...script, versions: ["2025-06-18"] }, { onlyVersion: "2025-06-18" });
  await using host = await startHost({
    protocolVersion: "2025-11-25",
    capabilities: { roots: {} },
    config: {
      mcpServers: {
        strict: httpServer(strict.url, { headers: { Authorization: "Bearer of-strict", "X-Key": "k 1" } }),
        young: httpServer(young.url),
        middle: httpServer(middle.url, { type: "http" }),
      },
    },
  });
  host.answer("roots/list", () => ({ roots: [] }));
  expect(await host.toolNames()).toHaveLength(6);
  await host.listAll("resources/list", "resources");
  for (const name of ["strict", "young", "middle"]) {
    // Calls, answers to the server's questions, cancels, subscriptions.
    await host.call(`${name}__do`, { steps: [{ ask: [{ method: "roots/list" }] }] });
    void host.request("tools/call", { name: `${name}__do`, arguments: { steps: [{ silent: true }] } }, { id: name });
    host.cancel(name);
    expect(await host.callText(`${name}__t`)).toBe("scripted:t");
  }
  await host.request("resources/subscribe", { uri: "x://r" });
  const servers = { strict, young, middle };
  const versions = { strict: "2025-03-26", young: "2025-11-25", middle: "2025-06-18" };
  for (const server of Object.values(servers)) await until(() => server.streams === 1, { what: "a GET stream" });
  const sessions = Object.fromEntries(Object.entries(servers).map(([name, { sessions }]) => [name, sessions[0]]));
  await host.close();

  for (const [name, server] of Object.entries(servers)) {
    const [initialize, ...later] = server.requests;
    expect(initialize!.message!.method, name).toBe("initialize");
    expect(initialize!.headers["mcp-session-id"], name).toBeUndefined();
    expect(new Set(later.map(({ method }) => method)), name).toEqual(new Set(["POST", "GET", "DELETE"]));
    for (const { method, headers, message } of later) {
      const what = `${name}: ${method} ${message?.method ?? ""}`;
      expect(headers["mcp-protocol-version"], what).toBe(versions[name as keyof typeof versions]);
      expect(headers["mcp-session-id"], what).toBe(sessions[name]);
    }
    for (const { method, headers, body } of server.requests) {
      expect(headers.authorization, name).toBe(name === "strict" ? "Bearer of-strict" : undefined);
      expect(headers["x-key"], name).toBe(name === "strict" ? "k 1" : undefined);
      expect(headers.cookie, name).toBeUndefined();
      if (method === "GET") expect(headers.accept, name).toContain("text/event-stream");
      if (method !== "POST") continue;
      expect(headers.accept, name).toMatch(/application\/json/);
      expect(headers.accept, name).toMatch(/text\/event-stream/);
      expect(headers["content-type"], name).toMatch(/^application\/json/);
      expect(body.startsWith("{"), `${name}: one message a body`).toBe(true);
    }
    expect(server.received("initialize"), name).toHaveLength(1);
    expect(server.received("").length, `${name}: answers to its question`).toBe(1);
    expect(server.received("notifications/cancelled"), name).toHaveLength(1);
  }
});

test("a server that answers the handshake with something else is named with status and a snippet, and delays nobody", async () => {
  // H10, F1, F3
  const secret = "s3cr3t-h3ader-value";
  const html: HttpAnswer = {
    status: 200,
    headers: { "content-type": "text/html" },
    body: `<html><title>Company sign-in</title>${secret}</html>`,
  };
  const json = { "content-type": "application/json" };
  const answers: Record<string, [HttpAnswer | "cut", RegExp]> = {
    portal: [html, /200.*Company sign-in/],
    wrong: [{ status: 200, headers: json, body: '{"hello":"world"}' }, /200.*hello/],
    empty: [{ status: 200, headers: json, body: "" }, /200/],
    moved: [{ status: 301, headers: { location: "https://elsewhere.example/mcp" } }, /301.*elsewhere\.example/],
    broken: [{ status: 500, body: "stack trace" }, /500.*stack trace/],
    forbidden: [{ status: 403, body: "no" }, /403/],
    cut: ["cut", /closed the connection|lost/],
  };
  const servers = await Promise.all(
    Object.values(answers).map(([answer]) => startHttpServer({}, { intercept: () => answer })),
  );
  await using _servers = { [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((s) => s.close()))) };
  await using ok = await startHttpServer({ tools: [tool("t")] });
  const headers = { "X-Key": secret };
  const entries = Object.keys(answers).map((name, i) => [name, httpServer(servers[i]!.url, { type: "http", headers })]);
  await using host = await startHost({
    config: { mcpServers: { ...Object.fromEntries(entries), ok: httpServer(ok.url) } },
  });
  expect(await host.toolNames()).toEqual(["ok__t"]);
  for (const [i, [name, [, expected]]] of Object.entries(answers).entries()) {
    await until(() => failures(host, name).length > 0, { what: `a line about ${name}` });
    expect(JSON.stringify(failures(host, name)[0]), name).toMatch(expected);
    // Each POST that got an answer is not repeated within its attempt.
    expect(servers[i]!.received("initialize").length, name).toBeLessThanOrEqual(1 + failures(host, name).length);
  }
  expect(host.stderr).not.toContain(secret);
  expect(await host.callText("ok__t")).toBe("scripted:t");
});

test("a call to a server that hangs holds up no other call, also to the same server, and can be cancelled", async () => {
  // F1, C2
  await using web = await startHttpServer(
    { tools: [tool("hang"), tool("t")] },
    {
      intercept: ({ message }) =>
        message?.method === "tools/call" && message.params!["name"] === "hang" ? "hang" : undefined,
    },
  );
  await using host = await startHost({
    config: { timeouts: { drainMs: 200 }, mcpServers: { web: httpServer(web.url) } },
  });
  await host.toolNames();
  for (let id = 0; id < 20; id++) void host.request("tools/call", { name: "web__hang", arguments: {} }, { id });
  const hanging = () => web.received("tools/call").filter(({ body }) => body.includes("hang"));
  await until(() => hanging().length === 20, { what: "twenty hanging calls" });
  const started = performance.now();
  expect(await host.callText("web__t")).toBe("scripted:t");
  expect(performance.now() - started).toBeLessThan(1000);
  host.cancel(0);
  await until(() => web.received("notifications/cancelled").length === 1, { what: "the cancel" });
  expect(web.received("notifications/cancelled")[0]!.message!.params!["requestId"]).toBe(hanging()[0]!.message!.id);
  expect((await host.close(10_000)).code).toBe(0);
});

test("a server that wants another token in mid-session says so, by name, and is not asked again and again", async () => {
  // K4, F6
  let expired = false;
  await using web = await startHttpServer(
    { tools: [tool("t")] },
    { intercept: () => (expired ? { status: 401, headers: { "www-authenticate": "Bearer" } } : undefined) },
  );
  const headers = { Authorization: "Bearer t0ken-0f-yesterday" };
  await using host = await startHost({ config: { mcpServers: { web: httpServer(web.url, { headers }) } } });
  const names = await host.toolNames();
  expired = true;
  const replies = await Promise.all([1, 2, 3].map(() => host.request("tools/call", { name: "web__t", arguments: {} })));
  for (const { error, raw } of replies) {
    expect(error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "web" } });
    expect(error!.message).toContain("web");
    expect(error!.message).toMatch(/401|login|token/i);
    expect(raw).not.toContain("t0ken-0f-yesterday");
  }
  expect(web.received("tools/call").length).toBeLessThanOrEqual(3);
  expect(web.received("initialize").length).toBeLessThanOrEqual(2);
  expect(await host.toolNames()).toEqual(names);
});
