/** What every command shares: the options, the configuration, output without secrets, a client for the commands that need one. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import type { Client } from "../client.ts";
import { findConfig } from "../config/find.ts";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/types.ts";
import type { Log } from "../log.ts";
import { makeKnownRedactor } from "../redact/known.ts";
import { makeRedactor } from "../redact/redact.ts";
import { redactValue } from "../redact/value.ts";
import { type Io, type Output, write } from "./io.ts";
import { type LogFormat, type LogLevel, logFormats, logLevels, makeLogger } from "./logger.ts";

/** Of package.json, which is two folders up from here in `src` and in `dist` alike. */
export const version = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;

export interface CommonOptions {
  config?: string;
  logLevel: LogLevel;
  logFormat?: LogFormat;
}

/** Runs a command's work and keeps the exit code it answers. */
export type Run = (work: (shell: Shell) => Promise<number>) => Promise<void>;

export function addCommonOptions(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (default: $SWITCHYARD_CONFIG, ./switchyard.json, the user's one)")
    .addOption(new Option("--log-level <level>", "least level that is logged").choices(logLevels).default("info"))
    .addOption(
      new Option("--log-format <format>", "how a record is written (default: pretty on a terminal, else json)").choices(
        logFormats,
      ),
    );
}

export class Shell {
  readonly io: Io;
  /** Knows the secrets as soon as the configuration is loaded. */
  redact: (text: string) => string = (text) => text;

  constructor(io: Io) {
    this.io = io;
  }

  get width(): number {
    return this.io.stdout.columns ?? 80;
  }

  print(text: string): Promise<void> {
    return this.#write(this.io.stdout, text);
  }

  complain(text: string): Promise<void> {
    return this.#write(this.io.stderr, text);
  }

  json(value: unknown): Promise<void> {
    // Strings are redacted one by one, so that it stays JSON whatever a secret looks like.
    return write(this.io.stdout, `${JSON.stringify(redactValue(value, { text: this.redact }), null, 2)}\n`);
  }

  async open(options: CommonOptions): Promise<{ config: Config; log: Log }> {
    const { env, cwd, platform, stderr } = this.io;
    const config = await loadConfig(findConfig(options.config, env, cwd, platform), env);
    this.redact = makeKnownRedactor(config.secrets);
    const format = options.logFormat ?? (stderr.isTTY === true ? "pretty" : "json");
    const redaction = makeRedactor({ secrets: config.secrets, redactKeys: config.audit?.redactKeys ?? [] });
    const log = await makeLogger({ level: options.logLevel, format, redaction, stream: stderr });
    return { config, log };
  }

  /** Runs `work` with a client and closes it, also on a signal, so that no server is left behind. */
  async withClient(
    { config, log }: { config: Config; log: Log },
    work: (client: Client, signal: AbortSignal) => Promise<number>,
    clientName?: string,
    capabilities?: object,
  ): Promise<number> {
    const controller = new AbortController();
    const { signal } = controller;
    const stop = () => controller.abort();
    for (const name of stopSignals) this.io.signals.on(name, stop);
    // A second signal finds nobody listening and ends the process.
    const unlisten = () => {
      for (const name of stopSignals) this.io.signals.off(name, stop);
    };
    try {
      const client = await this.io.engine.startClient({
        config,
        log,
        version,
        env: this.io.env,
        ...(clientName === undefined ? {} : { clientName }),
        ...(capabilities === undefined ? {} : { capabilities }),
      });
      try {
        return await Promise.race([work(client, signal), interruption(signal)]);
      } finally {
        unlisten();
        await client.close();
      }
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      await this.complain("switchyard: interrupted\n");
      return 1;
    } finally {
      unlisten();
    }
  }

  #write(stream: Output, text: string): Promise<void> {
    return write(stream, this.redact(text));
  }
}

const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"];

class Interrupted extends Error {}

function interruption(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new Interrupted());
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
