/** Promise: server-everything works through the proxy as it does by itself. On Streamable HTTP; see everything.ts. */
import { everythingBehaves } from "./everything.ts";
import { directRemote, everythingRemote } from "./peers.ts";

everythingBehaves({
  transport: "Streamable HTTP",
  exact: false,
  open: async (shared) => {
    const url = shared.use(await everythingRemote("streamableHttp")).url("/mcp");
    return { entry: { type: "http", url }, direct: shared.use(await directRemote("http", url)) };
  },
});
