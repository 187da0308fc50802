import { describe, expect, it } from "vitest";
import { run } from "./run.ts";

const commands = ["serve", "check", "list", "call", "schema"];

describe("the command line", () => {
  it.each<[string, string[], string]>([
    ["nothing", [], "Usage: switchyard"],
    ["an unknown command", ["srve"], "unknown command 'srve'\n(Did you mean serve?)"],
    ["a command of a later version", ["import", "x"], "unknown command 'import'"],
    ["an unknown option", ["check", "--conect"], "unknown option '--conect'\n(Did you mean --connect?)"],
    ["an unknown level", ["list", "--log-level", "loud"], "Allowed choices are trace, debug, info, warn, error"],
    ["an unknown format", ["list", "--log-format", "xml"], "Allowed choices are json, pretty"],
    ["a missing name", ["call"], "missing required argument 'name'"],
    ["one argument too many", ["check", "x"], "too many arguments"],
  ])("answers %s with exit code 2 and a hint, on stderr", async (_, argv, expected) => {
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(expected);
  });

  it("prints its version", async () => {
    const { code, stdout } = await run(["--version"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/) });
  });

  it.each([[], ...commands.map((command) => [command])])("has help with an example (%s)", async (...argv) => {
    const { code, stdout, stderr } = await run([...argv, "--help"]);
    expect(code).toBe(0);
    expect(stdout + stderr).toMatch(/Usage: switchyard[\s\S]*Example/);
  });

  it("offers --config, --log-level and --log-format wherever a configuration is read", async () => {
    for (const command of commands.filter((one) => one !== "schema")) {
      const { stdout, stderr } = await run([command, "--help"]);
      for (const option of ["--config", "--log-level", "--log-format"]) expect(stdout + stderr).toContain(option);
    }
  });

  it.each([
    ["serve", "--help"],
    ["serve", "--version"],
    ["--version", "serve"],
    ["serve", "--nonsense"],
    ["serve", "extra"],
    ["serve", "--http", "0"],
  ])("keeps stdout empty for %s %s, because a host may read it (H15)", async (...argv) => {
    const { stdout, stderr } = await run(argv);
    expect(stdout).toBe("");
    expect(stderr).not.toBe("");
  });

  it("searches the configuration and says where when there is none", async () => {
    const { code, stderr } = await run(["check"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /no configuration file was found.*\n.*--config.*\n.*SWITCHYARD_CONFIG.*\n.*switchyard\.json.*\n.*switchyard\.json/,
    );
  });

  it("finds the configuration through $SWITCHYARD_CONFIG", async () => {
    const { stderr } = await run(["check"], { env: { SWITCHYARD_CONFIG: "other.json" } });
    expect(stderr).toContain("other.json: cannot read the configuration: there is no such file");
  });

  it("prints the JSON Schema", async () => {
    const { code, stdout } = await run(["schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ type: "object", properties: { mcpServers: {} } });
  });

  it("answers a fault of its own with exit code 1 and no stack trace, unless it is asked for one", async () => {
    const engine = { startClient: () => Promise.reject(new TypeError("boom")) };
    const config = { mcpServers: {} };
    const short = await run(["list"], { config, engine });
    expect(short).toMatchObject({ code: 1, stderr: expect.stringContaining("unexpected error: boom") });
    expect(short.stderr).not.toContain("    at ");
    expect((await run(["list", "--log-level", "debug"], { config, engine })).stderr).toContain("    at ");
  });
});
