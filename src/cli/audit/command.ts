/**
 * `audit`: reading, checking and converting audit files. Needs no server and, where files are named, no configuration.
 * What does it is loaded when it is asked for.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Run } from "../shell.ts";

const FILES =
  "audit files; the file that is written stands for its rotated ones, too (default: that of the configuration)";
const outcomes = ["ok", "tool_error", "error", "denied", "cancelled", "timeout", "lost"];
const CONFIG = "configuration file that names the audit file";

export function addAudit(program: Command, run: Run): void {
  const audit = program.command("audit").description("read, check and convert audit files");

  audit
    .command("verify")
    .description("re-compute the hash chain and name the first line that was altered, removed or put in")
    .argument("[files...]", FILES)
    .option("--config <file>", CONFIG)
    .option("--public-key <file>", "Ed25519 public key (PEM) of the checkpoints; may be given several times", collect)
    .option("--contains <seq:hash>", "a record that must be there, as an earlier verify said it", parseContains)
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  switchyard audit verify audit.jsonl --public-key audit.pub.pem")
    .action((files: string[], options) =>
      run(async (shell) => (await import("./verify.ts")).verify(shell, files, options)),
    );

  filtered(
    audit
      .command("tail")
      .description("show the last records, one a line")
      .argument("[file]", "audit file (default: that of the configuration)")
      .option("--config <file>", CONFIG)
      .option("-f, --follow", "go on with what is written from now on, across rotation")
      .option("-n, --lines <count>", "how many (default: 10; with --since all)", parseCount)
      .option("--json", "print the lines as they are"),
  )
    .addHelpText("after", "\nExample:\n  switchyard audit tail -f --outcome denied audit.jsonl")
    .action((file: string | undefined, options) =>
      run(async (shell) => (await import("./tail.ts")).tail(shell, file, options)),
    );

  filtered(
    audit
      .command("export")
      .description("convert records for spreadsheets or for OpenTelemetry")
      .argument("[files...]", FILES)
      .option("--config <file>", CONFIG)
      .addOption(
        new Option("--format <format>", "csv, or otlp-json: spans, one ExportTraceServiceRequest a line")
          .choices(["csv", "otlp-json"])
          .makeOptionMandatory(),
      ),
  )
    .addHelpText("after", "\nExample:\n  switchyard audit export --format csv --since 7d audit.jsonl > audit.csv")
    .action((files: string[], options) =>
      run(async (shell) => (await import("./export.ts")).exportAudit(shell, files, options)),
    );
}

/** Which records: of all values of one option any, of several options all must fit. */
function filtered(command: Command): Command {
  return command
    .option("--server <glob>", "only of these servers; may be given several times", collect)
    .option(
      "--tool <glob>",
      "only calls of these tools, by original or public name; may be given several times",
      collect,
    )
    .addOption(
      new Option("--outcome <outcome>", "only those that ended so; may be given several times")
        .choices(outcomes)
        .argParser((value: string, before: string[] = []) => {
          if (!outcomes.includes(value)) throw new InvalidArgumentError(`It is one of ${outcomes.join(", ")}.`);
          return [...before, value];
        }),
    )
    .option("--since <time>", "only from then on: a time (2026-11-30T12:00:00Z) or how long ago (90s, 15m, 2h, 7d)");
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function parseCount(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError("It is a whole number, 0 or more.");
  return Number(value);
}

function parseContains(value: string): { seq: number; hash: string } {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(value) ?? [];
  if (seq === undefined || hash === undefined) {
    throw new InvalidArgumentError("It is the number of a record, a colon and 64 hex digits.");
  }
  return { seq: Number(seq), hash };
}
