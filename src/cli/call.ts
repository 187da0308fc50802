/** `call`: one tool call through the whole stack, policy and audit included. */
import type { Command } from "commander";
import type { CallOutcome, Client, ProgressReport } from "../client.ts";
import { nearest } from "../config/nearest.ts";
import { parseJson } from "../config/source.ts";
import { ConfigError } from "../errors.ts";
import { addCommonOptions, type CommonOptions, type Run, type Shell } from "./shell.ts";
import { oneLine, plain } from "./text.ts";

interface CallOptions extends CommonOptions {
  json?: boolean;
}

export function addCall(program: Command, run: Run): void {
  addCommonOptions(
    program
      .command("call")
      .description("call one tool and print its result")
      .argument("<name>", "public name of the tool, as in `switchyard list`")
      .argument("[json]", "arguments as a JSON object; - reads them from stdin", "{}"),
  )
    .option("--json", "print the whole result as JSON")
    .addHelpText("after", `\nExample:\n  switchyard call files__read_text_file '{"path": "/srv/a.txt"}'`)
    .action((name: string, json: string, options: CallOptions) => run((shell) => call(shell, name, json, options)));
}

async function call(shell: Shell, name: string, json: string, options: CallOptions): Promise<number> {
  const args = parseArguments(json === "-" ? await readAll(shell.io.stdin) : json);
  const opened = await shell.open(options);
  return shell.withClient(opened, async (client, signal) => {
    const onTerminal = shell.io.stderr.isTTY === true;
    const progress = (step: ProgressReport) => void shell.complain(progressLine(step));
    const answer = await client.call(name, args, { signal, ...(onTerminal ? { progress } : {}) });
    return show(shell, answer, options.json === true, () => whyUnknown(client, name));
  });
}

async function show(
  shell: Shell,
  { result, error }: CallOutcome,
  json: boolean,
  explain: () => Promise<string>,
): Promise<number> {
  if (error !== undefined) {
    if (json) await shell.json({ error });
    const hint = error.code === -32602 && error.message.startsWith("Unknown tool") ? await explain() : "";
    await shell.complain(`switchyard: error ${error.code}: ${oneLine(error.message)}\n${hint}`);
    return 1;
  }
  const { content, structuredContent, isError } = (result ?? {}) as Record<string, unknown>;
  if (json) {
    await shell.json(result);
    return isError === true ? 1 : 0;
  }
  const blocks = Array.isArray(content) ? content : [];
  // Newer servers may send structured content alone.
  if (blocks.length === 0 && structuredContent !== undefined) await shell.json(structuredContent);
  for (const block of blocks as Record<string, unknown>[]) {
    const text = block?.["type"] === "text" ? String(block["text"]) : undefined;
    const out = isError === true ? shell.io.stderr : shell.io.stdout;
    if (text === undefined) await shell.json(block);
    else {
      const line = `${out.isTTY === true ? plain(text) : text}\n`;
      await (isError === true ? shell.complain(line) : shell.print(line));
    }
  }
  if (isError !== true) return 0;
  await shell.complain("switchyard: the tool answered with an error\n");
  return 1;
}

/** What a person needs to know when a tool is not there: a name that is near, servers that are not. */
async function whyUnknown(client: Client, name: string): Promise<string> {
  const { tools } = await client.catalogue();
  const near = nearest(
    name,
    tools.map(({ publicName }) => publicName),
  );
  const missing = client.servers().filter(({ state }) => state !== "ready");
  return (
    (near === undefined ? "" : `Did you mean "${near}"?\n`) +
    missing.map((server) => `${server.name} is not there: ${oneLine(server.reason ?? server.state)}\n`).join("") +
    'See "switchyard list" for the names.\n'
  );
}

/** The text itself, once it is known to be a JSON object. */
export function argumentsText(text: string): string {
  parseArguments(text);
  return text;
}

function parseArguments(text: string): unknown {
  const parsed = parseJson(text.trim() === "" ? "{}" : text);
  if (!("value" in parsed)) {
    const { line, column, reason } = parsed;
    const shown = text.split(/\r\n|\r|\n/)[line - 1] ?? "";
    throw new ConfigError(
      `the arguments are not JSON: line ${line}, column ${column}: ${reason}.\n  ${shown}\n  ${" ".repeat(column - 1)}^\n` +
        `Write an object, as in '{"path": "/srv"}' (in quotes, or the shell takes it apart).`,
    );
  }
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ConfigError(`the arguments must be a JSON object. Write them as in '{"path": "/srv"}'.`);
}

function progressLine({ progress, total, message }: ProgressReport): string {
  const share = total === undefined ? `${progress}` : `${progress}/${total}`;
  return oneLine(`progress ${share}${message === undefined ? "" : ` ${message}`}`).concat("\n");
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks).toString("utf8");
}
