import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

test("a configuration that starts itself, directly or through another, ends after a handful of processes and says so", async () => {
  // E8
  await using dir = await tempDir();
  const bin = path.resolve(import.meta.dirname, "../../bin/switchyard.js");
  const serve = (file: string) => ({ command: process.execPath, args: [bin, "serve", "--config", file] });
  const file = path.join(dir.path, "loop.json");
  const other = path.join(dir.path, "other.json");
  const ok = stdioServer(dir, "ok", { tools: [tool("t")] });
  writeFileSync(file, JSON.stringify({ mcpServers: { self: serve(file), other: serve(other), ok: ok.entry } }));
  writeFileSync(other, JSON.stringify({ mcpServers: { back: serve(file) } }));
  await using host = await startHost({ config: file });
  await until(() => /a parent of this process serves this file already/.test(host.stderr), { what: "the reason" });
  expect(await host.toolNames()).toContain("ok__t");
  expect(ok.starts()).toHaveLength(1);
});
