/**
 * Bytes from a server -> frames, or what became of them. The one place where the legs that face servers call `scan`.
 * A batch (revision 2025-03-26 allows it) is taken apart; whatever is no message never ends a connection.
 */
import { Frame } from "../../wire/frame.ts";
import { idOfHead } from "../../wire/head.ts";
import { LegError } from "../../wire/leg.ts";
import { type ScanFault, scan } from "../../wire/scan.ts";
import { elements, findMember } from "../../wire/values.ts";

export interface Intake {
  frame(frame: Frame): void;
  /** An answer to a request of ours arrived and cannot be used. */
  failed(id: number, error: LegError): void;
  /** Something that belongs to no request of ours. */
  noise(bytes: Buffer, why: string): void;
}

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

export function takeMessage(text: Buffer, to: Intake): void {
  // A byte order mark in front is no part of the JSON text (RFC 8259 §8.1 lets a parser ignore it).
  const marked = text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
  const bytes = marked ? text.subarray(3) : text;
  const outcome = scan(bytes);
  if (outcome instanceof Frame) return to.frame(outcome);
  if (outcome.fault !== "batch") return takeFault(bytes, outcome, to);
  const spans = elements(bytes, bytes.indexOf(OPEN_BRACKET), bytes.length);
  if (spans.length === 0) to.noise(bytes, "an empty batch");
  for (let i = 0; i < spans.length; i += 2) {
    const element = bytes.subarray(spans[i], spans[i + 1]);
    const inner = scan(element);
    if (inner instanceof Frame) to.frame(inner);
    else takeFault(element, inner, to);
  }
}

function takeFault(bytes: Buffer, { fault, idText, reason }: ScanFault, to: Intake): void {
  const isObject = fault === "malformed" || fault === "duplicate";
  // With a method (of whatever type) it is a request of the server's: its id says nothing about ours.
  const asks = isObject && findMember(bytes, bytes.indexOf(OPEN_BRACE), bytes.length, "method") !== undefined;
  const id = isObject && !asks ? ourId(idText) : undefined;
  if (id === undefined) return to.noise(bytes, reason);
  const message = `the server's answer is not a valid JSON-RPC message: ${reason}`;
  to.failed(id, new LegError("bad-answer", message, { delivered: "unknown" }));
}

/**
 * A message of `length` bytes exceeded the limit and is lost but for its first and last bytes. Returns false if they do
 * not tell what it was.
 */
export function takeOversize(head: Buffer, length: number, tail: Buffer, limit: number, to: Intake): boolean {
  const { idText, method } = idOfHead(head, tail);
  const id = method === undefined ? ourId(idText) : undefined;
  if (id === undefined) to.noise(head, `a message of ${length} bytes, more than the limit of ${limit}`);
  else to.failed(id, tooLarge(length, limit));
  return method !== undefined || id !== undefined;
}

export function tooLarge(length: number | undefined, limit: number): LegError {
  const size = length === undefined ? "larger" : `${length} bytes long, more`;
  const message = `the server's answer is ${size} than maxMessageBytes (${limit}) allows`;
  return new LegError("too-large", message, { delivered: "unknown" });
}

/** Our ids are positive integers, written plainly; undefined for any other. */
function ourId(idText: string | undefined): number | undefined {
  return idText !== undefined && /^[1-9]\d{0,15}$/.test(idText) ? Number(idText) : undefined;
}
