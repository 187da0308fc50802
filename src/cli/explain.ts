/** `explain`: a dry run for one public name, in words or as JSON. Nothing is called. */
import type { Command } from "commander";
import type { Explained, Unknown } from "../explain.ts";
import type { RuleReport } from "../pipeline/policy/explain.ts";
import { argumentsText } from "./call.ts";
import { seconds } from "./report.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell } from "./shell.ts";
import { oneLine, table } from "./text.ts";

interface ExplainOptions extends CommonOptions {
  args?: string;
  client?: string;
  json?: boolean;
}

/** A condition that is cut explains nothing. */
const UNCUT = Number.MAX_SAFE_INTEGER;

export function addExplain(program: Command, run: Run): void {
  addCommonOptions(
    program
      .command("explain")
      .description("say what becomes of one tool, prompt or resource, and which rule decides; nothing is called")
      .argument("<name>", "public name or URI, as in `switchyard list`"),
  )
    .option("--args <json>", "arguments of a call, as a JSON object: conditions that read them are judged")
    .option("--client <name>", "the name that the host gives for itself", "switchyard-cli")
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      `\nExample:\n  switchyard explain db__query --args '{"sql": "DROP TABLE users"}' --client claude-code`,
    )
    .action((name: string, options: ExplainOptions) => run((shell) => explain(shell, name, options)));
}

async function explain(shell: Shell, name: string, options: ExplainOptions): Promise<number> {
  const args = options.args === undefined ? undefined : argumentsText(options.args);
  const opened = await shell.open(options);
  const work = async (client: Parameters<Parameters<Shell["withClient"]>[1]>[0]): Promise<number> => {
    await client.catalogue();
    const found = client.explain(name, args);
    if (options.json === true) await shell.json(found);
    else await shell.print("unknown" in found ? unknownText(found) : asText(found, shell));
    for (const { name: server, state } of client.servers().filter((one) => one.state !== "ready")) {
      await shell.complain(`${server}: ${state}: what it has is not known\n`);
    }
    return "unknown" in found ? 1 : 0;
  };
  return shell.withClient(opened, work, options.client);
}

function unknownText({ name, near, lookedForAt, error }: Unknown): string {
  const lines = [`${oneLine(name)} is in no list.`];
  if (near !== undefined) lines.push(`Did you mean "${oneLine(near)}"?`);
  if (lookedForAt.length > 0) lines.push(`A read would look for it at ${lookedForAt.join(", ")}, one after the other.`);
  lines.push(`Where nobody has it the answer is: error ${error.code}: ${oneLine(error.message)}`);
  return `${lines.join("\n")}\n`;
}

function asText(found: Explained, { redact }: Pick<Shell, "redact">): string {
  const { name, kind, server, original, client, effect, rule, reason, matched, limits, error } = found;
  const rows = [
    ["name", name],
    ["is", `${kind} ${original} of server ${server}`],
    ["for", `client ${client}`],
    ["effect", found.dependsOnArguments ? `${effect}, unless the arguments say otherwise (see --args)` : effect],
    ["decided by", reason === undefined ? rule : `${rule}: ${reason}`],
    ...limits.map((limit) => ["limit", `${limitText(limit)} (${limit.rule})`]),
    ["answer", answerText(effect, server, error)],
  ];
  const rules = matched.map((report) => [report.rule, report.effect, sayingText(report)]);
  const shown = (cells: string[][]) => cells.map((row) => row.map(redact));
  const list = rules.length === 0 ? "no rule matches\n" : `rules that match\n${table(shown(rules), UNCUT, "  ")}`;
  return `${table(shown(rows), UNCUT)}\n${list}`;
}

function answerText(effect: Explained["effect"], server: string, error: Explained["error"]): string {
  if (error !== undefined) return `error ${error.code}: ${error.message}`;
  return effect === "ask" ? `that of ${server}, once the user has approved` : `that of ${server}`;
}

function sayingText({ says, when, reason, limit }: RuleReport): string {
  const parts = [says === "holds" ? "holds" : says === "false" ? "does not hold" : says];
  if (when !== undefined) parts.push(`when ${when}`);
  if (limit !== undefined) parts.push(`limit ${limitText(limit)}`);
  if (reason !== undefined) parts.push(reason);
  return parts.join("; ");
}

function limitText({ calls, perMs, burst }: { calls: number; perMs: number; burst?: number }): string {
  const more = burst === undefined ? "" : `, and ${burst} more in ${seconds(perMs * 10)}`;
  return `${calls} in ${seconds(perMs)}${more}`;
}
