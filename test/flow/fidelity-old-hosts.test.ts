/** Promise: a host of an older revision is not sent kinds of content that its revision does not know. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

const rich = {
  content: [
    { type: "text", text: "t" },
    { type: "audio", data: "AA==", mimeType: "audio/wav" },
    { type: "resource_link", uri: "x://1", name: "one" },
  ],
  structuredContent: { n: 1 },
};

test("links, audio and structured content become what the host's revision knows", async () => {
  // R112, §1.20
  await using dir = await tempDir();
  const server = stdioServer(dir, "s", { tools: [tool("rich")], on: { rich: [{ result: rich }] } });
  const seen: Record<string, { types: string[]; structured: boolean; text: string }> = {};
  for (const protocolVersion of ["2024-11-05", "2025-03-26", "2025-06-18"]) {
    await using host = await startHost({ config: { mcpServers: { s: server.entry } }, protocolVersion });
    const result = await host.call("s__rich");
    const content = result["content"] as { type: string }[];
    seen[protocolVersion] = {
      types: content.map(({ type }) => type),
      structured: "structuredContent" in result,
      text: JSON.stringify(content),
    };
  }
  expect(seen["2025-06-18"]).toMatchObject({ types: ["text", "audio", "resource_link"], structured: true });
  expect(seen["2025-03-26"]).toMatchObject({ types: ["text", "audio", "text"], structured: false });
  expect(seen["2024-11-05"]).toMatchObject({ types: ["text", "text", "text"], structured: false });
  expect(seen["2025-03-26"]!.text).toContain("one: x://1");
});
