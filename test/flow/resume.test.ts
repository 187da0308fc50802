/** Promise: a stream that is cut is taken up again where the server offers it, and what cannot be is an error, not a wait. */
import { expect, test } from "vitest";
import { httpServer, tool } from "../support/config.ts";
import { startHost } from "../support/host.ts";
import { type HttpRequest, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const MESSAGE = "notifications/message";
const capabilities = { tools: {}, logging: {} };
const lastId = (request: HttpRequest) => request.headers["last-event-id"] as string | undefined;
const log = (data: unknown) => ({ log: { level: "info", data } });

test("a call whose stream is cut gets its answer once, after a GET with Last-Event-ID that waits for retry", async () => {
  // E10, R73
  const retryMs = 400;
  await using web = await startHttpServer(
    { tools: [tool("do"), tool("t")], capabilities },
    { answer: "sse", resumable: { retryMs } },
  );
  await using host = await startHost({ config: { mcpServers: { web: httpServer(web.url) } } });
  await host.toolNames();
  const call = (steps: object[], token: number) =>
    host.request("tools/call", { name: "web__do", arguments: { steps } }, { token });

  // The answer is made while nobody listens; after somebody listens again; and the stream is cut twice.
  const [early, late, twice] = await Promise.all([
    call([{ progress: 1 }, { cut: true }, { progress: 1, from: 1 }, { result: { content: [], n: 1 } }], 1),
    call([{ cut: true }, { wait: retryMs + 500 }, { progress: 1 }, { result: { content: [], n: 2 } }], 2),
    call([{ cut: true }, { wait: retryMs + 400 }, { cut: true }, { wait: 50 }, { result: { content: [], n: 3 } }], 3),
  ]);
  expect(early.result).toMatchObject({ n: 1 });
  expect(late.result).toMatchObject({ n: 2 });
  expect(twice.result).toMatchObject({ n: 3 });
  // Each was sent once, and nothing of it came twice or was lost.
  expect(web.received("tools/call")).toHaveLength(3);
  expect(web.received("initialize")).toHaveLength(1);
  expect(host.strays).toEqual([]);
  const progress = host
    .notified("notifications/progress")
    .map(({ params }) => [params["progressToken"], params["progress"]]);
  expect(progress.filter(([token]) => token === 1)).toEqual([
    [1, 1],
    [1, 2],
  ]);
  expect(progress.filter(([token]) => token === 2)).toEqual([[2, 1]]);

  const resumed = web.requests.filter((request) => lastId(request)?.startsWith("post"));
  expect(resumed.length).toBe(4);
  for (const { method, headers } of resumed) {
    expect(method).toBe("GET");
    expect(headers["mcp-session-id"]).toBe(web.sessions[0]);
    expect(headers.accept).toContain("text/event-stream");
  }
  // Never earlier than the server asked for.
  const calledAt = web.received("tools/call")[0]!.at;
  for (const { at } of resumed) expect(at - calledAt).toBeGreaterThan(retryMs * 0.95);
  expect(await host.callText("web__t")).toBe("scripted:t");
});

test("a cut call that cannot be taken up again ends with outcome unknown, and is not sent again", async () => {
  // E10, F9
  const script = { tools: [tool("do"), tool("t")] };
  const step = [{ progress: 1 }, { cut: true }, { silent: true }];
  await using refuses = await startHttpServer(script, {
    answer: "sse",
    resumable: { retryMs: 20 },
    intercept: (request) => (lastId(request)?.startsWith("post") ? { status: 405 } : undefined),
  });
  await using gone = await startHttpServer(script, {
    answer: "sse",
    resumable: { retryMs: 20 },
    intercept: (request) => (lastId(request)?.startsWith("post") ? { status: 404 } : undefined),
  });
  await using without = await startHttpServer(script, { answer: "sse" });
  await using host = await startHost({
    config: {
      mcpServers: {
        refuses: httpServer(refuses.url),
        gone: httpServer(gone.url),
        without: httpServer(without.url),
      },
    },
  });
  await host.toolNames();
  const servers = { refuses, gone, without };
  for (const [name, server] of Object.entries(servers)) {
    const started = performance.now();
    const reply = await host.request(
      "tools/call",
      { name: `${name}__do`, arguments: { steps: step } },
      { token: name },
    );
    expect(performance.now() - started, name).toBeLessThan(3000);
    expect(reply.error, name).toMatchObject({ code: -32603, data: { source: "switchyard", server: name } });
    expect(reply.error!.message, name).toMatch(/unknown/i);
    expect(await host.callText(`${name}__t`), name).toBe("scripted:t");
    expect(server.received("tools/call"), name).toHaveLength(2);
  }
  expect(host.notified("notifications/progress")).toHaveLength(3);
  expect(host.strays).toEqual([]);
});

test("the GET stream is opened again where it was cut, and brings what comes then, once", async () => {
  // F5, E10, R73
  await using resumable = await startHttpServer({ tools: [tool("t")], capabilities }, { resumable: { retryMs: 30 } });
  await using plain = await startHttpServer({ tools: [tool("t")], capabilities });
  await using host = await startHost({
    config: { mcpServers: { resumable: httpServer(resumable.url), plain: httpServer(plain.url) } },
  });
  await host.toolNames();
  const servers = { resumable, plain };
  const gets = (server: typeof plain) => server.requests.filter(({ method }) => method === "GET");
  for (const server of Object.values(servers)) await until(() => server.streams === 1, { what: "a GET stream" });
  for (const [name, server] of Object.entries(servers)) {
    await server.run([log(`${name} 1`)]);
    await until(() => host.notified(MESSAGE).some(({ params }) => params["data"] === `${name} 1`), {
      what: "message 1",
    });
    server.cutStreams();
    await until(() => gets(server).length === 2 && server.streams === 1, { what: "the second GET" });
    await server.run([log(`${name} 2`)]);
    await until(() => host.notified(MESSAGE).some(({ params }) => params["data"] === `${name} 2`), {
      what: "message 2",
    });
  }
  expect(lastId(gets(resumable)[1]!)).toMatch(/^get\d+_\d+$/);
  expect(lastId(gets(resumable)[1]!)).not.toMatch(/_0$/);
  expect(lastId(gets(plain)[1]!)).toBeUndefined();
  for (const name of Object.keys(servers)) await host.call(`${name}__t`);
  expect(host.notified(MESSAGE).map(({ params }) => params["data"])).toEqual([
    "resumable 1",
    "resumable 2",
    "plain 1",
    "plain 2",
  ]);
  for (const server of Object.values(servers)) expect(server.received("initialize")).toHaveLength(1);
});
