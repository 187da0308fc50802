/**
 * Starts and ends the process of a stdio server; `stdio.ts` is the leg around it. What can go wrong at the start is a
 * LegError; nothing is ever thrown by a stream later.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { StdioTarget } from "../../config/types.ts";
import { LegError } from "../../wire/leg.ts";
import type { Outbox } from "../../wire/outbox.ts";
import { planLaunch } from "./command.ts";
import { childEnvironment } from "./environment.ts";
import { groupAlive, groupGone, signalGroup, trackGroup } from "./kill.ts";

export type Child = ChildProcessWithoutNullStreams & { readonly pid: number };

/** SIGKILL takes effect at once; only a process in the middle of a broken system call takes longer than this. */
const KILLED_MS = 2000;
/** What is left of the group of a child that died by itself gets SIGTERM, and after this SIGKILL. */
const REMAINS_MS = 1000;

/** Resolves when the process runs. */
export async function startChild(target: StdioTarget, baseEnv: NodeJS.ProcessEnv): Promise<Child> {
  const launch = planLaunch(target, childEnvironment(baseEnv, target.env));
  checkDirectory(target.cwd);
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(launch.file, launch.args, {
      cwd: target.cwd,
      env: launch.env,
      stdio: ["pipe", "pipe", "pipe"],
      // A group (and session) of its own: Ctrl-C in the terminal reaches us alone, and the whole group can be signalled.
      detached: process.platform !== "win32",
      windowsHide: true,
      windowsVerbatimArguments: launch.verbatim,
    });
  } catch (error) {
    throw startError(error, target.command);
  }
  // Before anything else can happen: an 'error' event without a listener would end us.
  for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter.on("error", () => {});
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(startError(error, target.command)));
  });
  const { pid } = child;
  if (pid === undefined) throw startError(new Error("no process id"), target.command);
  trackGroup(pid);
  return Object.assign(child, { pid });
}

function checkDirectory(cwd: string | undefined): void {
  if (cwd === undefined) return;
  let found = false;
  try {
    found = statSync(cwd).isDirectory();
  } catch {
    // Reported below.
  }
  if (!found) throw new LegError("closed", `the working directory does not exist: ${cwd} ("cwd")`, { delivered: "no" });
}

function startError(cause: unknown, command: string): LegError {
  const code = (cause as NodeJS.ErrnoException).code ?? "";
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "the interpreter named in its first line was not found",
    EACCES: "permission denied",
    EPERM: "permission denied",
    ENOEXEC: "it is not a program that this system can run",
    EAGAIN: "the system cannot start another process now (too many processes)",
    ENOMEM: "the system has no memory for another process",
    EMFILE: "too many open files",
    ENFILE: "too many open files",
    E2BIG: "its arguments and environment are too long",
    ERR_INVALID_ARG_VALUE: 'an argument, "cwd" or a variable of "env" holds a NUL character',
  };
  const reason = reasons[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new LegError("closed", `cannot start ${command}: ${reason}${code === "" ? "" : ` (${code})`}`, {
    delivered: "no",
    cause,
  });
}

/**
 * Ends the child and all its group: end of input, SIGTERM, SIGKILL, with up to `graceMs` after each of the first two.
 * Some servers (a `docker run -i`, say) stop what is behind them only at the end of their input (field report F17).
 */
export async function endChild(child: Child, outbox: Outbox, exited: Promise<void>, graceMs: number): Promise<void> {
  // What was queued goes out first, if the child reads it. Its output is read on, or it may never come to its end.
  void outbox.flushed();
  child.stdin.end();
  child.stdout.resume();
  const gone = async (ms: number): Promise<boolean> => {
    const end = performance.now() + ms;
    await within(exited, ms);
    return groupGone(child.pid, end - performance.now());
  };
  let over = await gone(graceMs);
  if (!over && process.platform !== "win32") {
    signalGroup(child.pid, "SIGTERM");
    over = await gone(graceMs);
  }
  if (!over) {
    signalGroup(child.pid, "SIGKILL");
    await gone(KILLED_MS);
  }
  // The group is gone; that Node has noticed it brings the exit code.
  await within(exited, KILLED_MS);
}

/** A child that died by itself may leave others of its group behind. */
export async function endRemains(pid: number): Promise<void> {
  if (!groupAlive(pid)) return;
  signalGroup(pid, "SIGTERM");
  if (await groupGone(pid, REMAINS_MS)) return;
  signalGroup(pid, "SIGKILL");
  await groupGone(pid, KILLED_MS);
}

/** Resolves with the promise, or after `ms`. */
export async function within(promise: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const timeout = wait(ms, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([promise, timeout]);
  timer.abort();
}
