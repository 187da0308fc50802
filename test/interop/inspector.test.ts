/** Promise: the Inspector, from its command line, shows of us what it shows of the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configFile } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { settled } from "./pair.ts";
import { BIN, EVERYTHING, everything, INSPECTOR, memory, PATIENCE, Shared } from "./peers.ts";

const run = promisify(execFile);

describe("the Inspector's command line", () => {
  const shared = new Shared();
  let dir: TempDir;
  let serve: string[];

  beforeAll(async () => {
    dir = shared.keep(await tempDir());
    const mcpServers = { ev: everything(), graph: memory(dir.file("graph.jsonl")) };
    serve = [BIN, "serve", "--config", configFile(dir, { mcpServers, timeouts: PATIENCE })];
  });
  afterAll(() => shared.end());

  /** The result that it prints. Its own options stand before `--`: it would take `--config` for one of them. */
  async function inspect(target: string[], method: string, options: string[]): Promise<unknown> {
    const { stdout } = await run(
      process.execPath,
      [INSPECTOR, "--cli", "--method", method, ...options, "--format", "json", "--", process.execPath, ...target],
      {
        cwd: dir.path,
        maxBuffer: 64 * 1024 * 1024,
        env: {
          PATH: process.env["PATH"],
          HOME: dir.path,
          XDG_CACHE_HOME: dir.file("cache"),
          MCP_CATALOG_PATH: dir.file("catalog.json"),
        },
      },
    );
    return (JSON.parse(settled(stdout)) as { result: unknown }).result;
  }

  /** Of the server itself, and through the proxy. `named` are the options that name something of the server's. */
  async function both(method: string, options: string[] = [], named: [option: string, name: string] | [] = []) {
    const [option, name] = named;
    const [own, relayed] = await Promise.all([
      inspect([EVERYTHING, "stdio"], method, [...options, ...named]),
      inspect(serve, method, [...options, ...(option === undefined ? [] : [option, `ev__${name}`])]),
    ]);
    return { own, relayed };
  }

  test("lists the tools of all servers, and each as its server defines it", async () => {
    const { own, relayed } = await both("tools/list");
    const tools = (result: unknown) => (result as { tools: { name: string }[] }).tools;
    const mine = tools(relayed).filter(({ name }) => name.startsWith("ev__"));
    expect(mine.length).toBeGreaterThanOrEqual(13);
    const named = tools(own).map((tool) => ({ ...tool, name: `ev__${tool.name}` }));
    expect(mine).toEqual(
      JSON.parse(JSON.stringify(named).replace('"taskSupport":"required"', '"taskSupport":"optional"')),
    );
    expect(tools(relayed).filter(({ name }) => name.startsWith("graph__"))).toHaveLength(9);
  });

  test("calls a tool", async () => {
    const { own, relayed } = await both(
      "tools/call",
      ["--tool-arg", "location=Chicago"],
      ["--tool-name", "get-structured-content"],
    );
    expect(relayed).toEqual(own);
    expect(relayed).toHaveProperty("structuredContent.humidity", 82);
  });

  test("reads a resource, listed or of a template", async () => {
    const { own, relayed } = await both("resources/read", ["--uri", "demo://resource/dynamic/text/3"]);
    expect(relayed).toEqual(own);
    expect(relayed).toHaveProperty("contents.0.uri", "demo://resource/dynamic/text/3");
  });

  test("gets a prompt", async () => {
    const { own, relayed } = await both(
      "prompts/get",
      ["--prompt-args", "city=Bern", "state=BE"],
      ["--prompt-name", "args-prompt"],
    );
    expect(relayed).toEqual(own);
    expect(JSON.stringify(relayed)).toContain("Bern");
  });
});
