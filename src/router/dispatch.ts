/**
 * The innermost handler: sends a permitted exchange to where it goes and brings the answer back. Requests leave with the
 * server's own name, our id and our progress token; nothing else of them is touched.
 */
import type { Config, ServerConfig } from "../config/types.ts";
import { Fault } from "../errors.ts";
import type { Answer, Exchange, Handler, Permitted, Target } from "../exchange.ts";
import { removeMember, replaceMember, rewrite, tokenEdit } from "../wire/edits.ts";
import type { Frame } from "../wire/frame.ts";
import { type Edit, jsonText, rawResultFrame, requestFrame, resultFrame } from "../wire/splice.ts";
import { findMember } from "../wire/values.ts";
import type { AnswerRules } from "./answers.ts";
import type { Catalogue, ListMethod } from "./catalogue.ts";
import type { Host } from "./hosts.ts";
import type { Item } from "./items.ts";
import type { Levels } from "./levels.ts";
import { isLevel } from "./levels.ts";
import type { PortRequest, ServerPort } from "./ports.ts";
import type { Questions } from "./questions.ts";
import type { Subscriptions } from "./subscriptions.ts";

type ItemTarget = Extract<Target, { type: "item" }>;

export interface DispatchOptions {
  readonly config: Config;
  readonly catalogue: Catalogue;
  readonly subscriptions: Subscriptions;
  readonly levels: Levels;
  readonly answers: AnswerRules;
  readonly questions: Questions;
  server(name: string): ServerPort;
  servers(): Iterable<ServerPort>;
  host(exchange: Exchange): Host;
  /** How long this list may wait for servers that are still starting. */
  listWaitMs(method: string): number;
}

export function dispatcher(options: DispatchOptions): Handler<Permitted> {
  return (exchange) => {
    const { target, row } = exchange;
    if (target.type === "host") return options.questions.ask(exchange, target.server);
    if (target.type === "item") {
      if (row.route === "subscription") return subscribe(options, exchange, target);
      if (row.route === "completion") return complete(options, exchange, target);
      return forward(options, exchange, target);
    }
    return row.route === "list" ? list(options, exchange) : setLevel(options, exchange);
  };
}

/** tools/call, prompts/get, resources/read. */
function forward(options: DispatchOptions, exchange: Exchange, target: ItemTarget): Promise<Answer> {
  const server = options.server(target.server);
  const compose = composer(exchange.frame, server.config, exchange.row.nameAt!, target.original);
  const asTask = (target.item as Partial<Item>).taskRequired === true && server.runsTasks;
  return send(server, exchange, compose, asTask).then((answer) =>
    options.answers.apply(answer, exchange, target, options.host(exchange)),
  );
}

function send(
  server: ServerPort,
  exchange: Exchange,
  compose: (id: number) => Buffer[],
  asTask = false,
): Promise<Answer> {
  const { trail } = exchange;
  const request: PortRequest = {
    method: exchange.row.method,
    compose,
    cancellation: exchange.cancellation,
    progress: exchange.progress,
    timeouts: server.config.timeouts,
    sent: () => {
      trail.sentAt = performance.now();
    },
    ended: () => {
      trail.answeredAt = performance.now();
    },
  };
  return asTask ? server.requestAsTask(request) : server.request(request);
}

/** The request as the server gets it. `task` is dropped: we advertise no tasks, so it is to be ignored (spec.md §1.15). */
function composer(frame: Frame, server: ServerConfig, nameAt: string, original: string): (id: number) => Buffer[] {
  const edits: Edit[] = [];
  if (frame.string(nameAt) !== original) edits.push(replaceMember(frame, nameAt, jsonText(original)));
  const task = removeMember(frame, "task");
  if (task !== undefined) edits.push(task);
  const { requestMs, resetOnProgress } = server.timeouts;
  // A server that may be silent only so long is asked for progress even where the host did not: it renews the clock.
  const token = tokenEdit(frame, requestMs > 0 && resetOnProgress);
  return (id) => rewrite(frame, id, token === undefined ? edits : [...edits, token(id)]);
}

