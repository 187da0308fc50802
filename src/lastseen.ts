/**
 * What each server offered last time, kept in the user's cache directory: it stands in at the next start until the server
 * has answered, so that a slow one (`npx` that downloads first) does not cost the host its first list. One file a server,
 * mode 0600, named by a hash of its entry: a changed entry starts afresh. Definitions only, nothing of the configuration.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { ServerConfig } from "./config/types.ts";
import type { Log } from "./log.ts";
import type { Catalogue, ListMethod, StoredLists } from "./router/catalogue.ts";
import { members } from "./wire/values.ts";

/** Larger catalogues are not kept: reading them would cost more than it saves. */
const LIMIT_BYTES = 8 * 1024 * 1024;
/** How long after a server said what it offers that is written down. */
const KEEP_MS = 3000;

export function cacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = env.HOME ?? homedir();
  const base =
    env.XDG_CACHE_HOME ??
    (platform === "win32" ? (env.LOCALAPPDATA ?? path.join(home, "AppData", "Local")) : path.join(home, ".cache"));
  return path.join(base, "switchyard", "lists");
}

export class LastSeen {
  readonly #folder: string;
  readonly #log: Log;
  /** What is in each file, so that it is written only when it changed. */
  readonly #kept = new Map<string, string>();
  readonly #soon = new Map<string, { readonly timer: NodeJS.Timeout; readonly keep: () => Promise<void> }>();

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Gives the catalogue what is known of these servers. What cannot be read or is damaged counts as never seen. */
  async restore(servers: readonly ServerConfig[], catalogue: Catalogue): Promise<void> {
    await Promise.all(
      servers.map(async (server) => {
        const file = this.#file(server);
        const text = await readFile(file, "utf8").catch(() => undefined);
        const lists = text === undefined ? undefined : parse(text);
        if (text === undefined || lists === undefined) return;
        this.#kept.set(file, text);
        catalogue.restore(server.name, lists);
      }),
    );
  }

  /** Not at once: the lists are being walked, and a server that changes them often is written seldom. */
  keepSoon(server: ServerConfig, stored: () => StoredLists): void {
    const { name } = server;
    if (this.#soon.has(name)) return;
    const keep = async (): Promise<void> => {
      this.#soon.delete(name);
      const lists = stored();
      // A server that was not walked to the end of one list has nothing whole to keep.
      if (lists.size > 0) await this.#keep(server, lists);
    };
    this.#soon.set(name, { timer: setTimeout(() => void keep(), KEEP_MS).unref(), keep });
  }

  /** Writes at once what was to be written soon. */
  async close(): Promise<void> {
    const open = [...this.#soon.values()];
    for (const { timer } of open) clearTimeout(timer);
    await Promise.all(open.map(({ keep }) => keep()));
  }

  /** Writes what a server offers now, whole or not at all. A folder that cannot be written costs a debug line. */
  async #keep(server: ServerConfig, lists: StoredLists): Promise<void> {
    const file = this.#file(server);
    const text = `{${[...lists].map(([method, items]) => `${JSON.stringify(method)}:${items.toString("utf8")}`).join(",\n")}}`;
    if (text.length > LIMIT_BYTES || this.#kept.get(file) === text) return;
    this.#kept.set(file, text);
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const draft = `${file}.${process.pid}`;
      await writeFile(draft, text, { mode: 0o600 });
      await rename(draft, file);
    } catch (error) {
      this.#log.debug({ server: server.name, file, reason: String(error) }, "what it offers could not be kept");
    }
  }

  #file({ name, target }: ServerConfig): string {
    const digest = createHash("sha256")
      .update(JSON.stringify([name, target]))
      .digest("hex");
    return path.join(this.#folder, `${digest.slice(0, 32)}.json`);
  }
}

/** Cut out of the text, not parsed and written again: a definition must come back as it was sent. */
function parse(text: string): StoredLists | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const bytes = Buffer.from(text);
  const { keys, spans } = members(bytes, 0, bytes.length);
  return new Map(keys.map((key, i) => [key as ListMethod, bytes.subarray(spans[2 * i], spans[2 * i + 1])]));
}
