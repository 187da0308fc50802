/** Promise: a server of the old HTTP+SSE kind is found, used and found again after it was away. */
import { expect, test } from "vitest";
import { httpServer, tool } from "../support/config.ts";
import { type Host, startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const failures = (host: Host, server: string) =>
  host.logs.filter((record) => record["server"] === server && record["stage"] !== undefined);

test("without a type the old transport is tried where the new one is refused; a type that is given is obeyed", async () => {
  // I5, R37
  const refusals = [400, 404, 405];
  const old = await Promise.all(
    refusals.map((status) =>
      startHttpServer(
        { name: `old${status}`, tools: [tool("t")], versions: ["2024-11-05"] },
        {
          legacySse: true,
          intercept: ({ method, path }) => (method === "POST" && path === "/sse" ? { status } : undefined),
        },
      ),
    ),
  );
  await using _old = { [Symbol.asyncDispose]: async () => void (await Promise.all(old.map((s) => s.close()))) };
  const script = { tools: [tool("t")] };
  await using asSse = await startHttpServer({ name: "asSse", ...script }, { legacySse: true });
  await using asHttp = await startHttpServer(script, { legacySse: true });
  await using newAsSse = await startHttpServer(script);
  await using newer = await startHttpServer({ name: "newer", ...script });
  // These are no refusals of the transport: no verdict is drawn from them.
  const noVerdict = [401, 403, 500];
  const other = await Promise.all(
    noVerdict.map((status) =>
      startHttpServer(script, {
        legacySse: true,
        intercept: ({ method }) => (method === "POST" ? { status } : undefined),
      }),
    ),
  );
  await using _other = { [Symbol.asyncDispose]: async () => void (await Promise.all(other.map((s) => s.close()))) };
  await using host = await startHost({
    config: {
      mcpServers: {
        ...Object.fromEntries(refusals.map((status, i) => [`old${status}`, httpServer(old[i]!.url)])),
        ...Object.fromEntries(noVerdict.map((status, i) => [`other${status}`, httpServer(other[i]!.url)])),
        asSse: httpServer(asSse.url, { type: "sse" }),
        asHttp: httpServer(asHttp.url, { type: "http" }),
        newAsSse: httpServer(newAsSse.url, { type: "sse" }),
        newer: httpServer(newer.url),
      },
    },
  });
  const found = [...refusals.map((status) => `old${status}`), "asSse", "newer"];
  expect(await host.toolNames()).toEqual(found.map((name) => `${name}__t`));
  for (const name of found) expect(await host.callText(`${name}__t`)).toBe(`${name}:t`);

  for (const server of old) {
    expect(server.requests.filter(({ path, method }) => path === "/sse" && method === "POST")).toHaveLength(1);
    expect(server.streams).toBe(1);
  }
  expect(asSse.requests.filter(({ path, method }) => path === "/sse" && method === "POST")).toEqual([]);
  expect(asHttp.requests.filter(({ method }) => method === "GET")).toEqual([]);
  expect(newAsSse.received()).toEqual([]);
  for (const server of other) expect(server.streams).toBe(0);
  for (const name of ["asHttp", "newAsSse", ...noVerdict.map((status) => `other${status}`)])
    await until(() => failures(host, name).length > 0, { what: `a line about ${name}` });
  expect(host.strays).toEqual([]);
});

test("a server that is killed and restarted on the same port is found again; meanwhile calls fail at once and readably", async () => {
  // F5, F9, A10
  const script = { tools: [tool("do"), tool("t")] };
  const start = async (legacySse: boolean, port?: number) =>
    startHttpServer({ name: legacySse ? "old" : "web", ...script }, { legacySse, ...(port ? { port } : {}) });
  const first = { old: await start(true), web: await start(false) };
  const names = ["old", "web"] as const;
  await using host = await startHost({
    config: { mcpServers: { old: httpServer(first.old.url, { type: "sse" }), web: httpServer(first.web.url) } },
  });
  const tools = await host.toolNames();
  expect(tools).toHaveLength(4);
  const open = names.map((name) =>
    host.request("tools/call", { name: `${name}__do`, arguments: { steps: [{ silent: true }] } }),
  );
  for (const name of names)
    await until(() => first[name].received("tools/call").length === 1, { what: `the call at ${name}` });
  let started = performance.now();
  await Promise.all(names.map((name) => first[name].close()));
  for (const [i, reply] of (await Promise.all(open)).entries()) {
    expect(reply.error, names[i]).toMatchObject({ code: -32603, data: { source: "switchyard", server: names[i] } });
    expect(reply.error!.message, names[i]).toMatch(/unknown/i);
  }
  expect(performance.now() - started, "until the open calls failed").toBeLessThan(1500);

  for (const name of names) {
    started = performance.now();
    const reply = await host.request("tools/call", { name: `${name}__t`, arguments: {} });
    expect(performance.now() - started, name).toBeLessThan(1000);
    expect(reply.error, name).toMatchObject({ code: -32603, data: { source: "switchyard", server: name } });
    expect(reply.error!.message, name).toContain(name);
    expect(reply.error!.message, name).toMatch(/refused|not available|lost|closed/i);
  }
  expect(await host.toolNames(), "what is down stays listed").toEqual(tools);

  await using old = await start(true, first.old.port);
  await using web = await start(false, first.web.port);
  for (const [name, server] of [["old", old] as const, ["web", web] as const]) {
    const text = await until(
      async () => (await host.request("tools/call", { name: `${name}__t`, arguments: {} })).result?.["content"],
      { what: `an answer of ${name}`, within: 10_000, every: 100 },
    );
    expect(text).toEqual([{ type: "text", text: `${name}:t` }]);
    expect(server.received("initialize"), name).toHaveLength(1);
    // A session of the past life may have been tried first; what ran, ran once.
    const ran = server
      .received("tools/call")
      .filter(({ headers }) => name === "old" || headers["mcp-session-id"] === server.sessions[0]);
    expect(ran, name).toHaveLength(1);
  }
  expect(host.notified("notifications/tools/list_changed")).toEqual([]);
  expect(host.strays).toEqual([]);
});
