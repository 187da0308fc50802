/** What the router needs of the leg to one server. proxy.ts makes it from an upstream connection. */
import type { ServerConfig, Timeouts } from "../config/types.ts";
import type { Cancellation } from "../exchange.ts";
import type { Frame } from "../wire/frame.ts";
import type { Capability } from "../wire/methods.ts";

export interface PortRequest {
  readonly method: string;
  /** Writes the message under the id; the id is the progress token too. */
  compose(id: number): readonly Buffer[];
  readonly cancellation: Cancellation | undefined;
  readonly progress?: ((notification: Frame) => void) | undefined;
  readonly timeouts: Timeouts | undefined;
  sent?(id: number): void;
  /** Called when it was answered, failed or cancelled. */
  ended?(): void;
}

export interface ServerPort {
  readonly name: string;
  readonly config: ServerConfig;
  readonly ready: boolean;
  /** It lets tools/call be run as a task (2025-11-25 `tasks.requests.tools.call`). */
  readonly runsTasks: boolean;
  /** What the server declared in its handshake; false while that is not known. */
  declares(capability: Capability): boolean;
  /** Its revision is this one or newer; false while it is not known. */
  atLeast(revision: string): boolean;
  /** Resolves with the response frame; rejects with a Fault. */
  request(request: PortRequest): Promise<Frame>;
  /** The same for a tool that runs only as a task: one blocking request. */
  requestAsTask(request: PortRequest): Promise<Frame>;
  notify(chunks: readonly Buffer[]): void;
  /** Logs a failure that concerns no host. */
  note(what: string, error: unknown): void;
}
