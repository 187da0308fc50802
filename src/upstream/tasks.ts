/**
 * A tool that runs only as a task (2025-11-25 `execution.taskSupport: "required"`), for a host that knows no tasks: it is
 * started as one and its result waited for, so that the host sees one blocking call (spec.md §3.13). One clock and one
 * cancellation for the whole; a task is cancelled by its name, never by notification (spec.md §1.4).
 */
import { Fault } from "../errors.ts";
import { Cancellation } from "../exchange.ts";
import { addMember, rewrite } from "../wire/edits.ts";
import type { Frame } from "../wire/frame.ts";
import { scan } from "../wire/scan.ts";
import { requestFrame, splice } from "../wire/splice.ts";
import { lateFault, startClock } from "./clock.ts";
import type { RequestSpec } from "./requests.ts";

/** What this needs of the connection. */
export interface TaskPort {
  request(spec: RequestSpec): Promise<Frame>;
  /** The progress token of that request is not good any more. */
  forget(token: number): void;
  note(error: unknown): void;
}

export function runTask(server: string, spec: RequestSpec, port: TaskPort): Promise<Frame> {
  return new Promise((resolve, reject) => {
    let over = false;
    let token: number | undefined;
    let taskId: string | undefined;
    const waiting = new Cancellation();
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      clock?.stop();
      unlisten?.();
      if (token !== undefined) port.forget(token);
      spec.ended?.();
      settle();
    };
    const ask = (method: string, cancellation: Cancellation | undefined): Promise<Frame> => {
      const frame = requestFrame(method, { taskId });
      return port.request({ method, compose: (id) => rewrite(frame, id, []), cancellation, timeouts: undefined });
    };
    /** Before the server has named its task there is nothing to cancel: that follows as soon as it has. */
    const cancelTask = (): void => {
      if (taskId !== undefined) ask("tasks/cancel", undefined).catch((error: unknown) => port.note(error));
    };
    const giveUp = (fault: Fault): void =>
      end(() => {
        cancelTask();
        waiting.cancel(fault.message);
        reject(fault);
      });
    const clock = spec.timeouts && startClock(spec.timeouts, (limit) => giveUp(lateFault(server, spec.method, limit)));
    const unlisten = spec.cancellation?.onCancel((reason) => giveUp(new Fault("CANCELLED", reason)));
    const progress = (notification: Frame): void => {
      clock?.renew();
      if (!over) spec.progress?.(notification);
    };

    const made = port.request({
      method: spec.method,
      compose: (id) => withTask(spec.compose(id)),
      cancellation: undefined,
      progress,
      lasting: true,
      timeouts: undefined,
      sent: (id) => {
        token = id;
        spec.sent?.(id);
      },
    });
    made
      .then((answer) => {
        const named = answer.isError ? undefined : (answer.value("task") as { taskId?: unknown } | undefined)?.taskId;
        // An error, or a server that answered straight away although its tool asks for a task.
        if (typeof named !== "string") return answer;
        taskId = named;
        if (over) {
          cancelTask();
          return answer;
        }
        // Blocks until the task has ended, then answers exactly what the call would have.
        return ask("tasks/result", waiting);
      })
      .then(
        (answer) => end(() => resolve(answer)),
        (error: unknown) => end(() => reject(error)),
      )
      .finally(() => {
        if (token !== undefined) port.forget(token);
      });
  });
}

function withTask(chunks: readonly Buffer[]): Buffer[] {
  const bytes = Buffer.concat(chunks);
  const frame = scan(bytes);
  if ("fault" in frame) throw new Error(`a request of our own is malformed: ${frame.reason}`);
  return splice(bytes, [addMember(frame, '"task":{}')]);
}
