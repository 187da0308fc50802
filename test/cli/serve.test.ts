import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/cli/engine.ts";
import { run, unread } from "./run.ts";

const config = {
  mcpServers: { files: { command: "npx", timeout: 5 }, bad: { comand: "x" }, off: { command: "x", disabled: true } },
};

describe("serve", () => {
  it("starts the valid servers, logs what is broken and what has no effect, and answers with the engine's exit code", async () => {
    let seen: Parameters<Engine["startServe"]>[0] | undefined;
    const startServe: Engine["startServe"] = async (options) => {
      seen = options;
      options.output.write('{"jsonrpc":"2.0","id":1,"result":{}}\n');
      return 0;
    };
    const { code, stdout, stderr } = await run(["serve", "--config", "switchyard.json"], {
      config,
      engine: { startServe },
    });
    expect(code).toBe(0);
    expect(seen?.config.servers.map(({ name }) => name)).toEqual(["files"]);
    expect(stdout).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    const records = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records).toMatchObject([
      { level: "warn", msg: expect.stringContaining("mcpServers.files.timeout: has no effect here") },
      {
        level: "error",
        server: "bad",
        msg: expect.stringContaining('mcpServers.bad.comand: unknown key. Did you mean "command"?'),
      },
    ]);
  });

  it("is over with exit code 2 and nothing on stdout when the file is wrong outside the entries", async () => {
    expect(await run(["serve"], { config: { servers: {} } })).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining('rename the key to "mcpServers"'),
    });
  });

  it("refuses --http, which is not there yet, with exit code 2", async () => {
    for (const argv of [["--http"], ["--http", "8080"], ["--http", "127.0.0.1:0"]]) {
      expect(await run(["serve", ...argv], { config })).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("serve --http is not supported by this version yet"),
      });
    }
  });

  it("does not stay because of a log that nobody reads", async () => {
    const codes: number[] = [];
    const startServe = async () => 0;
    await run(["serve"], { config, engine: { startServe }, stderr: unread(), exit: (code) => codes.push(code) });
    expect(codes).toEqual([0]);
  });
});
