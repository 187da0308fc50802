// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
import { sep } from "node:path";
import { describe, expect, it } from "vitest";
import { load, loadEntry, problemsOf, shorten } from "./support.ts";

const interfaceExample = `{
  // the example of interface.md
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "\${HOME}/docs"],
               "env": { "TOKEN": "\${FILES_TOKEN:-none}" }, "cwd": "/srv" },
    "issues": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer \${ISSUES_TOKEN}" } },
    "old":    { "type": "sse",  "url": "https://example.com/sse" }, /* trailing comma */
  },
}`;

describe("an entry", () => {
  it("of the interface's example loads as it says, comments and trailing commas included", async () => {
    const { servers, broken, warnings } = await load(interfaceExample, { HOME: "/home/me", ISSUES_TOKEN: "tok-12345" });
    expect(broken).toEqual([]);
    expect(warnings).toEqual([]);
    expect(servers.map(({ name, rank, target }) => ({ name, rank, target }))).toEqual([
      {
        name: "files",
        rank: 0,
        target: {
          type: "stdio",
          command: "npx",
          args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/docs"],
          env: { TOKEN: "none" },
          cwd: "/srv",
        },
      },
      {
        name: "issues",
        rank: 1,
        target: { type: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer tok-12345" } },
      },
      { name: "old", rank: 2, target: { type: "sse", url: "https://example.com/sse", headers: {} } },
    ]);
  });

  it("with nothing but a command has every default", async () => {
    expect(await loadEntry({ command: "x" })).toMatchObject({
      prefix: "files",
      tools: { allow: undefined, deny: [] },
      prompts: { allow: undefined, deny: [] },
      resources: { allow: undefined, deny: [] },
      rename: {},
      era: "auto",
      isolation: "auto",
      timeouts: {
        connectMs: 30_000,
        requestMs: 0,
        totalMs: 0,
        resetOnProgress: true,
        startupMs: 1_500,
        drainMs: 5_000,
      },
      concurrency: undefined,
      queueLimit: 1_000,
      target: { type: "stdio", args: [], env: {}, cwd: undefined },
      secrets: [],
    });
  });

  it("with a url and no type leaves open which of the two HTTP transports it is", async () => {
    expect((await loadEntry({ url: "http://localhost:1/mcp" })).target.type).toBe("auto");
  });

  it("keeps every key that it gives", async () => {
    const entry = {
      prefix: "f",
      tools: { allow: ["read_*"], deny: ["read_secret"] },
      prompts: { deny: ["*"] },
      resources: { allow: ["docs://**"] },
      rename: { read: { name: "get", title: "T", description: "D" } },
      era: "legacy",
      isolation: "session",
      timeouts: { requestMs: 5, resetOnProgress: false },
      concurrency: 2,
      queueLimit: 0,
    };
    expect(await loadEntry({ command: "x", ...entry })).toMatchObject({
      ...entry,
      prompts: { allow: undefined, deny: ["*"] },
      timeouts: { connectMs: 30_000, requestMs: 5, resetOnProgress: false },
    });
  });

  it("inherits the timeouts of the top level and overrides them key by key", async () => {
    const { servers, timeouts } = await load({
      timeouts: { requestMs: 7, connectMs: 8 },
      mcpServers: { a: { command: "x", timeouts: { requestMs: 9 } } },
    });
    expect(timeouts).toMatchObject({ requestMs: 7, connectMs: 8, startupMs: 1_500 });
    expect(servers[0]?.timeouts).toMatchObject({ requestMs: 9, connectMs: 8, startupMs: 1_500 });
  });

  it("keeps its place in the file, though its key looks like a number", async () => {
    const config = await load('{"mcpServers": {"b": {"command": "x"}, "10": {"command": "x"}, "2": {"command": "x"}}}');
    expect(config.servers.map(({ name, rank }) => [name, rank])).toEqual([
      ["b", 0],
      ["10", 1],
      ["2", 2],
    ]);
  });

  it("that is disabled is not served, and need not have its variables", async () => {
    const config = await load({ mcpServers: { a: { command: "x", env: { T: "${NOT_SET}" }, disabled: true } } });
    expect(config).toMatchObject({ servers: [], disabled: ["a"], broken: [], warnings: [] });
  });

  it("that is disabled and has a mistake is a warning, no error", async () => {
    const config = await load({ mcpServers: { a: { comand: "x", disabled: true } } });
    expect(config).toMatchObject({ servers: [], disabled: ["a"], broken: [] });
    expect(config.warnings[0]).toContain("mcpServers.a.comand: unknown key");
  });

  it("finds cwd beside the file and under the home folder", async () => {
    const beside = await loadEntry(
      { command: "~/bin/x", cwd: "sub/dir" },
      { HOME: "/home/me", USERPROFILE: "/home/me" },
    );
    expect(beside.target).toMatchObject({ command: "/home/me/bin/x" });
    expect(beside.target).toHaveProperty("cwd", beside.config.file.replace("switchyard.json", `sub${sep}dir`));
    const { target } = await loadEntry(
      { command: "x", args: ["~/a"], cwd: "~/w" },
      { HOME: "/home/me", USERPROFILE: "/home/me" },
    );
    expect(target).toMatchObject({ cwd: "/home/me/w", args: ["~/a"] });
  });

  it("can rename a tool that is called like a member of every object", async () => {
    const { rename } = await loadEntry({ command: "x", rename: { toString: { name: "a" } } });
    expect(rename["toString"]).toEqual({ name: "a" });
    expect(rename["constructor"]).toBeUndefined();
  });
});

describe("a mistake inside one entry takes out that entry alone: ", () => {
  it.each<[string, unknown, string]>([
    ["neither command nor url", {}, 'mcpServers.files: has neither "command" nor "url". Add "command"'],
    ["both", { command: "x", url: "http://a" }, 'mcpServers.files: has both "command" and "url"'],
    ["no object", "npx", "mcpServers.files: must be an object, not a text. Write it as an object"],
    ["null", null, "mcpServers.files: must be an object, not null"],
    ["stdio with url", { type: "stdio", url: "http://a" }, 'files.type: "stdio" needs "command", not "url"'],
    ["http with command", { type: "http", command: "x" }, 'files.type: "http" needs "url", not "command"'],
    [
      "unknown type",
      { type: "ws", url: "http://a" },
      'files.type: is not one of the values that are known. Write "stdio", "http" or "sse"',
    ],
    ["empty command", { command: "" }, "files.command: is empty"],
    ["no address", { url: "example.com/mcp" }, "files.url: is not an http or https address"],
    ["a file's address", { url: "file:///x" }, "files.url: is not an http or https address"],
    [
      "a number in env",
      { command: "x", env: { PORT: 3000 } },
      "files.env.PORT: must be a text, not a number. Put it in quotes",
    ],
    ["a line break in a header", { url: "http://a", headers: { A: "x\ny: z" } }, "files.headers.A: holds a character"],
    ["a header without name", { url: "http://a", headers: { "": "x" } }, 'files.headers[""]: is not a header\'s name'],
    ["args as text", { command: "x", args: "-y" }, "files.args: must be a list, not a text. Write it as a list: [ … ]"],
    [
      "tools as list",
      { command: "x", tools: ["a"] },
      'files.tools: must be an object, not a list. Write "tools": { "allow"',
    ],
    [
      "an empty glob",
      { command: "x", tools: { deny: ["a", ""] } },
      "files.tools.deny[1]: an empty glob matches nothing",
    ],
    ["an open bracket", { command: "x", tools: { allow: ["[a"] } }, "files.tools.allow[0]: "],
    ["concurrency 0", { command: "x", concurrency: 0 }, "files.concurrency: is too small. Write 1 or more"],
    ["a broken number", { command: "x", queueLimit: 1.5 }, "files.queueLimit: must be a whole number"],
    [
      "disabled as text",
      { command: "x", disabled: "true" },
      "files.disabled: must be true or false, not a text. Write it without quotes",
    ],
    [
      "the modern era",
      { command: "x", era: "modern" },
      "files.era: revision 2026-07-28 is not supported by this version yet",
    ],
    [
      "one name for two",
      { command: "x", rename: { a: { name: "n" }, b: { name: "n" } } },
      'rename.b.name: the same name as that of "a"',
    ],
    [
      "a timeout beyond the clock",
      { command: "x", timeouts: { totalMs: 1e12 } },
      "files.timeouts.totalMs: is too large",
    ],
    ["NUL in an argument", { command: "x", args: ["a\0"] }, "files.args[0]: holds a NUL character"],
  ])("%s", async (_, entry, expected) => {
    const problems = await problemsOf(entry);
    expect(problems.join("\n")).toContain(expected);
    // File and line, key, reason, remedy.
    for (const problem of problems) expect(problem).toMatch(/^switchyard\.json:\d+: mcpServers\.files\S*: .+[.?]$/);
  });

  it("all of its mistakes are named, in the order of the file", async () => {
    const problems = await problemsOf({ comand: "x", env: { A: 1 }, era: "future" });
    expect(problems.map((problem) => /^\S+: (\S+):/.exec(problem)?.[1])).toEqual([
      "mcpServers.files.comand",
      "mcpServers.files.env.A",
      "mcpServers.files.era",
    ]);
  });

  it("a key given twice is named with both lines", async () => {
    const config = await load('{"mcpServers": {\n"a": {\n"command": "x",\n"command": "y"},\n"b": {"command": "x"}}}');
    expect(config.servers.map(({ name }) => name)).toEqual(["b"]);
    expect(shorten(config.broken[0]!.problems[0]!)).toBe(
      "switchyard.json:3: mcpServers.a.command: the key is given twice, in line 3 and in line 4. Remove one of the two.",
    );
  });

  it("its messages never hold a value", async () => {
    const secret = "SENTINEL-5ecret";
    const problems = await problemsOf(
      { url: secret, headers: { A: `${secret}\n` }, env: { A: [secret] }, type: secret, timeouts: secret, era: secret },
      { X: secret },
    );
    expect(problems.length).toBeGreaterThanOrEqual(6);
    expect(problems.join()).not.toContain("SENTINEL");
  });
});
