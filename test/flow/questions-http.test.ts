/** Promise: progress, questions, logs and cancels of servers on HTTP pass as those of servers on stdio do. */
import { expect, test } from "vitest";
import { httpServer, tool } from "../support/config.ts";
import { startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const script = {
  tools: [tool("do"), tool("wait"), tool("echo")],
  resources: [{ uri: "x://r", name: "r" }],
  capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
  on: { wait: [{ untilCancelled: true as const }, { result: {} }] },
};

test("a call over HTTP has progress, log and question on the way, in order, and can be cancelled", async () => {
  // C2, C5, D1, R130, R152
  await using json = await startHttpServer(script, { answer: "json" });
  await using sse = await startHttpServer(script, { answer: "sse", resumable: {} });
  await using old = await startHttpServer(script, { legacySse: true });
  await using host = await startHost({
    config: {
      mcpServers: {
        json: httpServer(json.url),
        sse: httpServer(sse.url, { type: "http" }),
        old: httpServer(old.url, { type: "sse" }),
      },
    },
    capabilities: { elicitation: {}, roots: { listChanged: true } },
  });
  host.answer("elicitation/create", ({ message }) => ({ action: "accept", content: { message } }));
  host.answer("roots/list", () => ({ roots: [{ uri: "file:///r" }] }));
  await host.toolNames();
  const params = { message: "sure?", requestedSchema: { type: "object", properties: {} } };
  for (const [name, server] of Object.entries({ json, sse, old })) {
    const from = host.raw.length;
    const reply = await host.request(
      "tools/call",
      {
        name: `${name}__do`,
        arguments: {
          steps: [
            { progress: 3 },
            { ask: [{ method: "elicitation/create", id: 1, params }] },
            { log: { level: "info", data: name, logger: "l" } },
            { progress: 50, from: 3 },
            { answers: true },
          ],
        },
      },
      { token: 0 },
    );
    const order = [...host.notifications, ...host.requests]
      .filter(({ index }) => index >= from)
      .sort((a, b) => a.index - b.index)
      .map(({ method, params }) => (method === "notifications/progress" ? params["progress"] : method));
    const numbers = Array.from({ length: 53 }, (_, i) => i + 1);
    expect(order).toEqual([...numbers.slice(0, 3), "elicitation/create", "notifications/message", ...numbers.slice(3)]);
    expect(host.raw.indexOf(reply.raw)).toBe(host.raw.length - 1);
    expect(reply.raw).toContain("accept");
    expect(host.notified("notifications/progress").every((one) => one.params["progressToken"] === 0)).toBe(true);
    expect(host.notified("notifications/message").at(-1)!.params).toEqual({
      level: "info",
      data: name,
      logger: `${name}/l`,
    });
    expect(host.requests.at(-1)!.params["message"]).toMatch(new RegExp(`^\\[.*${name}.*\\] sure\\?$`));

    // A question that belongs to no call comes on the stream for that.
    const unrelated = [{ method: "roots/list", id: "u", unrelated: true }];
    expect(
      (
        await host.request("tools/call", {
          name: `${name}__do`,
          arguments: { steps: [{ ask: unrelated }, { answers: true }] },
        })
      ).raw,
    ).toContain("file:///r");

    void host.request("tools/call", { name: `${name}__wait` }, { id: 0 });
    const calls = () => server.received("tools/call");
    await until(() => calls().at(-1)?.message?.params?.["name"] === "wait", { what: "the call at the server" });
    host.cancel(0);
    await until(() => server.received("notifications/cancelled").length > 0, { what: "the cancel at the server" });
    expect(server.received("notifications/cancelled")[0]!.message!.params!["requestId"]).toBe(
      calls().at(-1)!.message!.id,
    );
    await host.call(`${name}__echo`);
    host.notify("notifications/roots/list_changed");
    await until(() => server.received("notifications/roots/list_changed").length > 0, { what: "the change of roots" });
  }
  expect(host.raw.filter((line) => (JSON.parse(line) as { id?: unknown }).id === 0)).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("after a lost session the level and the subscriptions are renewed, and one update tells the host to look", async () => {
  // C9, R176
  await using server = await startHttpServer(script, { answer: "json" });
  await using host = await startHost({ config: { mcpServers: { s: httpServer(server.url) } } });
  await host.listAll("resources/list", "resources");
  await host.request("logging/setLevel", { level: "error" });
  await host.request("resources/subscribe", { uri: "x://r" });
  await until(() => server.streams === 1, { what: "the stream" });
  const [first] = server.sessions;
  server.loseSessions();
  // Whoever meets the loss first, this call or the stream that ended: the call is answered.
  expect((await host.request("tools/call", { name: "s__echo" })).error).toBeUndefined();
  await host.notification("notifications/resources/updated");
  const [second, ...more] = server.sessions;
  expect(more).toEqual([]);
  expect(second).not.toBe(first);
  const anew = () => server.requests.filter(({ headers }) => headers["mcp-session-id"] === second);
  const sent = (method: string) =>
    anew().flatMap(({ message }) => (message?.method === method ? [message.params] : []));
  await until(() => sent("resources/subscribe").length > 0 && sent("logging/setLevel").length > 0, { what: "replay" });
  expect(sent("resources/subscribe")).toEqual([{ uri: "x://r" }]);
  expect(sent("logging/setLevel")).toEqual([{ level: "error" }]);
  await until(() => server.streams === 1, { what: "the stream of the new session" });
  await server.run([{ updated: "x://r" }]);
  const real = await host.notification("notifications/resources/updated", 2);
  expect(real.params).toEqual({ uri: "x://r" });
  expect(host.strays).toEqual([]);
});
