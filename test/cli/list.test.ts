import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { clientOf, failed, item, ready, run } from "./run.ts";

const config = { mcpServers: { files: { command: "npx", env: { TOKEN: "s3cret-value" } }, web: { url: "http://a" } } };

const catalogue = async () => ({
  tools: [
    item("files__read", { description: `Reads\n a file. \x1b[31m\x07${"x".repeat(100)}` }),
    item("web__go", { title: "Go" }),
  ],
  prompts: [],
  resources: [item("file:///a", { name: "A" })],
  templates: [],
  hidden: [{ server: "files", kind: "tool", original: "rm", why: "policy rules[0]" }],
});

describe("list", () => {
  it("shows public names, servers and one line of description, cut to the width, and what is hidden and why", async () => {
    const { engine, closed } = clientOf({ catalogue, servers: () => [ready("files"), ready("web")] });
    const { code, stdout, stderr } = await run(["list"], { config, engine, columns: 50 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      [
        "tools (2)",
        "  files__read  files  Reads a file. xxxxxxxxxxxxx…",
        "  web__go      web    Go",
        "",
        "resources (1)",
        "  file:///a  file:///a  A",
        "",
        "hidden (1)",
        "  rm  files  tool  policy rules[0]",
        "",
      ].join("\n"),
    );
    expect(closed()).toBe(true);
  });

  it("redacts a secret before it is cut, so that no part of it is left (J4)", async () => {
    const tools = [item("files__a", { description: `${"y".repeat(20)}s3cret-value` })];
    const list = async () => ({ tools, prompts: [], resources: [], templates: [], hidden: [] });
    const { engine } = clientOf({ catalogue: list, servers: () => [ready("files")] });
    for (const columns of [40, 45, 46, 47, 50, 200]) {
      expect((await run(["list"], { config, engine, columns })).stdout).not.toContain("s3c");
    }
    expect((await run(["list", "--json"], { config, engine })).stdout).not.toContain("s3c");
  });

  it("gives definitions with every field as JSON", async () => {
    const { engine } = clientOf({ catalogue, servers: () => [ready("files"), ready("web")] });
    const { stdout } = await run(["list", "--json"], { config, engine });
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [
        { name: "files__read", server: "files", original: "read", definition: { description: expect.any(String) } },
        { name: "web__go", definition: { title: "Go" } },
      ],
      hidden: [{ original: "rm", why: "policy rules[0]" }],
      servers: [{ name: "files", state: "ready" }, { name: "web" }],
      broken: [],
    });
  });

  it("names servers that failed and entries that are broken on stderr, and is done all the same if one is ready", async () => {
    const { engine } = clientOf({ catalogue, servers: () => [ready("files"), failed("web")] });
    const more = { mcpServers: { ...config.mcpServers, bad: { comand: "x" } } };
    const { code, stderr } = await run(["list"], { config: more, engine });
    expect(code).toBe(0);
    expect(stderr).toContain("web: spawn: npx: not found; next try in 2.0 s\n");
    expect(stderr).toMatch(/bad: BROKEN: .*comand: unknown key/);
  });

  it("exits with 1 when no server is ready, and with 0 when there is none", async () => {
    const { engine } = clientOf({ servers: () => [failed("files"), failed("web")] });
    expect(await run(["list"], { config, engine })).toMatchObject({ code: 1, stdout: "nothing to show\n" });
    expect((await run(["list"], { config: { mcpServers: {} }, engine: clientOf({}).engine })).code).toBe(0);
    expect((await run(["list"], { config: { mcpServers: { a: {} } }, engine: clientOf({}).engine })).code).toBe(1);
  });

  it("stops its servers when it is interrupted", async () => {
    const signals = new EventEmitter();
    const { engine, closed } = clientOf({
      catalogue: () => {
        signals.emit("SIGTERM");
        return new Promise(() => {});
      },
    });
    const { code, stderr } = await run(["list"], { config, engine, signals });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "switchyard: interrupted\n" });
    expect(closed()).toBe(true);
    expect(signals.listenerCount("SIGTERM")).toBe(0);
  });
});
