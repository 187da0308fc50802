/**
 * A tool that runs only as a task (2025-11-25 `execution.taskSupport: "required"`), for a host that knows no tasks: it is
 * started as one and its result waited for, so that the host sees one blocking call (spec.md §3.13).
 */
import type { Answer, Exchange } from "../exchange.ts";
import { addMember, rewrite } from "../wire/edits.ts";
import { scan } from "../wire/scan.ts";
import { requestFrame, splice } from "../wire/splice.ts";
import type { ServerPort } from "./ports.ts";

export async function driveTask(
  server: ServerPort,
  exchange: Exchange,
  compose: (id: number) => readonly Buffer[],
): Promise<Answer> {
  const { trail, cancellation, progress } = exchange;
  const common = { cancellation, progress, timeouts: server.config.timeouts };
  let token = 0;
  try {
    const made = await server.request({
      method: "tools/call",
      compose: (id) => withTask(compose(id)),
      ...common,
      sent: (id) => {
        token = id;
        trail.sentAt = performance.now();
      },
    });
    const taskId = made.isError ? undefined : (made.value("task") as { taskId?: unknown } | undefined)?.taskId;
    // An error, or a server that answered straight away although its tool asks for a task.
    if (typeof taskId !== "string") return made;
    const ask = (method: string): ((id: number) => readonly Buffer[]) => {
      const frame = requestFrame(method, { taskId });
      return (id) => rewrite(frame, id, []);
    };
    // A task is cancelled by name, never by notification (spec.md §1.4).
    const take = cancellation.onCancel(() => {
      server
        .request({ method: "tasks/cancel", compose: ask("tasks/cancel"), cancellation: undefined, timeouts: undefined })
        .catch((error: unknown) => server.note("tasks/cancel", error));
    });
    try {
      // Blocks until the task has ended, then answers exactly what the call would have.
      return await server.request({ method: "tasks/result", compose: ask("tasks/result"), ...common, carries: token });
    } finally {
      take();
    }
  } finally {
    trail.answeredAt = performance.now();
  }
}

function withTask(chunks: readonly Buffer[]): Buffer[] {
  const bytes = Buffer.concat(chunks);
  const frame = scan(bytes);
  if ("fault" in frame) throw new Error(`a request of our own is malformed: ${frame.reason}`);
  return splice(bytes, [addMember(frame, '"task":{}')]);
}
