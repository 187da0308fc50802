/** `several.mjs NAME…`: examples of the SDK that are HTTP servers, in one process; with `anyport.mjs`, one port each, in order. */
import { once } from "node:events";
import { Server } from "node:net";

const FOLDER = new URL("../../node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/", import.meta.url);
const listen = Server.prototype.listen;

for (const name of process.argv.slice(2)) {
  let server;
  Server.prototype.listen = function (...args) {
    server = this;
    return listen.apply(this, args);
  };
  await import(new URL(`${name}.js`, FOLDER).href);
  if (!server.listening) await once(server, "listening");
}
