/** Promise: server-everything works through the proxy as it does by itself. On HTTP+SSE; the suite is in everything.ts. */
import { everythingBehaves } from "./everything.ts";
import { directRemote, everythingRemote } from "./peers.ts";

everythingBehaves({
  transport: "HTTP+SSE",
  exact: false,
  open: async (shared) => {
    // One process each: some of its state is shared by all sessions of a process.
    const [own, ours] = await Promise.all(
      [everythingRemote("sse"), everythingRemote("sse")].map(async (one) => shared.keep(await one)),
    );
    return {
      entry: { type: "sse", url: ours!.url("/sse") },
      direct: shared.use(await directRemote("sse", own!.url("/sse"))),
    };
  },
});
