/** `pin`: what servers define now against what was pinned, and a person's decision on it. */
import type { Command } from "commander";
import type { Client } from "../client.ts";
import type { Config } from "../config/types.ts";
import { ConfigError } from "../errors.ts";
import { pinFileOf } from "../pinning.ts";
import type { Book } from "../pipeline/pins/book.ts";
import { type Change, type Comparison, compare, decided } from "../pipeline/pins/compare.ts";
import { updatePins } from "../pipeline/pins/store.ts";
import { asData, asText, type Findings } from "./pin-report.ts";
import { whyNotReady } from "./report.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell } from "./shell.ts";
import { oneLine } from "./text.ts";

interface PinOptions extends CommonOptions {
  accept?: string[];
  acceptAll?: boolean;
  diff?: boolean;
  json?: boolean;
}

export function addPin(program: Command, run: Run): void {
  addCommonOptions(
    program.command("pin").description("compare what servers define with what is pinned, and accept changes"),
  )
    .option("--accept <names...>", "accept what changed: a public name, SERVER/NAME, or SERVER for all of it")
    .option("--accept-all", "accept everything, and make damaged pins anew")
    .option("--diff", "show what changed, word by word, and characters that cannot be seen")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", "\nExample:\n  switchyard pin --diff\n  switchyard pin --accept issues__create_issue files")
    .action((options: PinOptions) => run((shell) => pin(shell, options)));
}

/** As a host that can do everything, so that servers show all they have. */
const CAPABLE = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

async function pin(shell: Shell, options: PinOptions): Promise<number> {
  const { config, log } = await shell.open(options);
  // Nothing is hidden from who decides, and nothing is pinned behind his back.
  const servers = config.servers.map((server) => ({ ...server, pin: "off" as const }));
  const work = async (client: Client): Promise<number> => {
    const findings = await settle(config, client, options);
    if (options.json === true) await shell.json(asData(findings, options.diff === true));
    else await shell.print(asText(findings, options.diff === true, shell.redact));
    return isSettled(findings) ? 0 : 1;
  };
  return shell.withClient({ config: { ...config, servers }, log }, work, undefined, CAPABLE);
}

/** Compares and writes what was decided, in one go: the file is not another one in between. */
async function settle(config: Config, client: Client, options: PinOptions): Promise<Findings> {
  const file = pinFileOf(config.file);
  const definitions = await client.definitions();
  const absent = client
    .servers()
    .filter(({ name }) => !definitions.has(name))
    .map((report) => ({ server: report.name, reason: oneLine(whyNotReady(report)) }));
  const names = options.accept ?? [];
  const all = options.acceptAll === true;
  let comparisons: Comparison[] = [];
  let accepted: (change: Change) => boolean = () => all;
  updatePins(file, ({ book, damaged }) => {
    if (damaged !== undefined && !all) {
      throw new ConfigError(
        `${file} is damaged: ${damaged}. Nothing passes where "pin" is "enforce". Repair it, or pin anew everything that ` +
          "servers define now with --accept-all.",
      );
    }
    comparisons = [...definitions].map(([server, offered]) => compare(book, server, offered));
    if (!all) accepted = chosen(names, comparisons);
    let next: Book = book;
    for (const comparison of comparisons) {
      const offered = definitions.get(comparison.server)!;
      next = decided(next, comparison, offered, accepted, all || names.includes(comparison.server));
    }
    return next;
  });
  return {
    file,
    absent,
    comparisons,
    accepted,
    renewed: (server) => all || names.includes(server),
  };
}

/** @throws ConfigError for a name that nothing has, or several servers have */
function chosen(names: readonly string[], comparisons: readonly Comparison[]): (change: Change) => boolean {
  const changes = comparisons.flatMap((comparison) => comparison.changes);
  const chosenOnes = new Set<Change>();
  for (const name of names) {
    const server = comparisons.find((one) => one.server === name);
    const exact = changes.filter((one) => one.publicName === name || `${one.server}/${one.name}` === name);
    const byOriginal = changes.filter((one) => one.name === name);
    const found = server?.changes ?? (exact.length > 0 ? exact : byOriginal);
    if (exact.length === 0 && server === undefined && new Set(found.map((one) => one.server)).size > 1) {
      const places = found.map((one) => `${one.server}/${one.name}`).join(", ");
      throw new ConfigError(`--accept ${name}: several servers have it. Write one of ${places}.`);
    }
    if (found.length === 0 && server === undefined) {
      const open = changes.filter(({ state }) => state !== "first").map((one) => `${one.server}/${one.name}`);
      throw new ConfigError(
        `--accept ${name}: nothing that changed has this name. ` +
          (open.length === 0 ? "Nothing has changed at all." : `Write one of ${oneLine(open.join(", "))}.`),
      );
    }
    for (const change of found) chosenOnes.add(change);
  }
  return (change) => chosenOnes.has(change);
}

/** Nothing is left for a person to decide on. What is gone does no harm. */
function isSettled({ absent, comparisons, accepted, renewed }: Findings): boolean {
  const open = comparisons.some(
    ({ server, changes, damaged, unread }) =>
      (damaged !== undefined && !renewed(server)) ||
      unread.length > 0 ||
      changes.some((one) => (one.state === "new" || one.state === "changed") && !accepted(one) && !renewed(server)),
  );
  return !open && absent.length === 0;
}
