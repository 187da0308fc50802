/** Promise: server-everything works through the proxy as it does by itself. On stdio; the suite is in everything.ts. */
import { expect, test } from "vitest";
import { startHost } from "../support/host.ts";
import { everythingBehaves } from "./everything.ts";
import { Pair } from "./pair.ts";
import { direct, everything } from "./peers.ts";

everythingBehaves({
  transport: "stdio",
  exact: true,
  open: async (shared) => ({ entry: everything(), direct: shared.use(await direct(everything())) }),
});

test("a host that can do nothing special sees the 13 tools that the server has for such hosts", async () => {
  await using own = await direct(everything(), { capabilities: {} });
  await using proxied = await startHost({ config: { mcpServers: { ev: everything() } } });
  const pair = new Pair({ direct: own, proxied, server: "ev" });
  const names = (await own.toolNames()).map((name) => pair.publicName(name));
  expect(names).toHaveLength(13);
  expect(await proxied.toolNames()).toEqual(names);
  await proxied.callText(pair.publicName("echo"), { message: "all is read that came before" });
  expect(proxied.requests).toEqual([]);
});
