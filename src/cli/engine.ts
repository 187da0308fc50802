/** What the commands need of the proxy. Loaded when a command runs servers: `check` and `schema` start without it. */
import type { startClient } from "../client.ts";
import type { startServe } from "../serve.ts";

export interface Engine {
  readonly startServe: typeof startServe;
  readonly startClient: typeof startClient;
}

export const engine: Engine = {
  startServe: async (options) => (await import("../serve.ts")).startServe(options),
  startClient: async (options) => (await import("../client.ts")).startClient(options),
};
