/** Loads a configuration from text or value, in a folder that is gone afterwards. */
import { writeFileSync } from "node:fs";
import { loadConfig } from "../../src/config/load.ts";
import type { Config, ServerConfig } from "../../src/config/types.ts";
import { tempDir } from "../support/dir.ts";

export async function load(content: string | object | Uint8Array, env: NodeJS.ProcessEnv = {}): Promise<Config> {
  await using dir = await tempDir();
  const file = dir.file("switchyard.json");
  const isText = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(file, isText ? content : JSON.stringify(content, null, 2));
  return await loadConfig(file, env);
}

/** The message of the ConfigError that loading throws, without the folder's path. */
export async function refusal(content: string | object | Uint8Array, env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    await load(content, env);
  } catch (error) {
    if ((error as Error).name !== "ConfigError") throw error;
    return shorten((error as Error).message);
  }
  throw new Error("it was accepted");
}

/** Loads one entry called "files" that must be valid. */
export async function loadEntry(
  entry: object,
  env: NodeJS.ProcessEnv = {},
): Promise<ServerConfig & { config: Config }> {
  const config = await load({ mcpServers: { files: entry } }, env);
  if (config.broken.length > 0) throw new Error(config.broken[0]!.problems.join("\n"));
  return { ...config.servers[0]!, config };
}

/** The problems of one entry called "files", and proof that its neighbour goes on. */
export async function problemsOf(entry: unknown, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const config = await load({ mcpServers: { files: entry, other: { command: "x" } } }, env);
  if (config.servers.map(({ name }) => name).join() !== "other")
    throw new Error("files was accepted, or other was not");
  return config.broken.flatMap(({ problems }) => problems.map(shorten));
}

export function shorten(text: string): string {
  return text.replaceAll(/\S*[\\/](switchyard\.json)/g, "$1");
}
