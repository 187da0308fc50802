/** Promise: with `maxResultBytes` a result that is too large is cut where it can be, says so, and is never half of something. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

const IMAGE = { type: "image", mimeType: "image/png", data: "A".repeat(5_000) };

async function start(dir: TempDir, on: Record<string, unknown>, cap: number | { top: number; entry: number }) {
  const { top, entry } = typeof cap === "number" ? { top: cap, entry: undefined } : cap;
  const tools = Object.keys(on).filter((name) => !name.includes(":") && name !== "typed");
  const one = stdioServer(dir, "one", {
    tools: [...tools.map((name) => tool(name)), tool("typed", { outputSchema: { type: "object" } })],
    prompts: [{ name: "tell" }],
    resources: [{ uri: "docs://a", name: "a" }],
    on: Object.fromEntries(Object.entries(on).map(([name, result]) => [name, [{ result: result as object }]])),
  });
  const config = {
    mcpServers: { one: { ...one.entry, ...(entry === undefined ? {} : { maxResultBytes: entry }) } },
    ...(top === 0 ? {} : { maxResultBytes: top }),
    audit: { file: dir.file("audit.jsonl") },
  };
  const host = await startHost({ config });
  await host.toolNames();
  return host;
}

const lastRecord = (dir: TempDir) =>
  JSON.parse(readFileSync(dir.file("audit.jsonl"), "utf8").trimEnd().split("\n").at(-1)!);

async function call(host: Host, name: string) {
  const reply = await host.request("tools/call", { name: `one__${name}` });
  const text = rawAt(reply.raw, "result")!;
  return {
    text,
    bytes: Buffer.byteLength(text),
    result: reply.result as Record<string, unknown> & { content: Record<string, string>[] },
  };
}

test("a text is cut between two characters with a notice behind it, and the record has both sizes", async () => {
  await using dir = await tempDir();
  const long =
    '{"content":[{"type":"text","text":"' +
    "ä\\ud83d\\ude00€\\n".repeat(1_000) +
    '","annotations":{"n":1.0}}],"_meta":{"v":1.0}}';
  await using host = await start(dir, { long, small: { content: [{ type: "text", text: "x" }] } }, 2_000);
  const { text, bytes, result } = await call(host, "long");
  expect(bytes).toBeLessThanOrEqual(2_000);
  const [kept, notice] = result.content[0]!["text"]!.split("\n[");
  expect(notice).toMatch(/^cut by Switchyard: \d+ of 19000 bytes shown \(maxResultBytes 2000\)\]$/);
  expect("ä😀€\n".repeat(1_000).startsWith(kept!)).toBe(true);
  expect(kept).not.toMatch(/\p{Surrogate}/u);
  expect(kept!.length).toBeGreaterThan(300);
  // What is kept is kept as it came.
  expect(text).toContain('"annotations":{"n":1.0}');
  expect(text).toContain('"_meta":{"v":1.0}');
  expect(lastRecord(dir)).toMatchObject({
    outcome: "ok",
    truncated: { fromBytes: Buffer.byteLength(long), toBytes: bytes },
  });
  await call(host, "small");
  expect(lastRecord(dir)).not.toHaveProperty("truncated");
});

test("structured content is whole or not there; a tool that owes it answers with an error that says why", async () => {
  await using dir = await tempDir();
  const both = { content: [{ type: "text", text: "in short" }], structuredContent: { rows: "r".repeat(3_000) } };
  const typed = { ...both, structuredContent: { rows: ["r".repeat(3_000)] } };
  const fits = { content: [{ type: "text", text: "t".repeat(3_000) }], structuredContent: { a: 1 } };
  await using host = await start(dir, { both, fits, typed }, 1_024);
  const { result, bytes } = await call(host, "both");
  expect(bytes).toBeLessThanOrEqual(1_024);
  expect(result).not.toHaveProperty("structuredContent");
  expect(result.content[0]).toEqual({ type: "text", text: "in short" });
  expect(result.content[1]!["text"]).toMatch(
    /left out by Switchyard \(maxResultBytes 1024\): structuredContent \(3011 bytes\)/,
  );
  expect(result).not.toHaveProperty("isError");

  // What is small beside the text stays, whole.
  const cut = await call(host, "fits");
  expect(cut.result["structuredContent"]).toEqual({ a: 1 });
  expect(cut.result.content[0]!["text"]).toMatch(/^t+\n\[cut by Switchyard/);

  const owed = await call(host, "typed");
  expect(owed.result).not.toHaveProperty("structuredContent");
  // The tool has an output schema: common clients throw where there is neither structured content nor an error.
  expect(owed.result["isError"]).toBe(true);
  expect(lastRecord(dir)).toMatchObject({ outcome: "ok", truncated: {} });
});

test("images, blobs and what nobody knows are replaced by a note, and text behind them still comes", async () => {
  await using dir = await tempDir();
  const mixed = {
    content: [
      IMAGE,
      { type: "resource", resource: { uri: "docs://b", mimeType: "application/pdf", blob: "B".repeat(4_000) } },
      { type: "hologram", data: "C".repeat(3_000) },
      { type: "text", text: "behind" },
      { type: "resource", resource: { uri: "docs://t", text: "long ".repeat(1_000) } },
      { type: "text", text: "after the cut" },
    ],
  };
  await using host = await start(dir, { mixed }, 2_048);
  const { result, bytes } = await call(host, "mixed");
  expect(bytes).toBeLessThanOrEqual(2_048);
  const texts = result.content.map((block) => block["text"]);
  expect(texts[0]).toMatch(/^\[image image\/png of \d+ bytes left out by Switchyard/);
  expect(texts[1]).toMatch(/^\[resource application\/pdf docs:\/\/b of \d+ bytes left out/);
  expect(texts[2]).toMatch(/^\[hologram of \d+ bytes left out/);
  expect(texts[3]).toBe("behind");
  const resource = result.content[4]!["resource"] as unknown as { uri: string; text: string };
  expect(resource.uri).toBe("docs://t");
  expect(resource.text).toMatch(/long \n?\[?.*cut by Switchyard/s);
  expect(texts[5]).toMatch(/1 content blocks/);
});

test("prompts and resources are cut in the same way", async () => {
  await using dir = await tempDir();
  const text = "ü".repeat(4_000);
  await using host = await start(
    dir,
    {
      "prompt:tell": {
        messages: [
          { role: "user", content: { type: "text", text } },
          { role: "assistant", content: { type: "text", text: "never" } },
        ],
      },
      "resource:docs://a": {
        contents: [
          { uri: "docs://a", text },
          { uri: "docs://a#1", blob: "A".repeat(9_000) },
        ],
      },
    },
    1_500,
  );
  const prompt = await host.request("prompts/get", { name: "one__tell" });
  const messages = prompt.result!["messages"] as { role: string; content: { text: string } }[];
  expect(messages[0]!.content.text).toMatch(/^ü+\n\[cut by Switchyard/);
  expect(messages.at(-1)!.content.text).toMatch(/1 messages/);
  expect(lastRecord(dir)).toMatchObject({ method: "prompts/get", truncated: {} });
  const read = await host.request("resources/read", { uri: "docs://a" });
  const contents = read.result!["contents"] as { uri: string; text: string; blob?: string }[];
  expect(contents[0]!.text).toMatch(/^ü+\n\[cut by Switchyard/);
  expect(contents.every((one) => one.blob === undefined && typeof one.uri === "string")).toBe(true);
});

test("an entry's cap stands for the top level's, and 0 is none", async () => {
  await using dir = await tempDir();
  const long = { content: [{ type: "text", text: "x".repeat(50_000) }] };
  await using host = await start(dir, { long }, { top: 100, entry: 0 });
  expect((await call(host, "long")).result).toEqual(long);
});
