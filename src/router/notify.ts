/**
 * Where a server's notification goes: to whoever asked for it, and to nobody else (spec.md §4.15). What Switchyard does
 * not know passes as it came: it belongs to the host and the server.
 */
import type { Log } from "../log.ts";
import { addMember, replaceMember } from "../wire/edits.ts";
import type { Frame } from "../wire/frame.ts";
import { rowOf } from "../wire/methods.ts";
import { splice } from "../wire/splice.ts";
import type { Catalogue, ListMethod } from "./catalogue.ts";
import type { Elicitations } from "./elicitations.ts";
import type { Host } from "./hosts.ts";
import type { Levels } from "./levels.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface NotifyOptions {
  readonly catalogue: Catalogue;
  readonly subscriptions: Subscriptions;
  readonly levels: Levels;
  readonly elicitations: Elicitations;
  readonly log: Log;
  /** The hosts that this server's session serves. */
  hostsOf(server: string): Iterable<Host>;
}

/** A map, not an object: a server may call its notification "constructor". */
const CHANGED: ReadonlyMap<string, ListMethod> = new Map([
  ["notifications/tools/list_changed", "tools/list"],
  ["notifications/prompts/list_changed", "prompts/list"],
  ["notifications/resources/list_changed", "resources/list"],
]);

export class Notify {
  readonly #options: NotifyOptions;

  constructor(options: NotifyOptions) {
    this.#options = options;
  }

  /** A notification of `server` that is neither progress nor a cancellation: those belong to the connection. */
  fromServer(server: string, frame: Frame): void {
    const method = frame.method!;
    const list = CHANGED.get(method);
    if (list !== undefined) return this.#options.catalogue.refresh(server, list);
    if (method === "notifications/message") return this.#message(server, frame);
    if (method === "notifications/resources/updated") return this.#updated(server, frame);
    if (method === "notifications/elicitation/complete") return this.#completed(server, frame);
    if (method === "notifications/tasks/status") {
      // We advertise no tasks: this is about one that we drive ourselves, and its result is waited for.
      this.#options.log.debug({ server }, "a task status was dropped");
      return;
    }
    const row = rowOf(method);
    if (row !== undefined && (row.type === "request" || row.from === "host")) {
      this.#options.log.debug({ server, method }, "a notification that only a host may send was dropped");
      return;
    }
    for (const host of this.#options.hostsOf(server)) host.notify([frame.bytes]);
  }

  /** After a server came back: whatever changed meanwhile was missed, so its watchers are told to look (spec.md §3.5). */
  changedUnseen(server: string): void {
    for (const watch of this.#options.subscriptions.of(server)) this.#tell(server, watch.hosts, (uri) => uri);
  }

  #message(server: string, frame: Frame): void {
    const level = frame.string("level");
    const logger = frame.string("logger");
    const name = JSON.stringify(logger === undefined ? server : `${server}/${logger}`);
    const edit = frame.has("logger") ? replaceMember(frame, "logger", name) : addMember(frame, `"logger":${name}`);
    const chunks = frame.bytes[frame.bodyStart] === 0x7b ? splice(frame.bytes, [edit]) : [frame.bytes];
    for (const host of this.#options.hostsOf(server)) {
      if (this.#options.levels.allows(host.id, level)) host.notify(chunks);
    }
  }

  #updated(server: string, frame: Frame): void {
    const changed = frame.string("uri");
    const watch = changed === undefined ? undefined : this.#options.subscriptions.watchers(server, changed);
    if (changed === undefined || watch === undefined) {
      this.#options.log.debug({ server, uri: changed }, "an update of a resource that nobody watches was dropped");
      return;
    }
    // A sub-resource keeps its place under the URI that the host watches, alias or not.
    const below = changed.slice(watch.original.length);
    this.#tell(server, watch.hosts, (used) => used + below, frame);
  }

  /** `frame` is the server's own notification, of which everything but the URI is kept; without it one is made. */
  #tell(server: string, hosts: ReadonlyMap<string, string>, uriFor: (used: string) => string, frame?: Frame): void {
    for (const host of this.#options.hostsOf(server)) {
      const used = hosts.get(host.id);
      if (used === undefined) continue;
      const uri = JSON.stringify(uriFor(used));
      if (frame) host.notify(splice(frame.bytes, [replaceMember(frame, "uri", uri)]));
      else
        host.notify([
          Buffer.from(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${uri}}}`),
        ]);
    }
  }

  #completed(server: string, frame: Frame): void {
    const hostId = this.#options.elicitations.hostOf(server, frame.string("elicitationId"));
    for (const host of this.#options.hostsOf(server)) if (host.id === hostId) host.notify([frame.bytes]);
  }
}
