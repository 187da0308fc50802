/** The real servers of this folder's tests: how they are started, as an entry of ours and directly. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Host, type PeerOptions, startPeer } from "../support/host.ts";
import { until } from "../support/until.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const npm = (path: string): string => here(`../../node_modules/${path}`);

export const BIN = here("../../bin/switchyard.js");
export const INSPECTOR = npm("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
export const EVERYTHING = npm("@modelcontextprotocol/server-everything/dist/index.js");
export const PDF_PAGE = npm("@modelcontextprotocol/server-pdf/dist/mcp-app.html");

/** How long a file's servers may take to start on a busy machine. */
export const START_MS = 60_000;

/** Everything that a host of this era can offer. */
export const CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

/** For our configuration: timers of their own keep some servers alive after EOF, and nothing is gained by waiting for them. */
export const PATIENCE = { drainMs: 300 };

export interface Entry {
  readonly command: string;
  readonly args: string[];
  readonly env?: Record<string, string>;
}

function entry(path: string, args: string[], env?: Record<string, string>): Entry {
  return { command: process.execPath, args: [path, ...args], ...(env === undefined ? {} : { env }) };
}

export const everything = (): Entry => entry(EVERYTHING, ["stdio"]);
export const filesystem = (...folders: string[]): Entry =>
  entry(npm("@modelcontextprotocol/server-filesystem/dist/index.js"), folders);
export const memory = (file: string): Entry =>
  entry(npm("@modelcontextprotocol/server-memory/dist/index.js"), [], { MEMORY_FILE_PATH: file });
export const thinking = (): Entry => entry(npm("@modelcontextprotocol/server-sequential-thinking/dist/index.js"), []);
export const fetching = (): Entry => entry(npm("mcp-fetch-server/dist/index.js"), []);
/** It writes `tmp.js` and the like into the folder for temporary files, always under the same name. */
export const runner = (folder: string): Entry =>
  entry(npm("mcp-server-code-runner/dist/cli.js"), [], { TMPDIR: folder });
export const pdf = (): Entry => entry(npm("@modelcontextprotocol/server-pdf/dist/index.js"), ["--stdio"]);
/** An example of the SDK that runs on stdio. */
export const example = (name: string): Entry =>
  entry(npm(`@modelcontextprotocol/sdk/dist/esm/examples/server/${name}.js`), []);

/** The server itself, without us. Timers of its own may keep it alive after EOF, so it is told to end. */
export async function direct(one: Entry, options: PeerOptions = {}): Promise<Host> {
  const host = await startPeer(one.command, one.args, {
    noisy: true,
    capabilities: CAPABILITIES,
    ...options,
    env: { ...one.env },
  });
  const end = host[Symbol.asyncDispose].bind(host);
  host[Symbol.asyncDispose] = () => {
    host.child.kill();
    return end();
  };
  return host;
}

/** A remote server, through the SDK's client transport. */
export function directRemote(kind: "http" | "sse", url: string, options: PeerOptions = {}): Promise<Host> {
  const args = [here("bridge.mjs"), kind, url];
  return startPeer(process.execPath, args, { capabilities: CAPABILITIES, ...options });
}

export interface Remote extends AsyncDisposable {
  /** Of the n-th server of this process. */
  url(path: string, n?: number): string;
}

/** A process with HTTP servers, on free ports. */
export async function startRemote(path: string, args: string[], servers = 1): Promise<Remote> {
  const child = spawn(process.execPath, ["--import", new URL("anyport.mjs", import.meta.url).href, path, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let stderr = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const ports = (): string[] => [...stderr.matchAll(/^listening on port (\d+)$/gm)].map(([, port]) => port!);
  try {
    await until(() => ports().length === servers || child.exitCode !== null, {
      what: `${path} to listen`,
      within: 20_000,
    });
    if (child.exitCode !== null) throw new Error("it has ended");
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${stderr.slice(-2000)}`);
  }
  const found = ports();
  return {
    url: (where, n = 0) => `http://127.0.0.1:${found[n]}${where}`,
    [Symbol.asyncDispose]: stop,
  };
}

export const everythingRemote = (kind: "streamableHttp" | "sse"): Promise<Remote> => startRemote(EVERYTHING, [kind]);
export const exampleServers = (...names: string[]): Promise<Remote> =>
  startRemote(here("several.mjs"), names, names.length);

/** What a file's tests share. All of it is ended, whatever fails. */
export class Shared {
  readonly #things: AsyncDisposable[] = [];
  readonly #kept: AsyncDisposable[] = [];

  /** Ended at the end, at the same time as the others. */
  use<T extends AsyncDisposable>(thing: T): T {
    this.#things.push(thing);
    return thing;
  }

  readonly start = async <T extends AsyncDisposable>(starting: Promise<T>): Promise<T> => this.use(await starting);

  /** Ended when none of the others is there to use it. */
  keep<T extends AsyncDisposable>(thing: T): T {
    this.#kept.push(thing);
    return thing;
  }

  async end(): Promise<void> {
    const errors: unknown[] = [];
    for (const things of [this.#things, this.#kept]) {
      const ends = await Promise.allSettled(things.splice(0).map(async (thing) => thing[Symbol.asyncDispose]()));
      for (const end of ends) if (end.status === "rejected") errors.push(end.reason);
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join("\n"));
  }
}
