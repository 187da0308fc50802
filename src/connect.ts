/** Makes the connection to one server out of its entry: which leg, under whose name, with which secrets out of its stderr. */
import type { Config, ServerConfig } from "./config/types.ts";
import type { Log } from "./log.ts";
import { makeRedactor } from "./redact/redact.ts";
import { Connection, type ConnectionOptions } from "./upstream/connection.ts";
import { createLeg } from "./upstream/legs/create.ts";

export interface ConnectOptions {
  readonly config: Config;
  readonly log: Log;
  readonly version: string;
  readonly env?: NodeJS.ProcessEnv;
}

export type ConnectionEvents = Pick<ConnectionOptions, "onReady" | "onDown" | "onNotification" | "onQuestion">;

export function connect(
  server: ServerConfig,
  { config, log, version, env }: ConnectOptions,
  events: ConnectionEvents,
): Connection {
  const { text: redact } = makeRedactor({ secrets: config.secrets, redactKeys: config.audit?.redactKeys ?? [] });
  return new Connection({
    server,
    version,
    log,
    createLeg: () =>
      createLeg({
        server: server.name,
        target: server.target,
        log,
        maxMessageBytes: config.maxMessageBytes,
        redact,
        ...(env ? { baseEnv: env } : {}),
      }),
    ...events,
  });
}
