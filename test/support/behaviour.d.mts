/** The script of a scripted MCP server (server.mjs on stdio, http-server.ts on HTTP). All of it is optional. */

/** A definition or value: an object, or a string that is its raw JSON text and is sent byte for byte. */
export type Raw = string | object;

export interface Failure {
  code: number;
  message: string;
  data?: unknown;
  /** Fails so many times, then works. Default: always. */
  times?: number;
}

export interface Page {
  /** The cursor that opens this page; left out for the first. */
  cursor?: string;
  items: Raw[];
  next?: string;
  /** Raw text of further members of the result, without braces. */
  extra?: string;
}

export interface Question {
  method: string;
  params?: Raw;
  /** Default: 1, 2, 3, … of this server. */
  id?: string | number;
  /** HTTP: on the GET stream, not on the stream of the call. */
  unrelated?: boolean;
}

export interface LogEntry {
  level: string;
  data: unknown;
  logger?: string;
}

type Lists<T> = { tools?: T; prompts?: T; resources?: T; templates?: T };

/** Done one after the other. Where none answers, the answer is the text "done" (not after `silent`, `untilCancelled`). */
export type Step =
  | { result: Raw }
  | { error: Raw }
  /** The raw params as text content. */
  | { echo: true }
  /** The raw arguments as structuredContent. */
  | { mirror: true }
  /** A text of so many characters. */
  | { fill: number; char?: string }
  /** Length and SHA-256 of the raw params, as text: for messages too big to be recorded. */
  | { digest: true }
  | { counter: "inc" | "get" }
  | { pid: true }
  /** Answers with the JSON array of the raw response texts that came to `ask`. */
  | { answers: true }
  | { wait: number }
  | { silent: true }
  | { untilCancelled: true }
  /** So many notifications, `gap` ms apart; `token` raw instead of the caller's (without one nothing is sent). */
  | { progress: number; gap?: number; from?: number; values?: number[]; token?: string | number; extra?: string }
  /** Requests to the client; waits for their answers unless `wait: false`. */
  | { ask: Question[]; parallel?: boolean; wait?: boolean }
  | { cancelAsks: true }
  | { log: LogEntry | LogEntry[] }
  | { notify: { method: string; params?: Raw }; unrelated?: boolean }
  | { changed: "tools" | "prompts" | "resources"; times?: number }
  | { updated: string }
  | { set: Lists<Raw[]> }
  | { fail: Record<string, Failure> }
  | { mute: string[] }
  | { unmute: string[] }
  /** One message, byte for byte. */
  | { raw: string }
  /** stdio only: */
  | { stdout: string }
  | { stderr: string; times?: number }
  | { exit: number }
  | { kill: string }
  | { closeStdin: true }
  | { closeStdout: true }
  /** A descendant that ignores EOF and SIGTERM (and ends by itself after a minute); its pid is recorded. */
  | { grandchild: true }
  /** Synchronously busy: reads nothing. */
  | { block: number }
  /** HTTP only: ends the connection that carries this request. */
  | { cut: true };

export type Steps = Step[] | { sequence: Step[][] };

export interface Script extends Lists<Raw[]> {
  name?: string;
  version?: string;
  serverInfo?: Raw;
  /** Known revisions: the offered one if it is among them, else the first. Default: all four legacy ones. */
  versions?: string[];
  /** Default: what the lists need, with listChanged and subscribe. */
  capabilities?: Raw;
  instructions?: string;
  /** Splits lists into pages with cursors `c%2F1==`, … */
  pageSize?: number;
  /** Pages by hand instead of the lists. */
  pages?: Lists<Page[]>;
  /**
   * What happens on: a tool's name, "prompt:NAME", "resource:URI" or "method:METHOD". The tool `do` needs no entry:
   * it runs the steps in its argument `steps`. `echo` and `mirror` are built in, other tools answer "server:tool".
   */
  on?: Record<string, Steps>;
  onStart?: Step[];
  onInitialize?: Step[];
  onInitialized?: Step[];
  /** Methods that are answered with an error. */
  errors?: Record<string, Failure>;
  /** Methods that are never answered. */
  mute?: string[];
  answerDelayMs?: number | Record<string, number>;
  /** stdio: before anything is read. */
  startDelayMs?: number;
  /** stdio: writes in pieces of so many bytes, a turn of the event loop apart. */
  chunkBytes?: number;
  /** stdio: written to stdout before every message. */
  noise?: string;
  /** stdio: default "\n". */
  newline?: string;
  ignoreEof?: boolean;
  ignoreSigterm?: boolean;
  /** stdio: JSONL file of what it received and what happened to it (see record.ts). */
  record?: string;
}

export interface Port {
  send(text: string, about: { request?: string | undefined; final?: boolean }): void;
  effect(what: string, value: unknown, step: unknown, context: { id?: string }): Promise<void> | void;
  record(entry: { raw: string; invalid?: boolean }): void;
}

export interface Behaviour {
  start(): Promise<void>;
  receive(text: string, about?: { request?: string }): void;
  /** Steps that belong to no request: notifications, list changes. */
  run(steps: Step[]): Promise<void>;
}

export function createBehaviour(script: Script, port: Port): Behaviour;
