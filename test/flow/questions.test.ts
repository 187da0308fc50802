/** Promise: what a server asks in mid-call (sampling, elicitation, roots) reaches the host, and the answer the one who asked. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, type Incoming, RpcError, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";

const CAPABILITIES = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
};

/** Members that a parser would change. */
const HOSTILE = '{"n":1.0,"big":9223372036854775808,"z":-0,"e":"\\u00e9\\/","dup":1,"dup":2,"a":null}';

/** Keeps the host's answers to `method` back, until they are given. */
function gate(host: Host, method: string) {
  const open: { request: Incoming; give(result: object | string): void; refuse(error: Error): void }[] = [];
  host.answer(
    method,
    (_, request) => new Promise((give, refuse) => void open.push({ request, give, refuse: (error) => refuse(error) })),
  );
  return {
    open,
    waiting: (count: number) => until(() => open.length >= count, { what: `${count} questions of ${method}` }),
  };
}

const withdrawals = (host: Host) => host.notified("notifications/cancelled").map(({ params }) => params["requestId"]);

test("questions in mid-call reach the host before the answer, as they were asked, and its answers and errors come back verbatim", async () => {
  // D1, D2, R152, R153, R156
  await using dir = await tempDir();
  const script = { tools: [tool("do"), tool("ask"), tool("echo")] };
  const one = stdioServer(dir, "one", {
    ...script,
    on: {
      ask: [
        {
          ask: [
            {
              method: "sampling/createMessage",
              id: "s",
              params: `{"messages":[],"maxTokens":1e2,"metadata":${HOSTILE},"_meta":{"x.y/z":1.0,"progressToken":"q"}}`,
            },
          ],
        },
        { answers: true },
      ],
    },
  });
  await using host = await startHost({ config: { mcpServers: { one: one.entry } }, capabilities: CAPABILITIES });
  await host.toolNames();

  host.answer("sampling/createMessage", (params) => {
    // The host may report progress on what it was asked, too.
    const { progressToken } = params["_meta"] as { progressToken: string | number };
    for (const progress of [1, 2]) host.notify("notifications/progress", { progressToken, progress, message: "½" });
    return `{"role":"assistant","model":"m","content":{"type":"text","text":"hi"},"vendor":${HOSTILE}}`;
  });
  const reply = await host.request("tools/call", { name: "one__ask" });
  const [sampling] = host.requests;
  expect(sampling!.index).toBeLessThan(host.raw.indexOf(reply.raw));
  const params = rawAt(sampling!.raw, "params")!;
  expect(rawAt(params, "maxTokens")).toBe("1e2");
  expect(rawAt(params, "metadata")).toBe(HOSTILE);
  expect(rawAt(params, "_meta", "x.y/z")).toBe("1.0");
  expect(one.received("")[0]!.raw).toBe(
    `{"jsonrpc":"2.0","id":"s","result":{"role":"assistant","model":"m","content":{"type":"text","text":"hi"},"vendor":${HOSTILE}}}`,
  );
  expect(one.received("notifications/progress").map(({ message }) => message.params)).toEqual([
    { progressToken: "q", progress: 1, message: "½" },
    { progressToken: "q", progress: 2, message: "½" },
  ]);

  // Errors keep code, message and data.
  let count = one.received("").length;
  const asked = async (method: string, questionParams: object, id: string | number) => {
    await host.call("one__do", { steps: [{ ask: [{ method, params: questionParams, id }] }] });
    expect(one.received("")).toHaveLength(++count);
    const { message } = one.received("").at(-1)!;
    expect(message.id).toBe(id);
    return message;
  };
  host.answer("sampling/createMessage", () => {
    throw new RpcError(-1, "User rejected sampling request", { why: ["no"] });
  });
  expect((await asked("sampling/createMessage", { messages: [], maxTokens: 1 }, 0)).error).toEqual({
    code: -1,
    message: "User rejected sampling request",
    data: { why: ["no"] },
  });
  host.answer("roots/list", () => {
    throw new RpcError(-32042, "odd", null);
  });
  expect((await asked("roots/list", {}, 1)).error).toEqual({ code: -32042, message: "odd", data: null });

  // Roots, with what the host says beside them.
  const roots = { roots: [{ uri: "file:///home/ü%20x", name: "ü", vendor: 1 }], more: true };
  host.answer("roots/list", () => roots);
  expect((await asked("roots/list", { _meta: { v: 1 } }, "1")).result).toEqual(roots);

  // Every decision of the user is a value, and none is made up.
  const schema = { type: "object", properties: { a: { type: "string" } } };
  for (const answer of [
    { action: "accept", content: { a: "1", more: [1] } },
    { action: "decline" },
    { action: "cancel" },
  ]) {
    host.answer("elicitation/create", () => answer);
    const elicitation = { message: 'Say "a" \\ ü', requestedSchema: schema, vendor: { v: 1 } };
    expect((await asked("elicitation/create", elicitation, -5)).result).toEqual(answer);
    const seen = host.requests.at(-1)!.params;
    expect(seen).toMatchObject({ requestedSchema: schema, vendor: { v: 1 } });
    // The host can only show us as the one who asks, so the message says who it is.
    expect(seen["message"]).toMatch(/^\[.*one.*\] Say "a" \\ ü$/);
  }
  // Of the ids that the host saw none was used twice.
  expect(new Set(host.requests.map(({ id }) => id)).size).toBe(host.requests.length);

  // Questions outside of a call reach the host as well.
  host.answer("roots/list", () => roots);
  await host.call("one__do", { steps: [{ result: {} }, { ask: [{ method: "roots/list", id: "after" }] }] });
  await until(() => one.received("").some(({ message }) => message.id === "after" && message.result !== undefined), {
    what: "the answer after the call",
  });

  // C3: what the host tells us is for the servers and never comes back to it.
  expect(host.notifications).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("two servers that ask with the same id get each its own answer, and an open question stops nothing else", async () => {
  // D3, D5, R135, R152
  await using dir = await tempDir();
  const script = {
    tools: [tool("do"), tool("echo")],
    prompts: [{ name: "p" }],
    resources: [{ uri: "x://r", name: "r" }],
  };
  const one = stdioServer(dir, "one", script);
  const two = stdioServer(dir, "two", { tools: [tool("do"), tool("echo")] });
  await using host = await startHost({
    config: {
      mcpServers: { one: one.entry, two: two.entry },
    },
    capabilities: CAPABILITIES,
  });
  await host.toolNames();
  const { open, waiting } = gate(host, "elicitation/create");
  const question = (message: string, id: string | number) => ({
    method: "elicitation/create",
    id,
    params: { message, requestedSchema: { type: "object", properties: {} } },
  });
  const ofOne = host.call("one__do", { steps: [{ ask: [question("from one", 1)] }, { answers: true }] });
  const ofTwo = host.call("two__do", {
    steps: [{ ask: [question("from two", 1), question("more from two", "1")], parallel: true }, { answers: true }],
  });
  await waiting(3);
  expect(new Set(open.map(({ request }) => request.id)).size).toBe(3);

  // Meanwhile everything else is answered: by us, by the same server, by the other, and what servers ask beside it.
  host.answer("roots/list", () => ({ roots: [] }));
  const within = { within: 3000 };
  const meanwhile = await Promise.all([
    host.request("ping", undefined, within),
    host.request("tools/list", {}, within),
    host.request("tools/call", { name: "one__echo" }, within),
    host.request("tools/call", { name: "two__echo" }, within),
    host.request("prompts/get", { name: "one__p" }, within),
    host.request("resources/read", { uri: "x://r" }, within),
    host.request(
      "tools/call",
      {
        name: "one__do",
        arguments: {
          steps: [
            {
              ask: [
                { method: "ping", id: 1.5e3 },
                { method: "roots/list", id: 2 },
              ],
            },
          ],
        },
      },
      within,
    ),
  ]);
  for (const reply of meanwhile) expect(reply.error).toBeUndefined();
  // A server's ping is answered by us, the host is not bothered.
  expect(one.received("").map(({ message }) => message)).toContainEqual({ jsonrpc: "2.0", id: 1500, result: {} });
  expect(host.requests.filter(({ method }) => method === "ping")).toEqual([]);

  const give = (message: string, action: string) =>
    open.find(({ request }) => (request.params["message"] as string).endsWith(`] ${message}`))!.give({ action });
  give("more from two", "cancel");
  give("from two", "decline");
  await ofTwo;
  give("from one", "accept");
  const reply = await ofOne;
  expect((reply["content"] as { text: string }[])[0]!.text).toContain("accept");
  const answers = (server: typeof one) =>
    server
      .received("")
      .flatMap(({ raw, message }) => (message.result?.["action"] ? [[rawAt(raw, "id"), message.result]] : []));
  expect(answers(one)).toEqual([["1", { action: "accept" }]]);
  expect(answers(two)).toEqual([
    ['"1"', { action: "cancel" }],
    ["1", { action: "decline" }],
  ]);
  expect(host.strays).toEqual([]);
});

test("a question is withdrawn from the host when its server takes it back or dies", async () => {
  // R152, spec §1.4, §3.9
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do"), tool("echo")] });
  const two = stdioServer(dir, "two", { tools: [tool("do")] });
  await using host = await startHost({
    config: { mcpServers: { one: one.entry, two: two.entry } },
    capabilities: CAPABILITIES,
  });
  await host.toolNames();
  const { open, waiting } = gate(host, "sampling/createMessage");
  const ask = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };

  // The server takes it back.
  const taken = host.call("one__do", { steps: [{ ask: [{ ...ask, id: 0 }], wait: false }] });
  await taken;
  await waiting(1);
  await host.call("one__do", { steps: [{ cancelAsks: true }] });
  await host.notification("notifications/cancelled", 1);
  expect(withdrawals(host)).toEqual([open[0]!.request.id]);
  // An answer all the same is for nobody.
  open[0]!.give({ role: "assistant", model: "m", content: { type: "text", text: "late" } });
  await host.call("one__echo");
  expect(one.received("")).toEqual([]);

  // A call that ends by itself ends nothing of another call, and an answer to nothing is ignored.
  host.send('{"jsonrpc":"2.0","id":4711,"result":{}}');
  host.send('{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}');

  // The server dies while it is waited for.
  const dying = host.request("tools/call", {
    name: "two__do",
    arguments: { steps: [{ ask: [{ ...ask, id: "d" }], wait: false }, { silent: true }] },
  });
  await waiting(2);
  void host.request("tools/call", { name: "two__do", arguments: { steps: [{ exit: 3 }] } });
  expect((await dying).error?.message).toContain("two");
  await host.notification("notifications/cancelled", 2);
  expect(withdrawals(host)[1]).toBe(open[1]!.request.id);
  // The one that was started in its place does not get the answer to a question it never asked.
  open[1]!.give({ role: "assistant", model: "m", content: { type: "text", text: "late" } });
  await host.call("two__do", { steps: [] });
  expect(two.starts()).toHaveLength(2);
  expect(two.received("")).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("a host that cancels a call in which a question is open is not left with the question, nor the server with the wait", async () => {
  // R152, spec §3.9, §3.11
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do"), tool("echo")] });
  await using host = await startHost({ config: { mcpServers: { one: one.entry } }, capabilities: CAPABILITIES });
  await host.toolNames();
  const { open, waiting } = gate(host, "sampling/createMessage");
  const ask = [{ method: "sampling/createMessage", id: 5, params: { messages: [], maxTokens: 1 } }];
  void host.request("tools/call", { name: "one__do", arguments: { steps: [{ ask }, { result: {} }] } }, { id: 0 });
  await waiting(1);
  host.cancel(0);
  await until(() => one.received("notifications/cancelled").length === 1, { what: "the cancel at the server" });
  expect(one.received("notifications/cancelled")[0]!.message.params!["requestId"]).toBe(
    one.received("tools/call")[0]!.message.id,
  );
  await host.notification("notifications/cancelled", 1, 3000);
  expect(withdrawals(host)).toEqual([open[0]!.request.id]);
  await until(() => one.received("").length === 1, { what: "an error for the server's question", within: 3000 });
  expect(one.received("")[0]!.message).toMatchObject({ id: 5, error: {} });
  // An answer all the same is for nobody, and the call stays without one.
  open[0]!.give({ role: "assistant", model: "m", content: { type: "text", text: "late" } });
  await host.call("one__echo");
  expect(one.received("")).toHaveLength(1);
  expect(host.raw.filter((line) => (JSON.parse(line) as { id?: unknown }).id === 0)).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("a person may think about a question for longer than its server may be silent", async () => {
  // R134, spec §1.6: while it waits for the host, it is not the server that is silent; the hard end holds all the same
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [tool("do")] });
  const two = stdioServer(dir, "two", { tools: [tool("do")] });
  await using host = await startHost({
    config: {
      mcpServers: {
        one: { ...one.entry, timeouts: { requestMs: 250 } },
        two: { ...two.entry, timeouts: { totalMs: 400 } },
      },
    },
    capabilities: CAPABILITIES,
  });
  await host.toolNames();
  const { open, waiting } = gate(host, "roots/list");
  const steps = [{ ask: [{ method: "roots/list" }] }, { result: { content: [] } }];
  const asking = host.request("tools/call", { name: "one__do", arguments: { steps } });
  const ended = host.request("tools/call", { name: "two__do", arguments: { steps } });
  await waiting(2);
  expect((await ended).error?.message).toContain("400");
  // Both limits are over by now.
  for (const { give } of open) give({ roots: [] });
  expect((await asking).error).toBeUndefined();
  // When the answer is there, the server's silence counts again.
  host.answer("roots/list", () => ({ roots: [] }));
  const mute = await host.request("tools/call", {
    name: "one__do",
    arguments: { steps: [steps[0]!, { silent: true }] },
  });
  expect(mute.error?.message).toContain("250");
});

test("a server is told what the host can do and no more, and what the host did not declare is refused without asking it", async () => {
  // D4, R153, R155, R197
  await using dir = await tempDir();
  const ui = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
  const cases = [
    { host: {}, declared: {} },
    {
      host: { elicitation: {}, sampling: {}, roots: {}, experimental: { x: {} }, tasks: { requests: {} } },
      declared: { elicitation: {}, sampling: {}, roots: {} },
    },
    { host: { elicitation: { url: {} }, extensions: ui }, declared: { elicitation: { url: {} }, extensions: ui } },
    { host: CAPABILITIES, declared: CAPABILITIES },
  ];
  const form = { message: "m", requestedSchema: { type: "object", properties: {} } };
  const ask = [
    { method: "sampling/createMessage", id: "sampling", params: { messages: [], maxTokens: 1 } },
    { method: "elicitation/create", id: "form", params: form },
    { method: "elicitation/create", id: "mode form", params: { mode: "form", ...form } },
    {
      method: "elicitation/create",
      id: "url",
      params: { mode: "url", message: "m", url: "https://x.example/", elicitationId: "e" },
    },
    { method: "roots/list", id: "roots" },
  ];
  const outcomes = await Promise.all(
    cases.map(async ({ host: capabilities }, i) => {
      const server = stdioServer(dir, `s${i}`, { tools: [tool("do")] });
      await using host = await startHost({ config: { mcpServers: { s: server.entry } }, capabilities });
      for (const method of ["sampling/createMessage", "elicitation/create", "roots/list"]) {
        host.answer(method, () => ({ asked: true }));
      }
      await host.call("s__do", { steps: [{ ask, parallel: true }] });
      return {
        declared: server.received("initialize")[0]!.message.params!["capabilities"],
        codes: Object.fromEntries(
          server.received("").map(({ message }) => [message.id, message.error?.code ?? message.result!["asked"]]),
        ),
        asked: host.requests.length,
      };
    }),
  );
  expect(outcomes.map(({ declared }) => declared)).toEqual(cases.map(({ declared }) => declared));
  const no = -32601;
  expect(outcomes.map(({ codes }) => codes)).toEqual([
    { sampling: no, form: no, "mode form": no, url: no, roots: no },
    { sampling: true, form: true, "mode form": true, url: -32602, roots: true },
    { sampling: no, form: -32602, "mode form": -32602, url: true, roots: no },
    { sampling: true, form: true, "mode form": true, url: true, roots: true },
  ]);
  expect(outcomes.map(({ asked }) => asked)).toEqual([0, 4, 1, 5]);
});
