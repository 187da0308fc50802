/** What the operating system says about processes that a test started. */
import { execFileSync } from "node:child_process";
import { until } from "./until.ts";

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** "S", "R+", "Z", … */
  readonly state: string;
}

function processes(): Process[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state: state ?? "" };
  });
}

/** Children of `pid`, zombies included. */
export const childrenOf = (pid: number): Process[] => processes().filter(({ parent }) => parent === pid);

/** Those of `pids` that run. One that is dead and only waits to be fetched by its new parent does not. */
export function alive(pids: readonly number[]): number[] {
  if (pids.length === 0) return [];
  const running = new Set(processes().flatMap(({ pid, state }) => (/^[ZX]/.test(state) ? [] : [pid])));
  return pids.filter((pid) => running.has(pid));
}

/** `using _left = killed(() => server.starts());`: what ignores every request to end would outlive a test that fails. */
export function killed(pids: () => readonly number[]): Disposable {
  return {
    [Symbol.dispose]() {
      for (const pid of alive(pids())) process.kill(pid, "SIGKILL");
    },
  };
}

/** Waits until none of them runs. */
export async function gone(pids: readonly number[], within: number): Promise<void> {
  let left: number[] = [];
  await until(
    () => {
      left = alive(pids);
      return left.length === 0;
    },
    { within, what: `the end of ${pids.join(", ")}`, every: 50 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}; still there: ${left.join(", ")}`);
  });
}

/** CPU time a process has used, in seconds; undefined when it is gone. `ps` counts in whole seconds. */
export function cpuSeconds(pid: number): number | undefined {
  try {
    const text = execFileSync("ps", ["-o", "time=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return text === "" ? undefined : text.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  } catch {
    return undefined;
  }
}
