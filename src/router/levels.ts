/**
 * Log levels that hosts have asked for. A server is told the most verbose one; what a host gets is filtered by its own.
 * A host that never set one gets what the servers send (spec.md §3.12).
 */

const LEVELS: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function isLevel(level: unknown): level is string {
  return typeof level === "string" && LEVELS.includes(level);
}

export class Levels {
  readonly #byHost = new Map<string, string>();

  set(hostId: string, level: string): void {
    this.#byHost.set(hostId, level);
  }

  forget(hostId: string): void {
    this.#byHost.delete(hostId);
  }

  /** The most verbose level that any host asked for; undefined while none has. */
  lowest(): string | undefined {
    let lowest: number | undefined;
    for (const level of this.#byHost.values()) {
      const at = LEVELS.indexOf(level);
      if (lowest === undefined || at < lowest) lowest = at;
    }
    return lowest === undefined ? undefined : LEVELS[lowest];
  }

  /** A level that MCP does not know passes: it is not ours to drop. */
  allows(hostId: string, level: string | undefined): boolean {
    const wanted = this.#byHost.get(hostId);
    const at = level === undefined ? -1 : LEVELS.indexOf(level);
    return wanted === undefined || at < 0 || at >= LEVELS.indexOf(wanted);
  }
}
