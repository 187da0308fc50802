/**
 * The log's type, the one thing of it that every folder may import. Records go to stderr only: stdout belongs to the
 * stdio leg. `cli/logger.ts` makes the real one (pino).
 */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  trace(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** A log that keeps nothing: for embedding without one. */
export const silentLog: Log = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };
