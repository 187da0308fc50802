/** `serve`: one host on stdin and stdout. stdout carries JSON-RPC only; everything for people is in the log, on stderr. */
import type { Command } from "commander";
import { ConfigError } from "../errors.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell, version } from "./shell.ts";

interface ServeOptions extends CommonOptions {
  http?: string | true;
}

export function addServe(program: Command, run: Run): void {
  addCommonOptions(program.command("serve").description("serve one host on stdin and stdout"))
    .option("--http [address]", "serve many hosts on HTTP ([host:]port); not supported by this version yet")
    .addHelpText("after", "\nExample:\n  switchyard serve --config switchyard.json")
    .action((options: ServeOptions) => run((shell) => serve(shell, options)));
}

async function serve(shell: Shell, options: ServeOptions): Promise<number> {
  if (options.http !== undefined) {
    throw new ConfigError(
      "serve --http is not supported by this version yet. Leave it out to serve on stdin and stdout.",
    );
  }
  const { io } = shell;
  const { config, log } = await shell.open(options);
  for (const warning of config.warnings) log.warn({}, warning);
  for (const { name, problems } of config.broken) {
    for (const problem of problems) log.error({ server: name }, `not started: ${problem}`);
  }
  const code = await io.engine.startServe({ config, log, version, env: io.env, input: io.stdin, output: io.stdout });
  await leave(shell, code);
  return code;
}

/** A log that the host does not read keeps a process alive that has nothing left to do: half a second, then it is lost. */
async function leave({ io }: Shell, code: number): Promise<void> {
  // Answers that the host has not read by now will not be read; a pipe that nobody empties would keep us here for ever.
  if (io.stdout.writableLength > 0) return io.exit(code);
  if (io.stderr.writableLength === 0) return;
  const flushed = new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, 500, false);
    io.stderr.write("", () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  if (!(await flushed)) io.exit(code);
}
