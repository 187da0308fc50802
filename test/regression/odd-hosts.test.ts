import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { makeFolder } from "../../src/pipeline/audit/disk.ts";
import { plainSpellings } from "../../src/pipeline/policy/spelling.ts";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

const script = {
  tools: [tool("do")],
  templates: [{ uriTemplate: "log://{day}", name: "t" }],
  capabilities: { tools: {}, resources: {}, completions: {} },
};

test("a host may use an id again in the same write in which it cancelled it, and its broken answers are not answered", async () => {
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", script);
  await using host = await startHost({ config: { mcpServers: { a: a.entry } }, capabilities: { elicitation: {} } });
  await host.toolNames();
  const call = (id: string, steps: object[]) =>
    JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "a__do", arguments: { steps } } });
  const cancel = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "g" } });
  host.send(
    [call("g", [{ untilCancelled: true }]), cancel, call("g", [{ result: { content: [], second: true } }])].join("\n"),
  );
  const reply = await host.response("g");
  expect(reply.raw).toContain('"second":true');

  const asking = host.call("a__do", {
    steps: [{ ask: [{ method: "elicitation/create", params: { message: "?" } }] }, { answers: true }],
  });
  host.answer("elicitation/create", () => '{"action":"accept"},"error":{"code":1,"message":"both"}' as never);
  const answered = await asking;
  expect(answered.error).toBeUndefined();
});

test("a logger that is no text is replaced, and what only a host may say is not passed on to it", async () => {
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", {
    ...script,
    capabilities: { tools: {}, resources: {}, logging: {}, completions: {} },
  });
  await using host = await startHost({ config: { mcpServers: { a: a.entry } } });
  await host.toolNames();
  const odd = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":5,"data":1}}';
  const steps = [
    { raw: odd },
    { notify: { method: "notifications/initialized" } },
    { notify: { method: "tools/list" } },
  ];
  await host.call("a__do", { steps });
  expect(host.notifications.map(({ raw }) => raw)).toEqual([odd.replace(":5,", ':"a",')]);
});

test("an unknown reference in completion/complete is -32602, for resources too", async () => {
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", script);
  await using host = await startHost({ config: { mcpServers: { a: a.entry } } });
  await host.listAll("resources/templates/list", "resourceTemplates");
  const params = { ref: { type: "ref/resource", uri: "zz://{x}" }, argument: { name: "x", value: "" } };
  expect((await host.request("completion/complete", params)).error).toMatchObject({ code: -32602 });
});

test("spellings that a URL parser takes for one URI are one URI to a deny rule", () => {
  const odd = [
    "file:/secret/k",
    "file:secret/k",
    "file://localhost/secret/k",
    " file:///secret/k",
    "file:///sec\tret/k",
  ];
  for (const uri of odd) expect(plainSpellings(uri), uri).toContain("file:///secret/k");
});

test("the configuration file itself cannot be the audit file", async () => {
  await using dir = await tempDir();
  const file = path.join(dir.path, "switchyard.json");
  writeFileSync(file, '{ "mcpServers": {}, "audit": { "file": "switchyard.json" } }');
  const before = readFileSync(file, "utf8");
  await expect(loadConfig(file, {})).rejects.toThrow(/audit\.file: is this configuration file itself/);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test.skipIf(process.platform !== "linux")("a folder below /proc is refused at once instead of never", () => {
  expect(() => makeFolder("/proc/x/y")).toThrow(/ENOENT|EACCES|EPERM/);
});
