// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
/** Field reports L4 and L5: misspelt and foreign keys are said, the dialects of hosts are understood. */
import { describe, expect, it } from "vitest";
import { distance, nearest } from "../../src/config/nearest.ts";
import { load, loadEntry, problemsOf, refusal } from "./support.ts";

describe("a misspelt key (L5)", () => {
  it.each<[string, object, string]>([
    ["comand", { comand: "x" }, 'mcpServers.files.comand: unknown key. Did you mean "command"?'],
    ["environment", { command: "x", environment: {} }, 'files.environment: unknown key. Did you mean "env"?'],
    ["transport", { url: "http://a", transport: "sse" }, 'files.transport: unknown key. Did you mean "type"?'],
    ["serverUrl", { serverUrl: "http://a" }, 'files.serverUrl: unknown key. Did you mean "url"?'],
    ["httpUrl", { httpUrl: "http://a" }, 'files.httpUrl: unknown key. Did you mean "url"?'],
    ["enabled", { command: "x", enabled: false }, 'files.enabled: unknown key. Did you mean "disabled"?'],
    ["excludeTools", { command: "x", excludeTools: ["a"] }, '{ "deny": […] }?'],
    ["tools.alow", { command: "x", tools: { alow: [] } }, 'files.tools.alow: unknown key. Did you mean "allow"?'],
    [
      "timeouts.conectMs",
      { command: "x", timeouts: { conectMs: 1 } },
      'timeouts.conectMs: unknown key. Did you mean "connectMs"?',
    ],
    [
      "rename.a.nmae",
      { command: "x", rename: { a: { nmae: "b" } } },
      'rename.a.nmae: unknown key. Did you mean "name"?',
    ],
    ["Command", { Command: "x" }, 'files.Command: unknown key. Did you mean "command"?'],
    [
      "failureMode",
      { command: "x", failureMode: "x" },
      "files.failureMode: unknown key. Remove it; the keys known here are type, command",
    ],
  ])("%s takes its entry out and names the nearest one", async (_, entry, expected) => {
    expect((await problemsOf(entry)).join("\n")).toContain(expected);
  });

  it.each<[string, object, string]>([
    ["polcy", { polcy: {} }, 'polcy: unknown key. Did you mean "policy"?'],
    ["policy.defualt", { policy: { defualt: "deny" } }, 'policy.defualt: unknown key. Did you mean "default"?'],
    [
      "policy.rules[0].tool",
      { policy: { rules: [{ effect: "deny", tool: ["*"], prompts: ["*"] }] } },
      'policy.rules[0].tool: unknown key. Did you mean "tools"?',
    ],
    ["names.maxLenght", { names: { maxLenght: 1 } }, 'Did you mean "maxLength"?'],
    ["audit.path", { audit: { file: "x", path: "y" } }, "audit.path: unknown key. Remove it"],
    [
      "http.auth.token",
      { http: { auth: { token: [], tokens: [] } } },
      'http.auth.token: unknown key. Did you mean "tokens"?',
    ],
  ])("%s outside the entries stops the start", async (_, top, expected) => {
    expect(await refusal({ ...top, mcpServers: {} })).toContain(expected);
  });

  it("that is nearer to a word of ours than to a host's is taken for ours", async () => {
    expect((await problemsOf({ command: "x", timeout_s: 1 })).join()).toContain('"timeouts"');
  });
});

describe("the nearest word", () => {
  it("is found across a swap, a slip of case and a missing letter", () => {
    expect(nearest("hedaers", ["env", "headers", "url"])).toBe("headers");
    expect(nearest("Args", ["args", "env"])).toBe("args");
    expect(nearest("rl", ["url", "env"])).toBe("url");
  });
  it("is none where everything would have to change", () => {
    expect(nearest("xyz", ["env", "url", "cwd"])).toBeUndefined();
    expect(nearest("whatever", [])).toBeUndefined();
  });
  it("counts a swap of neighbours as one edit", () => {
    expect(distance("ab", "ba")).toBe(1);
    expect(distance("", "abc")).toBe(3);
  });
});

describe("a host's file (L4)", () => {
  it("of Claude Desktop and Claude Code gives its servers", async () => {
    const config = await load(
      {
        mcpServers: {
          fs: { command: "npx", args: ["-y", "server"], env: {} },
          web: { type: "http", url: "https://a/mcp", headers: { "X-Key": "${KEY}" } },
          io: { type: "stdio", command: "x", args: [], env: { K: "${K:-v}" } },
        },
      },
      { KEY: "k123456" },
    );
    expect(config.servers.map(({ target }) => target.type)).toEqual(["stdio", "http", "stdio"]);
    expect(config.broken).toEqual([]);
    expect(config.warnings).toEqual([]);
  });

  it("of Cline, Cursor, Windsurf and VS Code keeps keys that mean nothing here, with a warning for each", async () => {
    const config = await load({
      mcpServers: {
        cline: { command: "x", autoApprove: ["a"], alwaysAllow: [], timeout: 60, disabled: false, type: "stdio" },
        cursor: { command: "x", envFile: ".env", description: "d" },
        windsurf: { url: "https://a/mcp", disabledTools: ["t"] },
        vscode: { url: "https://a/mcp", type: "http", gallery: "g", version: "1", name: "n", icon: "i" },
      },
    });
    expect(config.servers.map(({ name }) => name)).toEqual(["cline", "cursor", "windsurf", "vscode"]);
    const keys = config.warnings.map((warning) => /mcpServers\.(\S+): has no effect here\./.exec(warning)?.[1]);
    expect(keys).toEqual([
      ...["cline.autoApprove", "cline.alwaysAllow", "cline.timeout", "cursor.envFile", "cursor.description"],
      ...["windsurf.disabledTools", "vscode.gallery", "vscode.version", "vscode.name", "vscode.icon"],
    ]);
    expect(config.warnings[5]).toContain('the tools stay visible: use "tools": { "deny": […] }');
  });

  it.each(["streamable-http", "streamableHttp", "streamable_http", "http-stream", "http"])(
    "may call HTTP %s",
    async (type) => {
      expect((await loadEntry({ type, url: "https://a/mcp" })).target.type).toBe("http");
    },
  );

  it("with servers instead of mcpServers is told to rename the key, and inputs are reported, not ignored", async () => {
    const message = await refusal({ servers: { a: { command: "x" } }, inputs: [{ id: "token" }] });
    expect(message).toContain('servers: unknown key. VS Code calls it "servers": rename the key to "mcpServers".');
    expect(message).toContain("inputs: unknown key. VS Code asks its user for these");
    expect(message).not.toContain("mcpServers: the key is missing");
  });

  it("that refers to ${input:…} or ${env:…} is told how to write it", async () => {
    expect((await problemsOf({ command: "x", env: { T: "${input:token}" } })).join()).toContain(
      "files.env.T: ${input…} is understood by some hosts only. Set an environment variable and write ${NAME}.",
    );
    expect((await problemsOf({ command: "x", args: ["${env:HOME}"] })).join()).toContain("Write ${NAME}.");
  });

  it("with keys of the other kind of entry warns that they do nothing", async () => {
    const config = await load({
      mcpServers: { a: { url: "http://a", env: {}, cwd: "/", args: [] }, b: { command: "x", headers: {} } },
    });
    expect(config.warnings.map((warning) => warning.split(": ")[1])).toEqual([
      "mcpServers.a.env",
      "mcpServers.a.cwd",
      "mcpServers.a.args",
      "mcpServers.b.headers",
    ]);
  });
});
