// What is measured and how each is started. All of them face the same host (host.mjs) and the same server (server.mjs).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RawHost } from "./host.mjs";
import { pause } from "./stats.mjs";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const { execPath: node } = process;

/** Tools of one server, and servers behind an aggregating proxy. */
const TOOLS = 20;
const SERVERS = ["s1", "s2", "s3"];
const server = (name) => ({ command: node, args: [file("./server.mjs"), name, String(TOOLS)] });

/** As its users run it: an audit file, a policy with a default and a rule, three servers. */
function switchyardConfig(directory) {
  const path = join(directory, "switchyard.json");
  const config = {
    mcpServers: Object.fromEntries(SERVERS.map((name) => [name, server(name)])),
    policy: { default: "deny", rules: [{ effect: "allow", servers: ["s*"], tools: ["*"] }] },
    audit: { file: join(directory, "audit.jsonl"), durability: "write" },
  };
  writeFileSync(path, JSON.stringify(config, null, 2));
  return path;
}

/** @type {Record<string, { title: string, aggregates: boolean, command: (directory: string, name: string) => string[] }>} */
export const subjects = {
  direct: {
    title: "DIRECT",
    aggregates: false,
    command: (_, name) => [server(name).command, ...server(name).args],
  },
  floor: {
    title: "FLOOR",
    aggregates: false,
    command: (_, name) => [node, file("./floor.mjs"), server(name).command, ...server(name).args],
  },
  switchyard: {
    title: "Switchyard",
    aggregates: true,
    command: (directory) => [node, file("../bin/switchyard.js"), "serve", "--config", switchyardConfig(directory)],
  },
  naive: {
    title: "naive",
    aggregates: true,
    command: () => [node, file("./naive.mjs"), JSON.stringify(SERVERS.map((name) => ({ name, ...server(name) })))],
  },
};

/** One running subject. */
export class Running {
  #directory = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
  #hosts;
  #prefix;

  /** `everything`: with all three servers; for what does not aggregate that is three processes side by side. */
  constructor(id, { everything = false } = {}) {
    this.id = id;
    const { aggregates, command } = subjects[id];
    const names = aggregates || !everything ? SERVERS.slice(0, 1) : SERVERS;
    // A cache of its own, empty at the start: what an earlier run has learnt must not help this one.
    const env = { XDG_CACHE_HOME: this.#directory };
    this.#hosts = names.map((name) => new RawHost(command(this.#directory, name), env));
    this.#prefix = aggregates ? "s1__" : "";
    this.expected = TOOLS * (aggregates ? SERVERS.length : names.length);
  }

  get host() {
    return this.#hosts[0];
  }

  /** Resolves when every tool is listed. */
  async ready() {
    await Promise.all(this.#hosts.map((host) => host.initialize()));
    const deadline = performance.now() + 15_000;
    for (;;) {
      const lists = await Promise.all(this.#hosts.map((host) => host.tools()));
      const count = lists.flat().length;
      if (count === this.expected) return;
      if (performance.now() > deadline) throw new Error(`only ${count} of ${this.expected} tools are listed`);
      await pause(10);
    }
  }

  /** Parameters of a call as JSON text. */
  params(tool, args, meta) {
    return JSON.stringify({
      name: this.#prefix + tool,
      arguments: args,
      ...(meta === undefined ? {} : { _meta: meta }),
    });
  }

  async close() {
    await Promise.all(this.#hosts.map((host) => host.close()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
