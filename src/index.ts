/**
 * Public API. The configuration file, the commands and the audit record are the product's interface (README); this is the
 * part for programs that embed it.
 */

export { type CallOutcome, type Client, type PublicItem, type ServerReport, startClient } from "./client.ts";
// Configuration: a file in, a complete Config or a ConfigError out.
export { loadConfig } from "./config/load.ts";
export type { Config, ServerConfig } from "./config/types.ts";
// Errors and log.
export { ConfigError, Fault, type FaultCode } from "./errors.ts";
export { type Log, silentLog } from "./log.ts";
// Serving one host on a pair of streams, and an in-process host for scripts.
export { type ServeOptions, startServe } from "./serve.ts";
