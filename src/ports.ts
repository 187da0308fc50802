/** Introduces an upstream connection to the router: as a port to send through and as a source of lists. */
import type { Log } from "./log.ts";
import type { ListMethod, Source } from "./router/catalogue.ts";
import type { ServerPort } from "./router/ports.ts";
import type { Connection } from "./upstream/connection.ts";
import { addMember, rewrite } from "./wire/edits.ts";
import type { Capability } from "./wire/methods.ts";
import { requestFrame } from "./wire/splice.ts";
import { atLeast } from "./wire/version.ts";

type Facts = Readonly<Record<string, unknown>>;

function at(value: unknown, ...path: readonly string[]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Facts)[key];
  }
  return here;
}

function declares(capabilities: Facts | undefined, capability: Capability): boolean {
  if (capability === "subscribe") return at(capabilities, "resources", "subscribe") === true;
  return typeof at(capabilities, capability) === "object" && at(capabilities, capability) !== null;
}

export function serverPort(connection: Connection, log: Log): ServerPort {
  return {
    name: connection.name,
    config: connection.server,
    get ready() {
      return connection.state === "ready";
    },
    get runsTasks() {
      return typeof at(connection.hello?.capabilities, "tasks", "requests", "tools", "call") === "object";
    },
    declares: (capability) => declares(connection.hello?.capabilities, capability),
    atLeast: (revision) => connection.hello !== undefined && atLeast(connection.hello.revision, revision),
    request: (request) => connection.request(request),
    requestAsTask: (request) => connection.requestAsTask(request),
    notify: (chunks) => connection.notify(chunks),
    note: (what, error) => {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn({ server: connection.name, what, reason }, "a request of our own failed");
    },
  };
}

const CAPABILITY: { readonly [method in ListMethod]: Capability } = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resources",
};

export function source(connection: Connection): Source {
  return {
    name: connection.name,
    rank: connection.server.rank,
    get ready() {
      return connection.state === "ready";
    },
    offers: (method) =>
      connection.hello === undefined ? undefined : declares(connection.hello.capabilities, CAPABILITY[method]),
    settled: () => connection.settled(),
    page: (method, cursorText) => {
      const frame = requestFrame(method, {});
      // The cursor is the server's own: it goes back as the text it came in, escapes and all.
      const edits = cursorText === undefined ? [] : [addMember(frame, `"cursor":${cursorText}`)];
      // A list is never worth more waiting than the server's start: a mute one is asked again later (field report B6).
      const { timeouts: own } = connection.server;
      const timeouts = own.totalMs === 0 ? { ...own, totalMs: own.connectMs } : own;
      return connection.request({
        method,
        compose: (id) => rewrite(frame, id, edits),
        cancellation: undefined,
        timeouts,
      });
    },
  };
}
