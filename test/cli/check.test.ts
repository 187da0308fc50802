import { describe, expect, it } from "vitest";
import { clientOf, failed, ready, run } from "./run.ts";

const config = {
  mcpServers: {
    files: { command: "npx", args: ["--token", "s3cret-arg"], timeout: 5 },
    web: { url: "https://me:pass-word@example.com/mcp?key=s3cret-query" },
    off: { command: "x", disabled: true },
  },
};
const broken = { mcpServers: { ...config.mcpServers, bad: { comand: "x" } } };

describe("check", () => {
  it("prints one line for each server and each warning, and no secret", async () => {
    const { code, stdout, stderr } = await run(["check"], { config });
    expect(code).toBe(0);
    expect(stderr).toBe("");
    expect(stdout.split("\n")).toEqual([
      "switchyard.json",
      "  files  ok  stdio npx",
      "  web    ok  http https://example.com/mcp",
      "  off  disabled",
      expect.stringContaining("warning: switchyard.json:9: mcpServers.files.timeout: has no effect here."),
      "2 ok, 1 disabled, 0 broken",
      "",
    ]);
    for (const secret of ["s3cret", "pass-word"]) expect(stdout).not.toContain(secret);
  });

  it("names what is broken, with exit code 2", async () => {
    const { code, stdout } = await run(["check"], { config: broken });
    expect(code).toBe(2);
    expect(stdout).toMatch(
      / {2}bad {2}BROKEN\n {4}switchyard\.json:\d+: mcpServers\.bad\.comand: unknown key\. Did you mean "command"\?\n/,
    );
    expect(stdout).toContain("2 ok, 1 disabled, 1 broken");
  });

  it("refuses a file with a mistake outside the entries with exit code 2, also as JSON", async () => {
    const wrong = { config: { mcpServers: {}, polcy: {} } };
    expect(await run(["check"], wrong)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: 'switchyard: switchyard.json:3: polcy: unknown key. Did you mean "policy"?\n',
    });
    const { code, stdout } = await run(["check", "--json"], wrong);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      error: 'switchyard.json:3: polcy: unknown key. Did you mean "policy"?',
    });
  });

  it("gives all of it as JSON", async () => {
    const { code, stdout } = await run(["check", "--json"], { config: broken });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      file: "switchyard.json",
      servers: [
        { name: "files", status: "ok", prefix: "files", type: "stdio" },
        { name: "web", status: "ok", prefix: "web", type: "auto" },
        { name: "bad", status: "broken", problems: [expect.stringContaining("comand")] },
        { name: "off", status: "disabled" },
      ],
      warnings: [expect.stringContaining("timeout")],
    });
  });
});

describe("check --connect", () => {
  it("reports era, revision, counts and time of each server, and closes what it started", async () => {
    const client = clientOf({ servers: () => [ready("files"), ready("web", { connectMs: 2_345 })] });
    const { code, stdout } = await run(["check", "--connect"], { config, engine: client.engine });
    expect(code).toBe(0);
    expect(stdout).toContain("  server  state  era     revision    tools  prompts  resources  templates  time\n");
    expect(stdout).toContain("  files   ready  legacy  2025-11-25  3      0        2          1          120 ms\n");
    expect(stdout).toMatch(/web +ready .* 2\.3 s\n/);
    expect(client.closed()).toBe(true);
  });

  it("says of a server that does not answer where it stopped, why and when it is tried again (F3), with exit code 1", async () => {
    const client = clientOf({ servers: () => [ready("files"), failed("web", { reason: "401 for s3cret-query" })] });
    const { code, stdout } = await run(["check", "--connect"], { config, engine: client.engine });
    expect(code).toBe(1);
    expect(stdout).toContain("  web: backoff: spawn: 401 for [redacted]; next try in 2.0 s\n");
    expect(stdout).toContain("1 ready, 1 not ready");
  });

  it("exits with 2 when an entry is broken, though all others answer", async () => {
    const client = clientOf({ servers: () => [ready("files"), ready("web")] });
    expect((await run(["check", "--connect"], { config: broken, engine: client.engine })).code).toBe(2);
  });

  it("reports allow entries that match nothing (J2), but not where the server is missing", async () => {
    const unusedRules = () => [
      'mcpServers.files.tools.allow: "nope" matches no tool of this server',
      'mcpServers.web.tools.allow: "x" matches no tool of this server',
      'policy.rules[0].tools: "y" matches no tool',
    ];
    const all = clientOf({ servers: () => [ready("files"), ready("web")], unusedRules });
    const full = await run(["check", "--connect"], { config, engine: all.engine });
    expect(full.code).toBe(0);
    for (const line of unusedRules()) expect(full.stdout).toContain(`warning: ${line}\n`);
    const some = clientOf({ servers: () => [ready("files"), failed("web")], unusedRules });
    const json = await run(["check", "--connect", "--json"], { config, engine: some.engine });
    expect(JSON.parse(json.stdout).unused).toEqual([unusedRules()[0]]);
  });

  it("gives the reports as JSON", async () => {
    const client = clientOf({ servers: () => [ready("files"), failed("web")] });
    const { stdout } = await run(["check", "--connect", "--json"], { config, engine: client.engine });
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      servers: [
        { name: "files", status: "ok", connection: ready("files") },
        { name: "web", status: "ok", connection: failed("web") },
        { name: "off", status: "disabled" },
      ],
      unused: [],
    });
  });
});
