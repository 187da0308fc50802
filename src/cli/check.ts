/** `check`: is the file right, and with `--connect` does every server answer? */
import type { Command } from "commander";
import type { Client, ServerReport } from "../client.ts";
import type { Config, ServerConfig } from "../config/types.ts";
import { ConfigError } from "../errors.ts";
import { seconds, whyNotReady } from "./report.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell } from "./shell.ts";
import { oneLine, table } from "./text.ts";

interface CheckOptions extends CommonOptions {
  connect?: boolean;
  json?: boolean;
}

export function addCheck(program: Command, run: Run): void {
  addCommonOptions(program.command("check").description("validate the configuration file"))
    .option("--connect", "dial every server and report each")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  switchyard check --config switchyard.json --connect --log-level error")
    .action((options: CheckOptions) => run((shell) => check(shell, options)));
}

/** What dialling found. */
interface Findings {
  readonly reports: readonly ServerReport[];
  /** Allow entries that match nothing, one sentence each. */
  readonly unused: readonly string[];
}

async function check(shell: Shell, options: CheckOptions): Promise<number> {
  let opened: Awaited<ReturnType<Shell["open"]>>;
  try {
    opened = await shell.open(options);
  } catch (error) {
    if (options.json === true && error instanceof ConfigError) await shell.json({ ok: false, error: error.message });
    throw error;
  }
  const { config } = opened;
  if (options.connect !== true) return show(shell, config, undefined, options.json === true);
  return shell.withClient(opened, async (client) => {
    await client.settled();
    // Counts and unused rules need the lists, not only the handshakes.
    await client.catalogue();
    const reports = client.servers();
    return show(shell, config, { reports, unused: unusedFor(client, reports) }, options.json === true);
  });
}

/** What a server that is not there would have listed is not known, so nothing is said about rules that may be for it. */
function unusedFor(client: Client, reports: readonly ServerReport[]): string[] {
  const missing = reports.filter(({ state }) => state !== "ready").map(({ name }) => `mcpServers.${name}.`);
  return (
    client
      .unusedRules()
      .filter((line) => !missing.some((start) => line.startsWith(start)))
      .filter((line) => missing.length === 0 || !line.startsWith("policy."))
      // Said when the file was loaded.
      .filter((line) => !/^policy\.rules\[\d+\]\.servers/.test(line))
  );
}

async function show(shell: Shell, config: Config, findings: Findings | undefined, json: boolean): Promise<number> {
  const { broken } = config;
  const failed = findings?.reports.filter(({ state }) => state !== "ready") ?? [];
  const code = broken.length > 0 ? 2 : failed.length > 0 ? 1 : 0;
  if (json) await shell.json({ ok: code === 0, ...asData(config, findings) });
  else await shell.print(asText(config, findings, shell.width, shell.redact));
  return code;
}

function asData({ file, servers, disabled, broken, warnings }: Config, findings: Findings | undefined): object {
  return {
    file,
    servers: [
      ...servers.map(({ name, prefix, target }) => {
        const report = findings?.reports.find((one) => one.name === name);
        return {
          name,
          status: "ok",
          prefix,
          type: target.type,
          ...(report === undefined ? {} : { connection: report }),
        };
      }),
      ...broken.map(({ name, problems }) => ({ name, status: "broken", problems })),
      ...disabled.map((name) => ({ name, status: "disabled" })),
    ],
    warnings,
    ...(findings === undefined ? {} : { unused: findings.unused }),
  };
}

function asText(
  config: Config,
  findings: Findings | undefined,
  width: number,
  redact: (text: string) => string,
): string {
  const { file, servers, disabled, broken, warnings } = config;
  const lines = [`${file}\n`];
  // Redacted before it is cut: half a secret would not be found.
  const print = (rows: string[][]) =>
    lines.push(
      table(
        rows.map((row) => row.map(redact)),
        width,
        "  ",
      ),
    );
  if (findings === undefined) print(servers.map((server) => [server.name, "ok", targetText(server)]));
  else if (findings.reports.length > 0) {
    print([
      ["server", "state", "era", "revision", "tools", "prompts", "resources", "templates", "time"],
      ...findings.reports.filter(({ state }) => state === "ready").map(readyRow),
    ]);
    for (const report of findings.reports) {
      if (report.state !== "ready") lines.push(`  ${report.name}: ${report.state}: ${redact(whyNotReady(report))}\n`);
    }
  }
  for (const name of disabled) lines.push(`  ${oneLine(name)}  disabled\n`);
  for (const { name, problems } of broken) {
    lines.push(`  ${oneLine(name)}  BROKEN\n`, ...problems.map((problem) => `    ${oneLine(problem)}\n`));
  }
  for (const warning of [...warnings, ...(findings?.unused ?? [])]) lines.push(`warning: ${oneLine(warning)}\n`);
  const ready = findings?.reports.filter(({ state }) => state === "ready").length;
  const counts = [
    ready === undefined ? `${servers.length} ok` : `${ready} ready, ${servers.length - ready} not ready`,
    `${disabled.length} disabled`,
    `${broken.length} broken`,
  ];
  return `${lines.join("")}${counts.join(", ")}\n`;
}

function readyRow({ name, state, era, revision, counts, connectMs }: ServerReport): string[] {
  const { tools, prompts, resources, templates } = counts ?? { tools: 0, prompts: 0, resources: 0, templates: 0 };
  const time = connectMs === undefined ? "" : seconds(connectMs);
  return [name, state, era ?? "", revision ?? "", ...[tools, prompts, resources, templates].map(String), time];
}

/** How it is reached; arguments, user and query stay out. */
function targetText({ target }: ServerConfig): string {
  if (target.type === "stdio") return `stdio ${target.command}`;
  const { origin, pathname } = new URL(target.url);
  return `${target.type === "auto" ? "http" : target.type} ${origin}${pathname}`;
}
