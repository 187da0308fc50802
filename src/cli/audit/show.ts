/** One record as one line for a person: when, how it ended, what, how long, who, and why or with which arguments. */
import type { PlacedRecord } from "../../pipeline/audit/line.ts";
import { seconds } from "../report.ts";
import { oneLine } from "../text.ts";

/** Members of a line that is no request's which every line has, or which say nothing to a person. */
const PLACE = new Set(["time", "seq", "prev", "begins", "event", "signature", "after"]);

export function asLine(record: PlacedRecord): string {
  const text = record["event"] === undefined ? requestText(record) : eventText(record);
  return `${localTime(record.time)}  ${text}`.trimEnd();
}

function requestText(record: PlacedRecord): string {
  const { outcome, durationMs, client } = record;
  const took = typeof durationMs === "number" ? seconds(durationMs) : "";
  const who = [at(client, "name"), record["principal"]].map(text).join(" ").trim();
  // Names are padded, so that what follows mostly stands in a column.
  return `${pad(outcome, 10)}  ${pad(subject(record), 32)}  ${took.padStart(7)}  ${pad(who, 12)}  ${detail(record)}`;
}

/** "files/read_text_file", "resources/read docs docs://a", "tools/list", "db asks sampling/createMessage". */
function subject({ method, server, name, publicName, direction }: PlacedRecord): string {
  if (direction === "toHost") return `${text(server)} asks ${text(method)}`;
  const item = text(name ?? publicName);
  if (method === "tools/call") return server === undefined ? item : `${text(server)}/${item}`;
  return [method, server, item]
    .map(text)
    .filter((part) => part !== "")
    .join(" ");
}

function detail(record: PlacedRecord): string {
  const { decision, error, truncated } = record;
  const parts: string[] = [];
  const { effect, rule, reason } = (decision ?? {}) as Record<string, unknown>;
  if (effect !== undefined && effect !== "allow") {
    parts.push(`${text(effect)} by ${text(rule)}${reason === undefined ? "" : ` (${text(reason)})`}`);
  }
  if (error !== undefined) parts.push(`${text(at(error, "code"))} ${text(at(error, "message"))}`);
  if (truncated !== undefined) parts.push("result cut");
  if (record["arguments"] !== undefined) parts.push(text(record["arguments"]));
  return parts.join("  ");
}

function eventText(record: PlacedRecord): string {
  const fields = Object.entries(record).filter(([key]) => !PLACE.has(key));
  const rest = fields.map(([key, value]) => ` ${text(key)}=${text(value)}`);
  return `${pad("—", 10)}  ${text(record["event"])}${rest.join("")}`;
}

/** `2026-11-30 12:30:05.123`, on the clock of whoever reads it. */
function localTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return oneLine(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 23).replace("T", " ");
}

function pad(value: unknown, width: number): string {
  return text(value).padEnd(width);
}

function text(value: unknown): string {
  return value === undefined ? "" : oneLine(typeof value === "string" ? value : JSON.stringify(value));
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
