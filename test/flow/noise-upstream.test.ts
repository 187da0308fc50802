/** Promise: a server may write to stderr whatever and as much as it likes: it is read, labelled, bounded and redacted. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";

const MiB = 1 << 20;
const textOf = (host: Host, server: string) =>
  host.logs.filter((record) => record["server"] === server).map((record) => JSON.stringify(record));

test("a megabyte on stderr before each answer, with and without line ends, freezes nobody and stays bounded", async () => {
  // F18, R84
  const secret = "s3cr3t-0f-the-chatty-one";
  await using dir = await tempDir();
  const flood = { stderr: "a line of sixty-four characters, as servers write them all day\n", times: 16_384 };
  const script = { tools: [tool("lines"), tool("endless")] };
  const chatty = stdioServer(dir, "chatty", {
    ...script,
    onStart: [flood],
    onInitialize: [{ stderr: "e".repeat(MiB) }],
    on: {
      lines: [flood, { result: { content: [{ type: "text", text: "after lines" }] } }],
      endless: [{ stderr: "x".repeat(MiB) }, { result: { content: [{ type: "text", text: "after endless" }] } }],
    },
  });
  const quiet = stdioServer(dir, "quiet", {
    tools: [tool("words")],
    on: {
      words: [
        { stderr: `\nGET /?key=${secret} \u001b[31mfailed\u001b[0m\rERROR: not so bad\n` },
        { stderr: "half a " },
        { stderr: "line\n" },
        { result: { content: [{ type: "text", text: "after words" }] } },
      ],
    },
  });
  await using host = await startHost({
    config: {
      mcpServers: {
        chatty: { ...chatty.entry, env: { KEY: secret } },
        quiet: { ...quiet.entry, env: { KEY: secret } },
      },
    },
  });
  expect(await host.toolNames()).toHaveLength(3);
  expect(await host.callText("quiet__words")).toBe("after words");
  for (let i = 0; i < 3; i++) {
    expect(await host.callText("chatty__lines")).toBe("after lines");
    expect(await host.callText("chatty__endless")).toBe("after endless");
  }
  expect(await host.callText("quiet__words")).toBe("after words");
  await host.close();
  const chattyText = textOf(host, "chatty");
  const quietText = textOf(host, "quiet");
  expect(chattyText.some((line) => line.includes("a line of sixty-four"))).toBe(true);
  for (const words of ["failed", "not so bad", "half a line"]) {
    expect(
      quietText.some((line) => line.includes(words)),
      words,
    ).toBe(true);
    expect(
      chattyText.some((line) => line.includes(words)),
      words,
    ).toBe(false);
  }
  expect(quietText.join("\n")).not.toContain("\\u001b");
  expect(host.stderr).not.toContain(secret);
  expect(Math.max(...host.stderr.split("\n").map((line) => line.length)), "the longest line").toBeLessThan(20_000);
  // It is a log of what matters to a person, not a copy; nothing of it is an error, nor a reason to restart.
  expect([...chattyText, ...quietText].filter((line) => /"level":"(error|warn)"/.test(line))).toEqual([]);
  expect(chatty.starts()).toHaveLength(1);
});

test("at the usual log level a flood on stderr leaves a bounded trace", async () => {
  // F18
  await using dir = await tempDir();
  const chatty = stdioServer(dir, "chatty", {
    tools: [tool("t")],
    onStart: [
      { stderr: "starting up\n" },
      { stderr: "the same words again and again and again and again\n", times: 50_000 },
    ],
  });
  await using host = await startHost({ logLevel: "info", config: { mcpServers: { chatty: chatty.entry } } });
  expect(await host.callText("chatty__t")).toBe("chatty:t");
  await host.close();
  expect(host.stderr).toContain("starting up");
  expect(host.stderr.length).toBeLessThan(200_000);
});
