/** Promise: a lost HTTP session is opened anew once, however many requests meet it, and nothing is lost with it. */
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { type HttpAnswer, type HttpRequest, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const UPDATED = "notifications/resources/updated";
const SUBSCRIBE = "resources/subscribe";
const sessionOf = (request: HttpRequest) => request.headers["mcp-session-id"];

test("five calls that meet a 404 cost one initialize and succeed once each; level and subscriptions are renewed", async () => {
  // F4, C9, R72, R176
  await using dir = await tempDir();
  const script = {
    tools: [tool("do"), tool("echo")],
    resources: ["x://kept", "x://left"].map((uri) => ({ uri, name: uri })),
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
  };
  await using web = await startHttpServer(script);
  await using other = await startHttpServer({ tools: [tool("do")] });
  const local = stdioServer(dir, "local", { tools: [tool("do")] });
  await using host = await startHost({
    config: { mcpServers: { web: httpServer(web.url), other: httpServer(other.url), local: local.entry } },
  });
  await host.toolNames();
  await host.listAll("resources/list", "resources");
  await host.request("logging/setLevel", { level: "warning" });
  for (const uri of ["x://kept", "x://left"]) await host.request(SUBSCRIBE, { uri });
  await host.request("resources/unsubscribe", { uri: "x://left" });
  await until(() => web.received("resources/unsubscribe").length === 1 && web.streams === 1, {
    what: "a settled start",
  });
  for (const server of ["other", "local"]) await host.call(`${server}__do`, { steps: [{ counter: "inc" }] });
  const [oldSession] = web.sessions;

  for (const round of [1, 2]) {
    const callsBefore = web.received("tools/call").length;
    web.loseSessions();
    const texts = await Promise.all([1, 2, 3, 4, 5].map((n) => host.callText("web__echo", { n, round })));
    expect(texts.map((text) => JSON.parse(text).arguments.n)).toEqual([1, 2, 3, 4, 5]);
    expect(web.received("initialize"), "initializes").toHaveLength(1 + round);
    const renewed = web.received("initialize").at(-1)!;
    expect(sessionOf(renewed)).toBeUndefined();
    expect(renewed.message!.params).toEqual(web.received("initialize")[0]!.message!.params);
    const [session] = web.sessions;
    expect(web.sessions).toHaveLength(1);
    const ran = web.received("tools/call").slice(callsBefore);
    expect(ran.filter((request) => sessionOf(request) === session)).toHaveLength(5);
    expect(ran.length, "calls with the old session and with the new one").toBeLessThanOrEqual(10);
    // Nothing is sent before the new session is greeted.
    const inSession = web.requests.filter((request) => sessionOf(request) === session);
    expect(inSession[0]!.message?.method).toBe("notifications/initialized");

    const here = (method: string) => web.received(method).filter((request) => sessionOf(request) === session);
    await until(() => here("logging/setLevel").length > 0 && here(SUBSCRIBE).length > 0 && web.streams === 1, {
      what: "level, subscription and stream in the new session",
    });
    expect(here("logging/setLevel").map(({ message }) => message!.params)).toEqual([{ level: "warning" }]);
    expect(here(SUBSCRIBE).map(({ message }) => message!.params!["uri"])).toEqual(["x://kept"]);
    // The host is told to look, as something may have been missed, and hears of updates again.
    const seen = host.notified(UPDATED).length;
    await until(() => host.notified(UPDATED).length >= 2 * round - 1, { what: "one update after the renewal" });
    await web.run([{ updated: "x://kept" }]);
    await host.notification(UPDATED, Math.max(seen, 2 * round - 1) + 1);
    expect(new Set(host.notified(UPDATED).map(({ params }) => params["uri"]))).toEqual(new Set(["x://kept"]));
  }
  expect(host.notified(UPDATED)).toHaveLength(4);
  expect(web.sessions).not.toContain(oldSession);
  // A session that the server has ended is not DELETEd, and no other server noticed anything.
  expect(web.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  for (const server of ["other", "local"])
    expect(await host.callText(`${server}__do`, { steps: [{ counter: "get" }] }), server).toBe("1");
  expect(other.received("initialize")).toHaveLength(1);
  expect(local.starts()).toHaveLength(1);
  expect(host.notified("notifications/tools/list_changed")).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("a session that is lost while nobody calls is noticed by its stream, and updates flow again", async () => {
  // C9, F5, R72: a host that only waits for updates makes no call that could meet the 404
  const script = { resources: [{ uri: "x://r", name: "r" }], tools: [tool("t")] };
  await using web = await startHttpServer(script);
  await using host = await startHost({ config: { mcpServers: { web: httpServer(web.url) } } });
  await host.listAll("resources/list", "resources");
  await host.request(SUBSCRIBE, { uri: "x://r" });
  // Nothing of ours is under way any more that could meet the 404: all lists were walked.
  await host.toolNames();
  await host.listAll("resources/templates/list", "resourceTemplates");
  await until(() => web.streams === 1 && web.received("resources/templates/list").length > 0, { what: "the start" });
  await web.run([{ updated: "x://r" }]);
  await host.notification(UPDATED);
  await host.call("web__t");
  web.loseSessions();
  await until(() => web.received(SUBSCRIBE).length === 2 && web.streams === 1, { what: "a new session", within: 8000 });
  await host.notification(UPDATED, 2);
  await web.run([{ updated: "x://r" }]);
  await host.notification(UPDATED, 3);
  expect(web.received("initialize")).toHaveLength(2);

  // The same when the whole server was away for a while.
  await web.close();
  await until(() => host.logs.some((record) => JSON.stringify(record).includes("refused")), {
    what: "a refused connection",
  });
  await using again = await startHttpServer(script, { port: web.port });
  await until(() => again.received(SUBSCRIBE).length === 1 && again.streams === 1, {
    what: "the session at the restarted server",
    within: 10_000,
  });
  await host.notification(UPDATED, 4);
  await again.run([{ updated: "x://r" }]);
  await host.notification(UPDATED, 5);
  expect(again.received("initialize")).toHaveLength(1);
});

test("a call that was under way when the session was lost is reported as unknown and not sent again", async () => {
  // F4, F9
  await using web = await startHttpServer({ tools: [tool("do"), tool("t")] });
  await using host = await startHost({ config: { mcpServers: { web: httpServer(web.url) } } });
  await host.toolNames();
  const open = host.request("tools/call", { name: "web__do", arguments: { steps: [{ silent: true }] } });
  await until(() => web.received("tools/call").length === 1, { what: "the call" });
  web.loseSessions();
  const reply = await open;
  expect(reply.error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "web" } });
  expect(reply.error!.message).toMatch(/unknown/i);
  expect(await host.callText("web__t")).toBe("scripted:t");
  expect(web.received("tools/call").filter(({ body }) => body.includes("silent"))).toHaveLength(1);
  expect(web.received("initialize")).toHaveLength(2);
});

test("other refusals: a denied session is renewed, 503 is only an error, and a server that forgets at once is not asked for ever", async () => {
  // F4: the stated rules for 400 and 503, and the end of a loop
  const answers = new Map<string, (request: HttpRequest) => HttpAnswer | undefined>();
  const script = { tools: [tool("t"), tool("u")] };
  const start = (name: string) =>
    startHttpServer({ name, ...script }, { intercept: (request) => answers.get(name)?.(request) });
  await using denies = await start("denies");
  await using busy = await start("busy");
  await using forgets = await start("forgets");
  await using host = await startHost({
    config: {
      mcpServers: {
        denies: httpServer(denies.url),
        busy: httpServer(busy.url),
        forgets: httpServer(forgets.url),
      },
    },
  });
  await host.toolNames();
  const [deniedSession] = denies.sessions;
  const json = { "content-type": "application/json" };
  const error =
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}';
  answers.set("denies", (request) =>
    sessionOf(request) === deniedSession ? { status: 400, headers: json, body: error } : undefined,
  );
  const first = await host.request("tools/call", { name: "denies__t", arguments: {} });
  // It may say so, or have gone on by itself; the session is not used for ever.
  if (first.error) expect(first.error).toMatchObject({ code: -32603, data: { server: "denies" } });
  expect(await host.callText("denies__u")).toBe("denies:u");
  expect(denies.received("initialize")).toHaveLength(2);
  expect(sessionOf(denies.received("initialize")[1]!)).toBeUndefined();

  let refused = 0;
  answers.set("busy", ({ message }) =>
    message?.method === "tools/call" && refused++ === 0 ? { status: 503, body: "over capacity" } : undefined,
  );
  const unavailable = await host.request("tools/call", { name: "busy__t", arguments: {} });
  expect(unavailable.error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "busy" } });
  expect(unavailable.error!.message).toMatch(/503.*over capacity/);
  expect(await host.callText("busy__u")).toBe("busy:u");
  expect(busy.received("initialize")).toHaveLength(1);
  expect(busy.received("tools/call")).toHaveLength(2);

  answers.set("forgets", ({ message }) => (message?.method === "tools/call" ? { status: 404 } : undefined));
  const replies = await Promise.all(
    [1, 2, 3].map(() => host.request("tools/call", { name: "forgets__t", arguments: {} })),
  );
  for (const reply of replies) expect(reply.error).toMatchObject({ code: -32603, data: { server: "forgets" } });
  expect(forgets.received("initialize").length).toBeLessThanOrEqual(5);
  answers.delete("forgets");
  expect(await host.callText("forgets__t")).toBe("forgets:t");
});
