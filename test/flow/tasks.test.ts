/** Promise: a tool that its server runs only as a task is one blocking call for the host, which need not know of tasks. */
import { expect, test } from "vitest";
import { type Script, type Step, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt, rawEntries } from "../support/raw.mjs";
import { until } from "../support/until.ts";

const RELATED = "io.modelcontextprotocol/related-task";
const CAPABILITIES = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const required = (name: string) =>
  tool(name, { vendor: 1, execution: { taskSupport: "required", more: [1] }, description: "d" });

const state = (taskId: string, status: string) => ({
  taskId,
  status,
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ttl: 60_000,
  pollInterval: 10,
});
const made = (taskId: string): Step => ({ result: { task: state(taskId, "working"), _meta: { v: 1 } } });
const text = (words: string, more: object = {}): Step => ({
  result: { content: [{ type: "text", text: words }], _meta: { [RELATED]: { taskId: "1" } }, ...more },
});

/** A server with one task, "1", which ends as `end` says. */
function taskServer(end: Step[], more: Script = {}): Script {
  return {
    tools: [
      required("research"),
      tool("optional", { execution: { taskSupport: "optional" } }),
      tool("do"),
      tool("echo"),
    ],
    capabilities: CAPABILITIES,
    ...more,
    on: {
      research: [made("1"), { progress: 3 }],
      "method:tasks/get": { sequence: [[{ result: state("1", "working") }], [{ result: state("1", "completed") }]] },
      "method:tasks/result": end,
      "method:tasks/cancel": [{ result: state("1", "cancelled") }],
      ...more.on,
    },
  };
}

test("a tool that must run as a task is called as one and answers like any other", async () => {
  // C12, R187, spec §1.15, §3.13
  await using dir = await tempDir();
  const related = { _meta: { [RELATED]: { taskId: "1" } } };
  const elicitation = { message: "sure?", requestedSchema: { type: "object", properties: {} }, ...related };
  const a = stdioServer(
    dir,
    "a",
    taskServer([{ ask: [{ method: "elicitation/create", id: 1, params: elicitation }] }, text("of a")]),
  );
  const b = stdioServer(dir, "b", taskServer([text("of b", { isError: true })]));
  const failing = stdioServer(
    dir,
    "failing",
    taskServer([{ error: { code: -32099, message: "task failed", data: { n: 1 } } }]),
  );
  // Says that the tool needs a task, but has none of them: a plain call is all there is.
  const without = stdioServer(dir, "without", { tools: [required("research")] });
  const direct = stdioServer(
    dir,
    "direct",
    taskServer([], { on: { research: [{ result: { content: [], vendor: 1 } }] } }),
  );
  const servers = { a, b, failing, without, direct };
  await using host = await startHost({
    config: { mcpServers: Object.fromEntries(Object.entries(servers).map(([name, { entry }]) => [name, entry])) },
    capabilities: { elicitation: {} },
  });
  host.answer("elicitation/create", () => ({ action: "decline" }));
  // Not on offer, so a host keeps its hands off; and no tool keeps a host from calling it in the ordinary way.
  expect(host.initializeResult["capabilities"]).not.toHaveProperty("tasks");
  const listed = await host.listAll("tools/list", "tools");
  const research = listed.find(({ name }) => name === "a__research")!;
  expect(research).toMatchObject({ vendor: 1, description: "d" });
  expect((research["execution"] as { taskSupport?: string } | undefined)?.taskSupport ?? "forbidden").not.toBe(
    "required",
  );
  for (const method of ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]) {
    expect((await host.request(method, { taskId: "1" })).error?.code).toBe(-32601);
  }

  // Both hand out task "1" at the same time.
  const call = (server: string, more = "", meta = "") =>
    host.request("tools/call", `{"name":"${server}__research","arguments":{"n":1.0}${more}${meta}}`);
  const [ofA, ofB, fails, plain, straight] = await Promise.all([
    call("a", "", ',"_meta":{"progressToken":0}'),
    call("b", ',"task":{"ttl":5}'),
    call("failing"),
    call("without"),
    call("direct"),
  ]);
  expect(ofA.result).toMatchObject({ content: [{ text: "of a" }] });
  expect(ofA.result).not.toHaveProperty("task");
  expect(ofB.result).toMatchObject({ content: [{ text: "of b" }], isError: true });
  expect(fails.error).toEqual({ code: -32099, message: "task failed", data: { n: 1 } });
  expect(plain.result).toMatchObject({ content: [{ text: "without:research" }] });
  expect(straight.result).toMatchObject({ content: [], vendor: 1 });
  // The question of the task came in mid-call.
  expect(a.received("")[0]!.message.result).toEqual({ action: "decline" });
  expect(host.requests[0]!.index).toBeLessThan(host.raw.indexOf(ofA.raw));
  // The token lives as long as the task.
  const progress = host.notified("notifications/progress");
  expect.soft(progress.map(({ params }) => [params["progressToken"], params["progress"]])).toEqual([
    [0, 1],
    [0, 2],
    [0, 3],
  ]);
  for (const { index } of progress) expect(index).toBeLessThan(host.raw.indexOf(ofA.raw));
  for (const server of [a, b]) {
    const params = rawAt(server.received("tools/call")[0]!.raw, "params")!;
    expect(rawAt(params, "arguments")).toBe('{"n":1.0}');
    const task = rawEntries(params).filter(([key]) => key === "task");
    expect(task).toHaveLength(1);
    expect(task[0]![1]).toMatch(/^\{/);
    expect(server.received("tasks/result").map(({ message }) => message.params)).toEqual([{ taskId: "1" }]);
  }
  expect(without.received("tools/call")[0]!.message.params).not.toHaveProperty("task");

  // A tool that may run as a task, or cannot, is called plainly, whatever the host says.
  for (const name of ["a__optional", "a__echo"]) {
    const reply = await host.request("tools/call", { name, task: { ttl: 5 }, arguments: {} });
    expect(reply.result).toHaveProperty("content");
    expect(a.received("tools/call").at(-1)!.message.params).not.toHaveProperty("task");
  }
  await host.call("a__do", {
    steps: [{ notify: { method: "notifications/tasks/status", params: state("1", "working") } }],
  });
  expect(host.notified("notifications/tasks/status")).toEqual([]);
  expect(host.strays).toEqual([]);
});

