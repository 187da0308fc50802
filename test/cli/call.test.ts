import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import type { Client } from "../../src/client.ts";
import { clientOf, failed, item, ready, run } from "./run.ts";

const config = { mcpServers: { files: { command: "npx", env: { TOKEN: "s3cret-value" } } } };
const answers = (result: unknown) => clientOf({ call: async () => ({ result }) }).engine;

describe("call", () => {
  it("sends the name and the arguments, and prints text blocks as text and others as JSON", async () => {
    const calls: unknown[] = [];
    const content = [
      { type: "text", text: "one\ntwo" },
      { type: "image", data: "aa", mimeType: "image/png" },
    ];
    const { engine, closed } = clientOf({
      call: async (...call) => {
        calls.push(call.slice(0, 2));
        return { result: { content } };
      },
    });
    const { code, stdout, stderr } = await run(["call", "files__read", '{"path": "/a"}'], { config, engine });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`one\ntwo\n${JSON.stringify(content[1], null, 2)}\n`);
    expect(calls).toEqual([["files__read", { path: "/a" }]]);
    expect(closed()).toBe(true);
  });

  it("reads the arguments from stdin for -, and sends an empty object without any", async () => {
    const seen: unknown[] = [];
    const { engine } = clientOf({
      call: async (_, args) => {
        seen.push(args);
        return { result: { content: [] } };
      },
    });
    await run(["call", "a", "-"], { config, engine, stdin: '{"from": "stdin"}' });
    await run(["call", "a"], { config, engine });
    expect(seen).toEqual([{ from: "stdin" }, {}]);
  });

  it.each([
    ['{"a": b}', 'line 1, column 7: invalid symbol.\n  {"a": b}\n        ^'],
    ['{"a": 1', "line 1, column 8"],
    ["[1]", "the arguments must be a JSON object"],
    ["text", "the arguments are not JSON"],
  ])(
    "refuses the arguments %s with exit code 2 and shows where, before anything is started",
    async (json, expected) => {
      const { code, stdout, stderr } = await run(["call", "a", json], { config });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(expected);
    },
  );

  it("prints the whole result with --json", async () => {
    const result = { content: [{ type: "text", text: "x" }], structuredContent: { a: 1 }, _meta: { b: 2 } };
    const { stdout } = await run(["call", "a", "--json"], { config, engine: answers(result) });
    expect(JSON.parse(stdout)).toEqual(result);
  });

  it("prints structured content where there are no blocks", async () => {
    const { stdout } = await run(["call", "a"], {
      config,
      engine: answers({ structuredContent: { a: 1 }, content: [] }),
    });
    expect(JSON.parse(stdout)).toEqual({ a: 1 });
  });

  it("exits with 1 for a tool's error, with its text on stderr", async () => {
    const engine = answers({ isError: true, content: [{ type: "text", text: "no such file" }] });
    expect(await run(["call", "a"], { config, engine })).toEqual({
      code: 1,
      stdout: "",
      stderr: "no such file\nswitchyard: the tool answered with an error\n",
    });
    const json = await run(["call", "a", "--json"], { config, engine });
    expect(json).toMatchObject({ code: 1, stdout: expect.stringContaining('"isError": true') });
  });

  it("exits with 1 for a protocol error, and helps with a name that is not known", async () => {
    const client: Partial<Client> = {
      call: async () => ({ error: { code: -32602, message: "Unknown tool: files__raed" } }),
      catalogue: async () => ({ tools: [item("files__read")], prompts: [], resources: [], templates: [], hidden: [] }),
      servers: () => [ready("files"), failed("web")],
    };
    const { engine } = clientOf(client);
    expect(await run(["call", "files__raed"], { config, engine })).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'switchyard: error -32602: Unknown tool: files__raed\nDid you mean "files__read"?\n' +
        'web is not there: npx: not found\nSee "switchyard list" for the names.\n',
    });
    const { stdout } = await run(["call", "files__raed", "--json"], { config, engine });
    expect(JSON.parse(stdout)).toEqual({ error: { code: -32602, message: "Unknown tool: files__raed" } });
  });

  it("shows progress on stderr, on a terminal only", async () => {
    const { engine } = clientOf({
      call: async (_name, _args, on) => {
        on?.progress?.({ progress: 1, total: 2, message: "half \x1b[2J" });
        on?.progress?.({ progress: 2 });
        return { result: { content: [] } };
      },
    });
    expect((await run(["call", "a"], { config, engine, isTTY: true })).stderr).toBe("progress 1/2 half\nprogress 2\n");
    expect((await run(["call", "a"], { config, engine })).stderr).toBe("");
  });

  it("is cancelled by Ctrl-C, and stops its servers", async () => {
    const signals = new EventEmitter();
    let aborted = false;
    const { engine, closed } = clientOf({
      call: (_name, _args, on) =>
        new Promise(() => {
          on?.signal?.addEventListener("abort", () => {
            aborted = true;
          });
          signals.emit("SIGINT");
        }),
    });
    const { code, stderr } = await run(["call", "a"], { config, engine, signals });
    expect({ code, stderr, aborted, closed: closed() }).toEqual({
      code: 1,
      stderr: "switchyard: interrupted\n",
      aborted: true,
      closed: true,
    });
  });

  it("keeps a tool's text from moving the cursor of a terminal, and leaves it alone in a pipe", async () => {
    const engine = answers({ content: [{ type: "text", text: "a\x1b[2Jb\n\tc" }] });
    expect((await run(["call", "a"], { config, engine, isTTY: true })).stdout).toBe("ab\n\tc\n");
    expect((await run(["call", "a"], { config, engine })).stdout).toBe("a\x1b[2Jb\n\tc\n");
  });

  it("never prints a secret of the configuration", async () => {
    const engine = answers({ content: [{ type: "text", text: "s3cret-value" }], _meta: { a: "s3cret-value" } });
    expect((await run(["call", "a"], { config, engine })).stdout).toBe("[redacted]\n");
    expect((await run(["call", "a", "--json"], { config, engine })).stdout).not.toContain("s3cret-value");
  });
});
