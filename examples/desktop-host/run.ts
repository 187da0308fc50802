/**
 * Reads the file of each host, starts the proxy exactly as its entry says and lists. Exit code 1 on a mismatch.
 *
 * The entries say `npx -y mcp-switchyard`. So that this needs no registry and shows this checkout, the package is laid out
 * beforehand where npx looks first; the user's configuration and the project's are copies of this folder's.
 */
import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface HostForm {
  readonly host: string;
  /** Its file, as it is called at its place. */
  readonly file: string;
  /** The member of the file that holds the entries. */
  readonly key: "mcpServers" | "servers";
  /** Where the host starts its servers. */
  readonly cwd: string;
  /** The host's own variables; Switchyard never sees them. */
  readonly expand: (text: string) => string;
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const windows = process.platform === "win32";

const place = realpathSync(mkdtempSync(join(tmpdir(), "switchyard-desktop-")));
const home = join(place, "home");
const project = join(place, "project");
const userFolder = windows ? join(home, "AppData", "Roaming") : join(home, ".config");

/** What a host gives its servers: little, and nothing of ours. */
const environment: Record<string, string> = {
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  USERPROFILE: home,
  APPDATA: userFolder,
  CLAUDE_PROJECT_DIR: project,
  npm_config_offline: "true",
  npm_config_update_notifier: "false",
  ...(windows ? { SYSTEMROOT: process.env["SYSTEMROOT"] ?? "", COMSPEC: process.env["COMSPEC"] ?? "" } : {}),
};

const asWritten = (text: string): string => text;
const workspace = (text: string): string => text.replaceAll(`\${workspaceFolder}`, project);
const shellLike = (text: string): string =>
  text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback = "") => environment[name] ?? fallback);

const hosts: readonly HostForm[] = [
  {
    host: "Claude Desktop",
    file: "claude-desktop/claude_desktop_config.json",
    key: "mcpServers",
    cwd: home,
    expand: asWritten,
  },
  { host: "Claude Code", file: "claude-code/.mcp.json", key: "mcpServers", cwd: project, expand: shellLike },
  { host: "Cursor", file: "cursor/.cursor/mcp.json", key: "mcpServers", cwd: project, expand: workspace },
  { host: "VS Code", file: "vscode/.vscode/mcp.json", key: "servers", cwd: project, expand: workspace },
];

function layOut(): void {
  for (const folder of [join(userFolder, "switchyard"), project]) {
    mkdirSync(folder, { recursive: true });
    copyFileSync(file("switchyard.json"), join(folder, "switchyard.json"));
    symlinkSync(file("servers"), join(folder, "servers"), "junction");
  }
  const root = file("../..");
  const installed = join(place, "node_modules", "mcp-switchyard");
  mkdirSync(installed, { recursive: true });
  copyFileSync(join(root, "package.json"), join(installed, "package.json"));
  for (const folder of ["bin", "dist"]) symlinkSync(join(root, folder), join(installed, folder), "junction");
  const commands = join(place, "node_modules", ".bin");
  mkdirSync(commands);
  if (windows) {
    writeFileSync(join(commands, "switchyard.cmd"), '@node "%~dp0..\\mcp-switchyard\\bin\\switchyard.js" %*\r\n');
  } else {
    const script = join(commands, "switchyard");
    writeFileSync(script, '#!/bin/sh\nexec node "$(dirname "$0")/../mcp-switchyard/bin/switchyard.js" "$@"\n');
    chmodSync(script, 0o755);
  }
}

function entryOf({ file: path, key, expand }: HostForm): Entry {
  const content = JSON.parse(readFileSync(file(path), "utf8")) as Record<string, Record<string, Entry>>;
  const entry = content[key]?.["switchyard"];
  assert(entry, `${path} has no entry "switchyard" under "${key}"`);
  const args = entry.args.map(expand);
  const env = Object.fromEntries(Object.entries(entry.env ?? {}).map(([name, value]) => [name, expand(value)]));
  return { command: expand(entry.command), args, env };
}

async function list(form: HostForm): Promise<string[]> {
  const { command, args, env } = entryOf(form);
  console.log(`${form.host} (${form.file})\n  starts ${[command, ...args].join(" ").replaceAll(place, "…")}`);
  const client = new Client({ name: form.host, version: "1.0.0" });
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...environment, ...env },
    cwd: form.cwd,
    stderr: "pipe",
  });
  let log = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  try {
    await client.connect(transport);
    for (const deadline = Date.now() + 20_000; ; ) {
      const { tools } = await client.listTools();
      // A server that is still starting comes later.
      if (tools.length >= 2 || Date.now() > deadline) return tools.map(({ name }) => name);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch (error) {
    console.error(log);
    throw error;
  } finally {
    await client.close();
  }
}

try {
  layOut();
  for (const form of hosts) {
    const tools = await list(form);
    console.log(`  lists  ${tools.join("  ")}`);
    // delete_all_notes is denied in the file, whichever host asks.
    assert.deepEqual(tools, ["notes__list_notes", "clock__now"]);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
console.log("desktop-host: as expected");
