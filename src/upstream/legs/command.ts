/**
 * From an entry's `command` and `args` to what is really started. Looks a bare name up itself, because the error of
 * `spawn` says neither what was missing nor where it was sought, and because Windows needs the file's real kind.
 *
 * Where a bare name is sought (field report L2):
 *  1. the entry's own `env.PATH`, if it sets one, and nowhere else;
 *  2. otherwise our PATH;
 *  3. and behind it, if it is not there, the places that a host started from a desktop does not have on its PATH: the
 *     directory of the Node that runs us and the usual ones of the user's package managers (`fallbackDirectories`).
 * The child gets the PATH on which its command was found. A command given with a path has its directory put behind PATH,
 * since `npx` finds `node` beside itself.
 */
import { accessSync, constants, statSync } from "node:fs";
import { posix, win32 } from "node:path";
import type { StdioTarget } from "../../config/types.ts";
import { LegError } from "../../wire/leg.ts";
import { batchCommandLine, executableNames, isBatchFile } from "./command-windows.ts";
import { lookUp } from "./environment.ts";

export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Windows: `args` are a finished command line. */
  readonly verbatim: boolean;
}

/** What the file system says; tests put their own in. */
export interface Lookup {
  readonly platform: NodeJS.Platform;
  readonly cwd: string;
  readonly execPath: string;
  file(path: string): "executable" | "not-executable" | "missing";
}

const realLookup: Lookup = {
  platform: process.platform,
  get cwd() {
    return process.cwd();
  },
  execPath: process.execPath,
  file(path) {
    try {
      if (!statSync(path).isFile()) return "missing";
    } catch {
      return "missing";
    }
    try {
      accessSync(path, constants.X_OK);
      return "executable";
    } catch {
      return "not-executable";
    }
  },
};

function fallbackDirectories(env: Readonly<Record<string, string>>, lookup: Lookup): string[] {
  if (lookup.platform === "win32") return [win32.dirname(lookup.execPath)];
  const home = env["HOME"];
  const user = [".local/bin", ".volta/bin", ".bun/bin", ".deno/bin", ".cargo/bin"];
  return [
    posix.dirname(lookup.execPath),
    ...["/usr/local/bin", "/opt/homebrew/bin"],
    ...(home === undefined ? [] : user.map((directory) => posix.join(home, directory))),
  ];
}

/** `env` is the child's environment, made by `childEnvironment`. Throws a LegError that says what to do. */
export function planLaunch(
  target: StdioTarget,
  env: Readonly<Record<string, string>>,
  lookup: Lookup = realLookup,
): Launch {
  const windows = lookup.platform === "win32";
  const { resolve, dirname, delimiter } = windows ? win32 : posix;
  const cwd = target.cwd === undefined ? lookup.cwd : resolve(lookup.cwd, target.cwd);
  const path = lookUp(env, "PATH", lookup.platform);
  const ownPath = lookUp(target.env, "PATH", lookup.platform).value !== undefined;
  const directories = (path.value ?? "").split(delimiter).filter((directory) => directory !== "");
  const names = windows
    ? executableNames(target.command, lookUp(env, "PATHEXT", lookup.platform).value)
    : [target.command];
  let refused: string | undefined;

  const find = (directory: string): string | undefined => {
    for (const name of names) {
      const file = resolve(directory, name);
      const kind = lookup.file(file);
      if (kind === "executable") return file;
      if (kind === "not-executable") refused ??= file;
    }
    return undefined;
  };
  const launch = (file: string, behindPath: readonly string[]): Launch => {
    // The PATH is left as it was written unless something is put behind it.
    const longer = [...directories, ...behindPath].join(delimiter);
    const childEnv = behindPath.length === 0 ? env : { ...env, [path.key]: longer };
    if (!windows || !isBatchFile(file)) return { file, args: target.args, env: childEnv, verbatim: false };
    const args = batchCommandLine(file, target.args);
    if (args === undefined) {
      const message = `an argument with a line break cannot be passed to the batch file ${file}`;
      throw new LegError("closed", message, { delivered: "no" });
    }
    return { file: lookUp(env, "COMSPEC", "win32").value ?? "cmd.exe", args, env: childEnv, verbatim: true };
  };

  if (windows ? /[\\/]/.test(target.command) : target.command.includes("/")) {
    const file = find(cwd);
    if (file === undefined) throw notFound(refused, target.command, undefined);
    const beside = dirname(file);
    return launch(file, ownPath || directories.includes(beside) ? [] : [beside]);
  }
  for (const directory of directories) {
    const file = find(resolve(cwd, directory));
    if (file !== undefined) return launch(file, []);
  }
  const more = ownPath ? [] : fallbackDirectories(env, lookup).filter((directory) => !directories.includes(directory));
  for (const directory of more) {
    const file = find(directory);
    if (file !== undefined) return launch(file, more);
  }
  throw notFound(refused, target.command, [...directories, ...more].join(delimiter));
}

function notFound(refused: string | undefined, command: string, searched: string | undefined): LegError {
  if (refused !== undefined) {
    return new LegError("closed", `permission denied: ${refused} is not executable (chmod +x it)`, { delivered: "no" });
  }
  const message =
    searched === undefined
      ? `command not found: ${command} (there is no such file; a relative path starts at "cwd")`
      : `command not found: ${command} (searched PATH: ${searched}). Install it, give its full path as "command", ` +
        `or set PATH in the entry's "env"`;
  return new LegError("closed", message, { delivered: "no" });
}
