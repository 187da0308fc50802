/**
 * The way back for progress of one request: the notification leaves with the own token of whoever asked, byte for byte
 * but for that, and only while it increases (spec.md §1.5, R126–R128).
 */
import type { Frame } from "./frame.ts";
import { splice } from "./splice.ts";
import { findMember } from "./values.ts";

/** Raw text of `params._meta.progressToken`, or undefined: then nobody asked for progress. */
export function progressTokenOf(request: Frame): string | undefined {
  const at = request.indexOf("_meta");
  if (at < 0) return undefined;
  const start = request.spans[2 * at]!;
  if (request.bytes[start] !== 0x7b) return undefined;
  const span = findMember(request.bytes, start, request.spans[2 * at + 1]!, "progressToken");
  return span === undefined ? undefined : request.bytes.utf8Slice(span[0], span[1]);
}

export function progressRoute(
  request: Frame,
  send: (chunks: readonly Buffer[]) => void,
): ((notification: Frame) => void) | undefined {
  const token = progressTokenOf(request);
  if (token === undefined) return undefined;
  let last = Number.NEGATIVE_INFINITY;
  return (notification) => {
    const progress = Number(notification.text("progress"));
    if (!(progress > last)) return;
    last = progress;
    const at = notification.indexOf("progressToken");
    const edit = { start: notification.spans[2 * at]!, end: notification.spans[2 * at + 1]!, text: token };
    send(splice(notification.bytes, [edit]));
  };
}
