/** What the router needs of a downstream session. `downstream/session.ts` is one; proxy.ts introduces them. */
import type { Answer, Exchange } from "../exchange.ts";

export interface Host {
  readonly id: string;
  /** As declared in `initialize`. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly revision: string;
  /** Sends a notification; chunks joined = one JSON text. */
  notify(chunks: readonly Buffer[]): void;
  /** Sends a request; `compose` writes it under the id it is given. 0 = no deadline. */
  ask(exchange: Exchange, deadlineMs: number, compose: (id: number) => readonly Buffer[]): Promise<Answer>;
}
