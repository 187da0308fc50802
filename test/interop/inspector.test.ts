/** Promise: the Inspector, from its command line, shows of us what it shows of the server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configFile } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import type { Host } from "../support/host.ts";
import { settled } from "./pair.ts";
import { BIN, direct, EVERYTHING, everything, INSPECTOR, memory, PATIENCE, Shared } from "./peers.ts";

const run = promisify(execFile);

describe("the Inspector's command line", () => {
  const shared = new Shared();
  let dir: TempDir;
  let serve: string[];
  let own: Host;

  beforeAll(async () => {
    dir = shared.keep(await tempDir());
    const mcpServers = { ev: everything(), graph: memory(dir.file("graph.jsonl")) };
    own = await shared.start(direct(everything()));
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

  /** What the server itself answers. */
  const ofServer = async (method: string, params: object): Promise<unknown> =>
    JSON.parse(settled(JSON.stringify((await own.request(method, params)).result)));

  test("lists the tools of all servers, and each as the Inspector shows it without us", async () => {
    const tools = (result: unknown) => (result as { tools: { name: string }[] }).tools;
    const [alone, relayed] = await Promise.all([
      inspect([EVERYTHING, "stdio"], "tools/list", []),
      inspect(serve, "tools/list", []),
    ]);
    const mine = tools(relayed).filter(({ name }) => name.startsWith("ev__"));
    expect(mine.length).toBeGreaterThanOrEqual(13);
    const named = JSON.stringify(tools(alone).map((tool) => ({ ...tool, name: `ev__${tool.name}` })));
    expect(mine).toEqual(JSON.parse(named.replace('"taskSupport":"required"', '"taskSupport":"optional"')));
    expect(tools(relayed).filter(({ name }) => name.startsWith("graph__"))).toHaveLength(9);
  });

  test("calls a tool, reads a resource and gets a prompt", async () => {
    const name = "get-structured-content";
    const uri = "demo://resource/dynamic/text/3";
    const city = { city: "Bern", state: "BE" };
    const [called, read, got] = await Promise.all([
      inspect(serve, "tools/call", ["--tool-name", `ev__${name}`, "--tool-arg", "location=Chicago"]),
      inspect(serve, "resources/read", ["--uri", uri]),
      inspect(serve, "prompts/get", ["--prompt-name", "ev__args-prompt", "--prompt-args", "city=Bern", "state=BE"]),
    ]);
    expect(called).toHaveProperty("structuredContent.humidity", 82);
    expect(called).toEqual(await ofServer("tools/call", { name, arguments: { location: "Chicago" } }));
    expect(read).toEqual(await ofServer("resources/read", { uri }));
    expect(got).toEqual(await ofServer("prompts/get", { name: "args-prompt", arguments: city }));
  });
});
