/**
 * The command line: one command a file, exit codes as in interface.md (0 done, 1 failed at run time, 2 usage or
 * configuration error). Never ends the process: the caller sets the exit code, so that output still under way arrives.
 */
import { Command, CommanderError } from "commander";
import { ConfigError, Fault } from "../errors.ts";
import { addAudit } from "./audit/command.ts";
import { addCall } from "./call.ts";
import { addCheck } from "./check.ts";
import { addExplain } from "./explain.ts";
import { type Io, realIo, write } from "./io.ts";
import { addList } from "./list.ts";
import { addPin } from "./pin.ts";
import { addSchema } from "./schema.ts";
import { addServe } from "./serve.ts";
import { type Run, Shell, version } from "./shell.ts";

/** @param argv the arguments after the program's name. @returns the exit code */
export async function main(argv: readonly string[], io: Io = realIo()): Promise<number> {
  // Whoever reads stdout or stderr may go away; that must not end in an exception, least of all in its own report.
  for (const stream of [io.stdout, io.stderr]) stream.on("error", () => {});
  const shell = new Shell(io);
  let code = 0;
  const run: Run = async (work) => {
    code = await work(shell);
  };
  try {
    await build(io, argv, run).parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    await write(io.stderr, shell.redact(report(error, argv)));
    return error instanceof ConfigError ? 2 : 1;
  }
}

function build(io: Io, argv: readonly string[], run: Run): Command {
  // Whoever starts `serve` reads JSON-RPC from stdout and nothing else, help and version included.
  const out = argv.includes("serve") && argv[0] !== "help" ? io.stderr : io.stdout;
  const program = new Command("switchyard")
    .description("One MCP entry that stands for many servers.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void out.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => out.columns ?? 80,
      getErrHelpWidth: () => io.stderr.columns ?? 80,
    })
    .showHelpAfterError('See "switchyard --help", or --help after a command.')
    .version(version, "--version", "print the version")
    .addHelpText(
      "after",
      `
Exit codes: 0 done, 1 failed at run time, 2 usage or configuration error.

Example, as a host's only entry:
  "switchyard": { "command": "npx", "args": ["-y", "mcp-switchyard", "serve", "--config", "/path/to/switchyard.json"] }`,
    );
  for (const add of [addServe, addCheck, addList, addExplain, addCall, addPin, addAudit, addSchema]) add(program, run);
  return program;
}

function report(error: unknown, argv: readonly string[]): string {
  if (error instanceof ConfigError || error instanceof Fault) return `switchyard: ${error.message}\n`;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const level = argv[argv.indexOf("--log-level") + 1];
  if (level === "debug" || level === "trace") return `switchyard: unexpected error: ${stack ?? message}\n`;
  return `switchyard: unexpected error: ${message}. Run it again with --log-level debug for more.\n`;
}
