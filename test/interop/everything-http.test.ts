/** Promise: server-everything works through the proxy as it does by itself. On Streamable HTTP; see everything.ts. */
import { everythingBehaves } from "./everything.ts";
import { directRemote, everythingRemote } from "./peers.ts";

everythingBehaves({
  transport: "Streamable HTTP",
  exact: false,
  open: async (shared) => {
    // One process each: some of its state is shared by all sessions of a process.
    const [own, ours] = await Promise.all(
      [everythingRemote("streamableHttp"), everythingRemote("streamableHttp")].map(async (one) =>
        shared.keep(await one),
      ),
    );
    return {
      entry: { type: "http", url: ours!.url("/mcp") },
      direct: shared.use(await directRemote("http", own!.url("/mcp"))),
    };
  },
});
