/** Which file is the configuration, when the command line may or may not say so (interface.md, Command line). */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import { ConfigError } from "../errors.ts";

/**
 * The absolute path of the configuration file: `explicit`, else $SWITCHYARD_CONFIG, else the first that exists of
 * ./switchyard.json and the user's one. The first two need not exist: reading them gives the better error.
 * @throws ConfigError naming every place that was searched
 */
export function findConfig(
  explicit: string | undefined,
  env: NodeJS.ProcessEnv,
  cwd: string,
  platform: NodeJS.Platform,
): string {
  const path = platform === "win32" ? win32 : posix;
  if (explicit !== undefined) {
    if (explicit === "") throw new ConfigError("--config is empty. Give the path of a configuration file.");
    return path.resolve(cwd, explicit);
  }
  const named = env["SWITCHYARD_CONFIG"];
  if (named !== undefined && named !== "") return path.resolve(cwd, expandHome(named, env, platform));

  const searched = ["--config (not given)", "$SWITCHYARD_CONFIG (not set)"];
  for (const candidate of [path.resolve(cwd, "switchyard.json"), userConfig(env, platform)]) {
    if (isFile(candidate)) return candidate;
    searched.push(`${candidate} (does not exist)`);
  }
  throw new ConfigError(
    `no configuration file was found. Searched, in this order:\n${searched.map((place) => `  ${place}`).join("\n")}\n` +
      "Create one of them or name the file with --config FILE.",
  );
}

function userConfig(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = homeOf(env, platform);
  if (platform === "win32") {
    const appData = env["APPDATA"];
    return win32.join(appData || win32.join(home, "AppData", "Roaming"), "switchyard", "switchyard.json");
  }
  const base = env["XDG_CONFIG_HOME"];
  // The XDG specification: a relative path is invalid and to be ignored.
  return posix.join(base?.startsWith("/") ? base : posix.join(home, ".config"), "switchyard", "switchyard.json");
}

/** `~` and `~/…` (on Windows `~\…` too); anything else, `~name` included, is left as it is. */
export function expandHome(text: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (text !== "~" && !text.startsWith("~/") && !(platform === "win32" && text.startsWith("~\\"))) return text;
  return homeOf(env, platform) + text.slice(1);
}

function homeOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  return (platform === "win32" ? env["USERPROFILE"] : env["HOME"]) || homedir();
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
