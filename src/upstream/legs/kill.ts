/**
 * Process groups: on POSIX every child leads its own group, and launchers (npx, uvx, a shell) are followed by the server
 * below them, so signals go to the group (field report F15). On Windows `taskkill /T` ends the tree. `stdio.ts` owns the
 * child; this file knows only process ids.
 */
import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

const windows = process.platform === "win32";

/**
 * Leaders of groups that may still have members. An id stays in it no longer than its group exists, so that a reused id
 * is never signalled.
 */
const groups = new Set<number>();

export function trackGroup(pid: number): void {
  groups.add(pid);
}

/** `/proc/N/stat` is "pid (comm) state ppid pgrp …"; comm may hold anything, also ")". */
function isLivingMember(stat: string, group: number): boolean {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[2]) === group && fields[0] !== "Z" && fields[0] !== "X";
}

/**
 * Linux: true if every member is dead and waits for its parent to notice. In a container without an init nobody ever
 * does, and `kill` reports such a group as alive for ever.
 */
function onlyZombies(group: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    for (const entry of readdirSync("/proc")) {
      if (!/^\d+$/.test(entry)) continue;
      try {
        if (isLivingMember(readFileSync(`/proc/${entry}/stat`, "latin1"), group)) return false;
      } catch {
        // It went away while we looked.
      }
    }
    return true;
  } catch {
    return false;
  }
}

/** True while a process of the group lives. On Windows: until the tree was told to end or the leader was forgotten. */
export function groupAlive(pid: number): boolean {
  if (!groups.has(pid)) return false;
  if (windows) return true;
  try {
    process.kill(-pid, 0);
    if (!onlyZombies(pid)) return true;
  } catch {
    // ESRCH: nobody is left. EPERM: only members that we may not signal (or, on macOS, zombies): nothing can be done.
  }
  groups.delete(pid);
  return false;
}

/** Signals every process of the group. On Windows SIGTERM does nothing (there is none) and SIGKILL ends the tree. */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (!groups.has(pid)) return;
  if (windows) {
    if (signal === "SIGKILL") execFile("taskkill", taskkillArgs(pid), { windowsHide: true }, () => {});
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    groups.delete(pid);
  }
}

/** The leader is gone. On Windows its tree cannot be found any more, and its id may be used again. */
export function leaderGone(pid: number): void {
  if (windows) groups.delete(pid);
}

/** True as soon as the group has no living member; false if it still has one after `ms`. */
export async function groupGone(pid: number, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let pause = 5; groupAlive(pid); pause = Math.min(2 * pause, 50)) {
    const left = end - performance.now();
    if (left <= 0) return false;
    await wait(Math.min(pause, left));
  }
  return true;
}

/** The last resort, for a `process.on("exit")` handler: SIGKILL to every group that still exists. Synchronous. */
export function killAllGroupsSync(): void {
  for (const pid of groups) {
    if (windows) {
      spawnSync("taskkill", taskkillArgs(pid), { windowsHide: true, stdio: "ignore" });
      continue;
    }
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Gone already.
    }
  }
  groups.clear();
}

function taskkillArgs(pid: number): string[] {
  return ["/pid", String(pid), "/T", "/F"];
}