async function list(options: DispatchOptions, exchange: Exchange): Promise<Answer> {
  const method = exchange.row.method as ListMethod;
  const result = await options.catalogue.page(method, exchange.frame.text("cursor"), options.listWaitMs(method));
  return options.answers.list(rawResultFrame(Buffer.concat(result)), options.host(exchange));
}

/** Answered at once: which servers log, and what becomes of it there, is not the host's concern (field report C10). */
async function setLevel(options: DispatchOptions, exchange: Exchange): Promise<Answer> {
  const level = exchange.frame.string("level");
  if (!isLevel(level))
    throw new Fault("INVALID_PARAMS", `logging/setLevel needs params.level, one of the syslog levels`);
  options.levels.set(options.host(exchange).id, level);
  for (const server of options.servers()) applyLevel(server, options.levels);
  return resultFrame({});
}

/** Tells one server the most verbose level that a host wants; also after it was (re)started. */
export function applyLevel(server: ServerPort, levels: Levels): void {
  const level = levels.lowest();
  if (level === undefined || !server.ready || !server.declares("logging")) return;
  const frame = requestFrame("logging/setLevel", { level });
  server
    .request({
      method: "logging/setLevel",
      compose: (id) => rewrite(frame, id, []),
      cancellation: undefined,
      timeouts: undefined,
    })
    .catch((error: unknown) => server.note("logging/setLevel", error));
}

async function subscribe(options: DispatchOptions, exchange: Exchange, target: ItemTarget): Promise<Answer> {
  const { server: name, original } = target;
  const server = options.server(name);
  const host = options.host(exchange);
  const uri = exchange.trail.publicName!;
  const { subscriptions } = options;
  const compose = composer(exchange.frame, server.config, "uri", original);
  if (exchange.row.method === "resources/unsubscribe") {
    if (!subscriptions.remove(name, original, host.id) || !server.ready) return resultFrame({});
    return send(server, exchange, compose);
  }
  if (server.ready && !server.declares("subscribe")) {
    const text = `server "${name}" has no subscriptions: ${uri} cannot be watched`;
    throw new Fault("NOT_SUPPORTED", text, { server: name, data: { uri } });
  }
  if (!subscriptions.add(name, original, host.id, uri)) return resultFrame({});
  try {
    const answer = await send(server, exchange, compose);
    if (answer.isError) subscriptions.remove(name, original, host.id);
    return options.answers.apply(answer, exchange, target, host);
  } catch (error) {
    subscriptions.remove(name, original, host.id);
    throw error;
  }
}

const NO_COMPLETION = { completion: { values: [], total: 0, hasMore: false } };

async function complete(options: DispatchOptions, exchange: Exchange, target: ItemTarget): Promise<Answer> {
  const server = options.server(target.server);
  if (!server.ready || !server.declares("completions")) return resultFrame(NO_COMPLETION);
  const { frame } = exchange;
  const at = frame.indexOf("ref");
  const key = target.kind === "prompt" ? "name" : "uri";
  const span = findMember(frame.bytes, frame.spans[2 * at]!, frame.spans[2 * at + 1]!, key)!;
  const edits: Edit[] = [];
  if (exchange.trail.publicName !== target.original) {
    edits.push({ start: span[0], end: span[1], text: jsonText(target.original) });
  }
  const context = server.atLeast("2025-06-18") ? undefined : removeMember(frame, "context");
  if (context !== undefined) edits.push(context);
  const token = tokenEdit(frame, false);
  const answer = await send(server, exchange, (id) => rewrite(frame, id, token ? [...edits, token(id)] : edits));
  if (answer.isError && Number(answer.text("code")) === -32601) return resultFrame(NO_COMPLETION);
  return capCompletion(answer);
}

/** At most 100 values (2025-11-25, server/utilities/completion). */
function capCompletion(answer: Answer): Answer {
  if (answer.isError) return answer;
  const completion = answer.value("completion") as { values?: unknown } | undefined;
  if (!Array.isArray(completion?.values) || completion.values.length <= 100) return answer;
  const cut = { ...completion, values: completion.values.slice(0, 100), hasMore: true };
  return resultFrame({ ...(answer.body() as object), completion: cut });
}
