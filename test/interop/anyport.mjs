/**
 * Preload (`node --import`) for servers that listen on a port of their own choice: whatever they ask for, they get a free
 * one on 127.0.0.1, and one line on stderr says which.
 */
import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (...args) {
  const ready = args.at(-1);
  this.once("listening", () => process.stderr.write(`listening on port ${this.address().port}\n`));
  return listen.call(this, { port: 0, host: "127.0.0.1" }, ...(typeof ready === "function" ? [ready] : []));
};
