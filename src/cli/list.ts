/** `list`: the merged catalogue as a host would see it, and what was hidden and why. */
import type { Command } from "commander";
import type { Client, PublicItem, ServerReport } from "../client.ts";
import type { Config } from "../config/types.ts";
import { whyNotReady } from "./report.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell } from "./shell.ts";
import { oneLine, table } from "./text.ts";

interface ListOptions extends CommonOptions {
  hidden?: boolean;
  client?: string;
  json?: boolean;
}

export function addList(program: Command, run: Run): void {
  addCommonOptions(program.command("list").description("show what a host would see, and what is hidden and why"))
    .option("--hidden", "show only what is hidden, each with the rule or pin that hides it")
    .option("--client <name>", "the name that the host gives for itself", "switchyard-cli")
    .option("--json", "print it as JSON, definitions included")
    .addHelpText("after", "\nExample:\n  switchyard list --config switchyard.json --log-level warn")
    .action((options: ListOptions) => run((shell) => list(shell, options)));
}

async function list(shell: Shell, options: ListOptions): Promise<number> {
  const opened = await shell.open(options);
  const { config } = opened;
  const work = async (client: Client): Promise<number> => {
    const whole = await client.catalogue();
    const catalogue = options.hidden === true ? { ...NOTHING, hidden: whole.hidden } : whole;
    const servers = client.servers();
    if (options.json === true) await shell.json(asJson(catalogue, servers, config));
    else await shell.print(asText(catalogue, shell.width, shell.redact));
    await shell.complain(absent(servers, config));
    const ready = servers.some(({ state }) => state === "ready");
    return ready || (config.servers.length === 0 && config.broken.length === 0) ? 0 : 1;
  };
  return shell.withClient(opened, work, options.client);
}

const NOTHING = { tools: [], prompts: [], resources: [], templates: [] };

type Catalogue = Awaited<ReturnType<Client["catalogue"]>>;
const kinds = ["tools", "prompts", "resources", "templates"] as const;

function asText(catalogue: Catalogue, width: number, redact: (text: string) => string): string {
  let text = "";
  for (const kind of kinds) {
    const items = catalogue[kind];
    if (items.length === 0) continue;
    // Redacted before it is cut: half a secret would not be found.
    const rows = items.map((item) => [item.publicName, item.server, describe(item)].map(redact));
    text += `${kind} (${items.length})\n${table(rows, width, "  ")}\n`;
  }
  const { hidden } = catalogue;
  if (hidden.length > 0) {
    const rows = hidden.map((item) => [item.original, item.server, item.kind, item.why].map(redact));
    text += `hidden (${hidden.length})\n${table(rows, width, "  ")}\n`;
  }
  return text === "" ? "nothing to show\n" : text.trimEnd().concat("\n");
}

function describe({ definition }: PublicItem): string {
  const { description, title, name } = definition;
  const text = [description, title, name].find((part) => typeof part === "string" && part.trim() !== "");
  return typeof text === "string" ? oneLine(text) : "";
}

function asJson(catalogue: Catalogue, servers: readonly ServerReport[], config: Config): Record<string, unknown> {
  const lists = kinds.map((kind) => [
    kind,
    catalogue[kind].map(({ publicName, ...rest }) => ({ name: publicName, ...rest })),
  ]);
  const { broken, disabled, warnings } = config;
  return { ...Object.fromEntries(lists), hidden: catalogue.hidden, servers, broken, disabled, warnings };
}

/** Those that are not in the list, one a line, for stderr. */
function absent(servers: readonly ServerReport[], { broken }: Config): string {
  const failed = servers.filter(({ state }) => state !== "ready").map((one) => `${one.name}: ${whyNotReady(one)}\n`);
  const wrong = broken.map(({ name, problems }) => `${name}: BROKEN: ${problems.join("\n  ")}\n`);
  return [...failed, ...wrong].join("");
}
