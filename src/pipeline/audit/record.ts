/**
 * Exchange and outcome -> the audit record, as text. Fields and their order are those of interface.md; a field without a
 * value is left out. `time` is when the exchange ended. Place in the chain (`seq`, `prev`) is added when the line is
 * written. No value can end the line: texts are escaped by JSON, and raw payloads come from frames, which have no LF.
 */
import { hash } from "node:crypto";
import type { AuditConfig } from "../../config/types.ts";
import type { Answer, Caller, Exchange } from "../../exchange.ts";
import { makeRedactor, omitted, type RedactionOptions, type Redactor } from "../../redact/redact.ts";
import type { Frame } from "../../wire/frame.ts";
import { type Ending, endingOfAnswer, endingOfFailure } from "./outcome.ts";

/** A record but for its place in the chain: `{"time":…,` seq and prev `,…}`. */
export interface AuditLine {
  readonly time: string;
  /** The members behind `prev`, without braces. */
  readonly rest: string;
}

export interface RecordOptions extends RedactionOptions {
  readonly payloads: AuditConfig["payloads"];
}

/**
 * A line about something that is no request ("pin", …): its members are `event` and `fields`. Such lines stand in the
 * chain like any other, and whoever reads the file tells them from records by `event`.
 */
export function eventLine(event: string, fields: object, redactor: Pick<Redactor, "json">): AuditLine {
  const members = redactor.json(JSON.stringify(fields)).slice(1, -1);
  return { time: timestamp(), rest: `"event":${JSON.stringify(event)}${members === "" ? "" : `,${members}`}` };
}

export interface Recorder {
  /** The part about the request, made while the server is at work instead of when its answer waits. */
  readonly prepare: (exchange: Exchange) => void;
  readonly answered: (exchange: Exchange, answer: Answer) => AuditLine;
  readonly failed: (exchange: Exchange, failure: unknown) => AuditLine;
}

/**
 * With `payloads: "redacted"`, larger arguments or results are not copied: the record has `{"omitted":{"bytes":N}}` in
 * their place (and the arguments' hash all the same).
 */
export const MAX_PAYLOAD_BYTES = 16_384;
const MAX_NAMES = 4_000;
const MAX_KEPT_NAME = 256;
const MAX_ID_CHARS = 128;
const MAX_MESSAGE_CHARS = 1_000;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Their payload is `params.arguments`; that of others is all of params but `_meta`. */
const WITH_ARGUMENTS: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

