import { readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

test("what a server offered last time stands in while it is starting, and list_changed tells of a difference", async () => {
  await using dir = await tempDir();
  await using home = await tempDir();
  const slow = stdioServer(dir, "slow", { tools: [tool("old")], instructions: "first" });
  const config = { timeouts: { startupMs: 20_000 }, mcpServers: { slow: slow.entry } };
  {
    await using host = await startHost({ config, home: home.path });
    expect(await host.toolNames()).toEqual(["slow__old"]);
    await host.close();
  }
  const lists = path.join(home.path, ".cache", "switchyard", "lists");
  const files = readdirSync(lists);
  expect(files).toHaveLength(1);
  expect(statSync(path.join(lists, files[0]!)).mode & 0o777).toBe(0o600);

  slow.rewrite({ tools: [tool("old"), tool("new")], startDelayMs: 1500 });
  {
    await using host = await startHost({ config: { ...config, timeouts: { startupMs: 50 } }, home: home.path });
    expect(await host.toolNames()).toEqual(["slow__old"]);
    await host.notification("notifications/tools/list_changed");
    expect(await host.toolNames()).toEqual(["slow__old", "slow__new"]);
    await host.close();
  }

  writeFileSync(path.join(lists, files[0]!), '{"tools/list":[{"na');
  await using host = await startHost({ config, home: home.path });
  expect(await host.toolNames()).toEqual(["slow__old", "slow__new"]);
});
