/** Promise: who waits for a server that dies is told at once, with the reason; what may have run is never run again. */
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Reply, startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const SECRET = "s3cr3t-v4lue-0f-the-entry";

/** Of a request whose server went away under it. */
function expectLost(reply: Reply, server: string): void {
  expect(reply.error, reply.raw).toMatchObject({ code: -32603, data: { source: "switchyard", server } });
  expect(reply.error!.message).toContain(server);
  expect(reply.error!.message).toMatch(/unknown/i);
}

test("an exit in mid-call or mid-handshake is told within a second, with exit code and redacted last words", async () => {
  // F11, R86, J4
  await using dir = await tempDir();
  const last = [{ stderr: `${"chatter\n".repeat(200)}fatal: token ${SECRET} was refused\n` }, { exit: 7 }];
  const dies = stdioServer(dir, "dies", {
    tools: [tool("do"), tool("die"), tool("wait")],
    prompts: [{ name: "p" }],
    on: { die: last, wait: [{ silent: true }], "prompt:p": [{ silent: true }] },
  });
  const killed = stdioServer(dir, "killed", { tools: [tool("do")] });
  const ok = stdioServer(dir, "ok", { tools: [tool("do")] });
  const env = { API_TOKEN: SECRET };
  await using host = await startHost({
    config: { mcpServers: { dies: { ...dies.entry, env }, killed: killed.entry, ok: ok.entry } },
  });
  await host.toolNames();
  await host.listAll("prompts/list", "prompts");
  const bystander = host.request("tools/call", { name: "ok__do", arguments: { steps: [{ wait: 1500 }] } });
  const pending = [
    host.request("tools/call", { name: "dies__wait", arguments: {} }),
    host.request("prompts/get", { name: "dies__p" }),
  ];
  await until(() => dies.received("prompts/get").length === 1 && dies.received("tools/call").length === 1, {
    what: "two requests at the server",
  });
  dies.rewrite({
    tools: [tool("do")],
    startDelayMs: 300,
    onInitialize: [{ stderr: `cannot read ${SECRET}: no such licence\n` }, { exit: 4 }],
  });
  pending.push(host.request("tools/call", { name: "dies__die", arguments: {} }));
  const replies = await Promise.all(pending);
  const answeredAt = Date.now();
  expect(answeredAt - dies.received("tools/call").at(-1)!.at, "ms since the exit").toBeLessThan(1000);
  for (const reply of replies) {
    expectLost(reply, "dies");
    const text = JSON.stringify(reply.error);
    expect(text).toMatch(/code"?:? ?7/i);
    expect(text).toContain("was refused");
    expect(text).not.toContain(SECRET);
    expect(text.length, "the last lines, not all of them").toBeLessThan(4000);
  }

  // Its next start ends in the handshake; a call that waits for that hears of it at once.
  const waiting = await host.request("tools/call", { name: "dies__do", arguments: {} });
  const died = dies.received("initialize").filter(({ pid }) => pid === dies.starts()[1]);
  expect(died, "an initialize at the second process").toHaveLength(1);
  expect(Date.now() - died[0]!.at, "ms since the exit in the handshake").toBeLessThan(1000);
  expect(waiting.error).toMatchObject({ code: -32603, data: { source: "switchyard", server: "dies" } });
  expect(JSON.stringify(waiting.error)).toMatch(/code 4/);
  expect(JSON.stringify(waiting.error)).toContain("no such licence");

  // A signal is named.
  const shot = await host.request("tools/call", { name: "killed__do", arguments: { steps: [{ kill: "SIGKILL" }] } });
  expectLost(shot, "killed");
  expect(JSON.stringify(shot.error)).toContain("SIGKILL");

  expect((await bystander).error).toBeUndefined();
  expect(ok.starts()).toHaveLength(1);
  expect(host.stderr).not.toContain(SECRET);
  expect(host.raw.join("\n")).not.toContain(SECRET);
  expect(host.strays).toEqual([]);
});

test("a server that dies in the handshake does not hold up the host's start", async () => {
  // F11: startupMs is 20 s here, nobody waits for that
  await using dir = await tempDir();
  const dies = stdioServer(dir, "dies", { onInitialize: [{ stderr: "no database\n" }, { exit: 4 }] });
  const ok = stdioServer(dir, "ok", { tools: [tool("t")] });
  const started = performance.now();
  await using host = await startHost({ config: { mcpServers: { dies: dies.entry, ok: ok.entry } } });
  expect(await host.toolNames()).toEqual(["ok__t"]);
  expect(performance.now() - started).toBeLessThan(5000);
  const record = host.logs.find((line) => line["server"] === "dies" && line["stage"] !== undefined);
  expect(record).toMatchObject({ stage: "initialize" });
  expect(JSON.stringify(record)).toMatch(/code 4.*no database/);
});

test("a call whose answer was lost ran once and is reported as unknown, whatever the transport and the tool's hints", async () => {
  // F9, R195, spec §3.17, §3.18
  await using dir = await tempDir();
  const script = {
    tools: [
      tool("charge"),
      tool("safe", { annotations: { idempotentHint: true, readOnlyHint: true } }),
      tool("fails"),
      tool("refuses"),
      tool("t"),
    ],
    on: {
      fails: [{ result: { content: [{ type: "text", text: "broken pipe, connection lost" }], isError: true } }],
      refuses: [{ error: { code: -32000, message: "Connection closed" } }],
    },
  };
  const stdio = stdioServer(dir, "stdio", {
    ...script,
    on: { ...script.on, charge: [{ exit: 1 }], safe: [{ exit: 1 }] },
  });
  const cut = { ...script, on: { ...script.on, charge: [{ cut: true as const }], safe: [{ cut: true as const }] } };
  await using json = await startHttpServer(cut, { answer: "json" });
  await using events = await startHttpServer(cut, { answer: "sse" });
  // Takes the request with 202, then the stream that should bring the answer ends.
  await using old = await startHttpServer(cut, { legacySse: true });
  await using host = await startHost({
    config: {
      mcpServers: {
        stdio: stdio.entry,
        json: httpServer(json.url),
        events: httpServer(events.url),
        old: httpServer(old.url, { type: "sse" }),
      },
    },
  });
  const servers = ["stdio", "json", "events", "old"];
  await host.toolNames();

  // What a tool or server answers is an answer, however it reads.
  for (const server of servers) {
    expect(await host.call(`${server}__fails`), server).toMatchObject({ isError: true });
    const refused = await host.request("tools/call", { name: `${server}__refuses`, arguments: {} });
    expect(refused.error, server).toEqual({ code: -32000, message: "Connection closed" });
  }
  expect(stdio.starts()).toHaveLength(1);
  for (const server of [json, events, old]) expect(server.received("initialize")).toHaveLength(1);

  for (const name of ["charge", "safe"]) {
    for (const server of servers) {
      const reply = await host.request("tools/call", { name: `${server}__${name}`, arguments: {} });
      expectLost(reply, server);
      // It is back, and what was lost was not run in passing.
      expect(await host.callText(`${server}__t`)).toMatch(/:t$/);
    }
  }
  for (const server of [stdio, json, events, old]) {
    const named = (name: string) =>
      server.received("tools/call").filter(({ message }) => message!.params!["name"] === name);
    expect(named("charge")).toHaveLength(1);
    expect(named("safe")).toHaveLength(1);
  }
  expect(host.strays).toEqual([]);
});