export function makeRecorder({ payloads, secrets, redactKeys }: RecordOptions): Recorder {
  const redactor = makeRedactor({ secrets, redactKeys });
  const callers = new WeakMap<Caller, string>();
  const names = new Map<string, string>();

  function callerText(caller: Caller): string {
    let text = callers.get(caller);
    if (text === undefined) {
      const { name, version } = caller.client;
      const client = JSON.stringify({ name: redactor.text(name), version: redactor.text(version) });
      text = `"session":${JSON.stringify(caller.session)},"client":${client}`;
      if (caller.principal !== undefined) text += `,"principal":${JSON.stringify(redactor.text(caller.principal))}`;
      text += `,"era":"${caller.era}"`;
      callers.set(caller, text);
    }
    return text;
  }

  /** Names come again and again: as JSON text, without secrets (a URI may hold some). */
  function named(name: string): string {
    let text = names.get(name);
    if (text === undefined) {
      text = JSON.stringify(redactor.text(name));
      if (names.size >= MAX_NAMES) names.clear();
      if (name.length <= MAX_KEPT_NAME) names.set(name, text);
    }
    return text;
  }

  /** The asker's own id. A host may put anything into it, but a number is just that. */
  function idText({ idText }: Frame): string {
    if (idText === undefined || idText.length > MAX_ID_CHARS) return "";
    return `,"requestId":${idText.startsWith('"') ? redactor.json(idText) : idText}`;
  }

  function payload(bytes: Buffer, start: number, end: number): string {
    if (payloads === "full") return bytes.utf8Slice(start, end);
    return end - start > MAX_PAYLOAD_BYTES ? omitted(end - start) : redactor.json(bytes.utf8Slice(start, end));
  }

  function argumentsText(frame: Frame): string {
    const { bytes, spans, bodyStart, bodyEnd } = frame;
    if (WITH_ARGUMENTS.has(frame.method!)) {
      const at = frame.indexOf("arguments");
      if (at < 0) return "";
      const start = spans[2 * at]!;
      const end = spans[2 * at + 1]!;
      const sha = `,"argumentsSha256":"${hash("sha256", bytes.subarray(start, end), "hex")}"`;
      return payloads === "none" ? sha : `${sha},"arguments":${payload(bytes, start, end)}`;
    }
    if (payloads === "none" || bodyStart < 0 || bodyEnd - bodyStart === "{}".length) return "";
    if (!frame.has("_meta")) return `,"arguments":${payload(bytes, bodyStart, bodyEnd)}`;
    const others = withoutMeta(frame);
    return others.length === 2 ? "" : `,"arguments":${payload(others, 0, others.length)}`;
  }

  function compose(exchange: Exchange, ending: Ending, answer: Answer | undefined): AuditLine {
    const { trail, frame, caller, direction, row } = exchange;
    const now = performance.now();
    let rest = `${callerText(caller)},"direction":"${direction}","method":"${row.method}"${idText(frame)}`;
    if (trail.server !== undefined) rest += `,"server":${named(trail.server)}`;
    if (trail.name !== undefined) rest += `,"name":${named(trail.name)}`;
    if (trail.publicName !== undefined) rest += `,"publicName":${named(trail.publicName)}`;
    if (trail.decision !== undefined) {
      const { effect, rule, reason } = trail.decision;
      rest += `,"decision":{"effect":"${effect}","rule":${named(rule)}`;
      rest += reason === undefined ? "}" : `,"reason":${named(reason)}}`;
    }
    if (trail.pin !== undefined) {
      const { state, pinned, current } = trail.pin;
      rest += `,"definition":${JSON.stringify({ state, pinned, current })}`;
    }
    rest += `,"outcome":"${ending.outcome}"`;
    if (ending.error !== undefined) {
      const { code, message } = ending.error;
      const shown = JSON.stringify(redactor.text(message).slice(0, MAX_MESSAGE_CHARS));
      rest += code === undefined ? `,"error":{"message":${shown}}` : `,"error":{"code":${code},"message":${shown}}`;
    }
    rest += `,"durationMs":${ms(now - trail.startedAt)},"queuedMs":${ms(trail.queuedMs)}`;
    if (trail.sentAt !== undefined) rest += `,"upstreamMs":${ms((trail.answeredAt ?? now) - trail.sentAt)}`;
    rest += `,"requestBytes":${frame.bytes.length}`;
    if (answer !== undefined) rest += `,"responseBytes":${answer.bytes.length}`;
    const { truncated } = trail;
    if (truncated !== undefined) {
      rest += `,"truncated":{"fromBytes":${truncated.fromBytes},"toBytes":${truncated.toBytes}}`;
    }
    rest += trail.argumentsText ?? argumentsText(frame);
    if (answer?.bodyKey === "result" && payloads !== "none") {
      rest += `,"result":${payload(answer.bytes, answer.bodyStart, answer.bodyEnd)}`;
    }
    const traceparent = traceparentOf(frame);
    if (traceparent !== undefined) rest += `,"traceparent":"${traceparent}"`;
    return { time: timestamp(), rest };
  }

  return {
    prepare: ({ trail, frame }) => {
      trail.argumentsText = argumentsText(frame);
    },
    answered: (exchange, answer) => compose(exchange, endingOfAnswer(exchange, answer), answer),
    failed: (exchange, failure) => compose(exchange, endingOfFailure(exchange, failure), undefined),
  };
}

/** Spliced from raw members, so that numbers and key order stay as they were sent. */
function withoutMeta(frame: Frame): Buffer {
  const members: string[] = [];
  for (const [at, key] of frame.keys.entries()) {
    if (key === "_meta") continue;
    members.push(`${JSON.stringify(key)}:${frame.bytes.utf8Slice(frame.spans[2 * at]!, frame.spans[2 * at + 1]!)}`);
  }
  return Buffer.from(`{${members.join(",")}}`);
}

/** W3C Trace Context, from where MCP puts it: `params._meta.traceparent`. */
function traceparentOf(frame: Frame): string | undefined {
  const meta = frame.text("_meta");
  if (meta === undefined || !meta.includes('"traceparent"')) return undefined;
  const { traceparent } = JSON.parse(meta) as { traceparent?: unknown };
  return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** Milliseconds with three decimals. */
function ms(value: number): number {
  return Math.round(value * 1000) / 1000;
}

let lastMs = -1;
let lastTime = "";

function timestamp(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = new Date(now).toISOString();
  }
  return lastTime;
}
