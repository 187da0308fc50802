/** What a server says, sorted: answers, questions, progress, cancels, and notifications for the router. */
import type { Log } from "../log.ts";
import type { Frame } from "../wire/frame.ts";
import type { Questions } from "./questions.ts";
import type { Requests } from "./requests.ts";

export interface IncomingOptions {
  readonly server: string;
  readonly log: Log;
  readonly requests: Requests;
  readonly questions: Questions;
  /** What is neither progress nor a cancel: those belong to the connection. */
  notified(frame: Frame): void;
}

/** `of`: the request of ours on whose stream it came, where the transport tells. */
export function incoming(options: IncomingOptions): (frame: Frame, of: number | undefined) => void {
  const { server, log, requests, questions } = options;
  const sort = (frame: Frame, of: number | undefined): void => {
    if (frame.kind === "response") {
      if (!requests.answer(frame)) log.debug({ server, id: frame.idText }, "a late or unknown answer was dropped");
    } else if (frame.kind === "request") {
      questions.ask(frame, (question) => requests.tie(question, of));
    } else if (frame.method === "notifications/progress") {
      if (!requests.progress(frame)) log.debug({ server }, "progress for no request in flight was dropped");
    } else if (frame.method === "notifications/cancelled") {
      questions.cancelled(frame.text("requestId"), frame.string("reason") ?? "cancelled by the server");
    } else {
      options.notified(frame);
    }
  };
  return (frame, of) => {
    try {
      sort(frame, of);
    } catch (error) {
      // A fault of ours on one message of one server must not end the connection of all the others.
      const { method, kind } = frame;
      log.error({ server, method, kind, error: String(error), stack: (error as Error).stack }, "unexpected fault");
    }
  };
}