test("a call that runs as a task is cancelled as a task, whether the host or a clock ends it", async () => {
  // C12, R134, spec §1.4: never by notifications/cancelled
  await using dir = await tempDir();
  const endless = { mute: ["tasks/result"] };
  const a = stdioServer(
    dir,
    "a",
    taskServer([], { ...endless, on: { "method:tasks/get": [{ result: state("1", "working") }] } }),
  );
  const b = stdioServer(dir, "b", taskServer([text("of b")]));
  const slow = stdioServer(dir, "slow", taskServer([], { ...endless, on: { research: [{ wait: 400 }, made("1")] } }));
  const timed = stdioServer(
    dir,
    "timed",
    taskServer([], { ...endless, on: { "method:tasks/get": [{ result: state("1", "working") }] } }),
  );
  await using host = await startHost({
    config: {
      mcpServers: {
        a: a.entry,
        b: b.entry,
        slow: slow.entry,
        timed: { ...timed.entry, timeouts: { totalMs: 300 } },
      },
    },
  });
  await host.toolNames();
  const cancelledTasks = (server: typeof a) =>
    server.received("tasks/cancel").map(({ message }) => message.params!["taskId"]);
  const expectCancelled = async (server: typeof a) => {
    await until(() => cancelledTasks(server).length > 0, { what: "tasks/cancel", within: 3000 }).catch(() => {});
    expect.soft(cancelledTasks(server)).toEqual(["1"]);
  };
  const expectNoNotice = (server: typeof a) => {
    const ids = server.received("notifications/cancelled").map(({ message }) => message.params!["requestId"]);
    for (const { message } of server.received("tools/call")) expect.soft(ids).not.toContain(message.id);
  };

  void host.request("tools/call", { name: "a__research", arguments: {} }, { id: 0 });
  await until(() => a.received("tasks/result").length + a.received("tasks/get").length > 0, { what: "a running task" });
  host.cancel(0);
  await expectCancelled(a);
  await host.call("a__echo");
  expectNoNotice(a);
  expect(b.received("tasks/cancel")).toEqual([]);

  // Past its time it is not left running.
  const late = await host.request("tools/call", { name: "timed__research", arguments: {} });
  expect(late.error).toMatchObject({ code: -32603, message: expect.stringContaining("300") });
  await expectCancelled(timed);
  expectNoNotice(timed);

  // Cancelled before the server has said which task it is.
  void host.request("tools/call", { name: "slow__research", arguments: {} }, { id: 1 });
  await until(() => slow.received("tools/call").length > 0, { what: "the call at the server" });
  host.cancel(1);
  await expectCancelled(slow);
  expectNoNotice(slow);
  for (const id of [0, 1]) {
    expect(host.raw.filter((line) => (JSON.parse(line) as { id?: unknown }).id === id)).toEqual([]);
  }
  expect(host.strays).toEqual([]);
});
