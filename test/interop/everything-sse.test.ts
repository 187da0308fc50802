/** Promise: server-everything works through the proxy as it does by itself. On HTTP+SSE; the suite is in everything.ts. */
import { everythingBehaves } from "./everything.ts";
import { directRemote, everythingRemote } from "./peers.ts";

everythingBehaves({
  transport: "HTTP+SSE",
  exact: false,
  open: async (shared) => {
    const url = shared.use(await everythingRemote("sse")).url("/sse");
    return { entry: { type: "sse", url }, direct: shared.use(await directRemote("sse", url)) };
  },
});
