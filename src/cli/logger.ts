/**
 * The log: pino on stderr, as JSON or as one readable line a record. Every string passes the redactor first.
 *
 * stderr is written through its stream, which does not block, and not by a synchronous write: a host that does not read it
 * would stop the proxy as soon as the pipe is full. What such a host does not read is bounded, then dropped and counted.
 */
import type { Log, LogFields } from "../log.ts";
import { type Redaction, redactValue } from "../redact/value.ts";
import type { Output } from "./io.ts";
import { oneLine } from "./text.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ["json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

const maxWaitingBytes = 1_048_576;
/** Keys that pino writes itself. */
const own = new Set(["level", "time", "msg"]);

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly redaction: Redaction;
  readonly stream: Output;
}

export async function makeLogger({ level, format, redaction, stream }: LoggerOptions): Promise<Log> {
  const { pino } = await import("pino");
  let dropped = 0;
  let gone = false;
  stream.on("error", () => {
    gone = true;
  });
  const destination = {
    write(line: string): void {
      if (gone) return;
      if (stream.writableLength > maxWaitingBytes) {
        dropped++;
        return;
      }
      stream.write(format === "pretty" ? pretty(line) : line);
    },
  };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  const least = logLevels.indexOf(level);
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < least) return () => {};
    return (fields: LogFields, message: string): void => {
      if (dropped > 0 && stream.writableLength <= maxWaitingBytes) {
        const count = dropped;
        dropped = 0;
        logger.warn({ dropped: count }, "log records were dropped because nobody read them");
      }
      logger[name](clean(fields, redaction), redaction.text(message));
    };
  };
  return { trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function clean(fields: LogFields, redaction: Redaction): Record<string, unknown> {
  const redacted = redactValue(fields, redaction) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(redacted).map(([key, value]) => [own.has(key) ? `${key}_` : key, value]));
}

/** `12:30:05.123 INFO  files: ready tools=12`. */
function pretty(line: string): string {
  const { time, level, msg, server, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const at = new Date(String(time));
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${short(value)}`);
  const place = server === undefined ? "" : `${String(server)}: `;
  const head = `${clock}.${ms} ${String(level).toUpperCase().padEnd(5)}`;
  return `${head} ${oneLine(`${place}${String(msg)}${rest.join("")}`)}\n`;
}

function short(value: unknown): string {
  return typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
