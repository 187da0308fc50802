/** Promise: a server that needs the user to open a page can say so through us, and only to a host that can do it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

const COMPLETE = "notifications/elicitation/complete";

/** A page that counts its visitors: nobody but the user may open it. */
async function page() {
  let visits = 0;
  const server = createServer((_, response) => {
    visits++;
    response.end();
  });
  server.on("connection", () => visits++);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/login?state=a%20b&x=1`,
    visits: () => visits,
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => void server.close(() => closed())),
  };
}

const script = (url: string) => {
  const elicitations = [{ mode: "url", message: "Log in", url, elicitationId: "e-2", vendor: [1] }];
  const required = [{ error: { code: -32042, message: "Login first", data: { elicitations, more: 1 } } }];
  return {
    tools: [tool("do"), tool("login")],
    prompts: [{ name: "login" }],
    resources: [{ uri: "x://login", name: "login" }],
    on: { login: required, "prompt:login": required, "resource:x://login": required },
  };
};

test("a host that can open pages gets URL requests with their id, the completion, and -32042 as it is", async () => {
  // R161, R162, R163, spec §3.14
  await using dir = await tempDir();
  await using web = await page();
  const one = stdioServer(dir, "one", script(web.url));
  const two = stdioServer(dir, "two", { tools: [tool("do")] });
  await using host = await startHost({
    config: { mcpServers: { one: one.entry, two: two.entry } },
    capabilities: { elicitation: { form: {}, url: {} } },
  });
  await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  await host.listAll("resources/list", "resources");
  host.answer("elicitation/create", () => ({ action: "accept" }));
  const params = { mode: "url", message: "Log in", url: web.url, elicitationId: "e-1" };
  await host.call("one__do", {
    steps: [
      { ask: [{ method: "elicitation/create", id: 1, params }] },
      { notify: { method: COMPLETE, params: { elicitationId: "e-1", vendor: 1 } } },
    ],
  });
  const [request] = host.requests;
  expect(request!.params).toEqual({ ...params, message: expect.stringMatching(/^\[.*one.*\] Log in$/) });
  expect(one.received("")[0]!.message.result).toEqual({ action: "accept" });
  expect(host.notified(COMPLETE).map(({ params: completed }) => completed)).toEqual([
    { elicitationId: "e-1", vendor: 1 },
  ]);

  for (const [method, asked] of [
    ["tools/call", { name: "one__login", arguments: {} }],
    ["prompts/get", { name: "one__login" }],
    ["resources/read", { uri: "x://login" }],
  ] as const) {
    const reply = await host.request(method, asked);
    expect(reply.error).toMatchObject({ code: -32042, message: "Login first", data: { more: 1 } });
    const [entry] = (reply.error!.data as { elicitations: Record<string, unknown>[] }).elicitations;
    expect(entry).toMatchObject({ mode: "url", url: web.url, elicitationId: "e-2", vendor: [1] });
  }
  // Later, outside of any call.
  await host.call("one__do", {
    steps: [{ result: {} }, { notify: { method: COMPLETE, params: { elicitationId: "e-2" } } }],
  });
  const completed = await host.notification(COMPLETE, 2);
  expect(rawAt(completed.raw, "params")).toBe('{"elicitationId":"e-2"}');
  expect(web.visits()).toBe(0);
  expect(host.strays).toEqual([]);
});

test("a host that cannot open pages never gets -32042 nor the URL, but an honest failure", async () => {
  // R159, R155, spec §3.14
  await using dir = await tempDir();
  await using web = await page();
  const one = stdioServer(dir, "one", script(web.url));
  await using host = await startHost({ config: { mcpServers: { one: one.entry } }, capabilities: { elicitation: {} } });
  await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  await host.listAll("resources/list", "resources");
  const called = await host.request("tools/call", { name: "one__login", arguments: {} });
  expect(called.result).toMatchObject({ isError: true, content: [{ type: "text" }] });
  expect(called.raw).toContain("one");
  const got = await host.request("prompts/get", { name: "one__login" });
  const read = await host.request("resources/read", { uri: "x://login" });
  for (const { error } of [got, read]) {
    expect(error?.code).toBe(-32603);
    expect(error!.data).toHaveProperty("reason");
  }
  const url = { mode: "url", message: "Log in", url: web.url, elicitationId: "e-1" };
  await host.call("one__do", {
    steps: [
      { ask: [{ method: "elicitation/create", id: "u", params: url }] },
      { notify: { method: COMPLETE, params: { elicitationId: "e-1" } } },
    ],
  });
  expect(one.received("")[0]!.message).toMatchObject({ id: "u", error: { code: -32602 } });
  expect(host.requests).toEqual([]);
  expect(host.notified(COMPLETE)).toEqual([]);
  expect(host.raw.filter((line) => line.includes("/login?") || line.includes("-32042"))).toEqual([]);
  expect(web.visits()).toBe(0);
});
