/** `audit tail`: the last records, and with `-f` those that come. */
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type PlacedRecord, parseLine } from "../../pipeline/audit/line.ts";
import { asideFiles, baseOf } from "../../pipeline/audit/set.ts";
import type { Shell } from "../shell.ts";
import { cut } from "../text.ts";
import { auditChains, type FileOptions } from "./files.ts";
import { type Filter, type FilterOptions, makeFilter } from "./filter.ts";
import { Follower } from "./follow.ts";
import { fileBackwards, linesBackwards } from "./last.ts";
import { asLine } from "./show.ts";

interface TailOptions extends FileOptions, FilterOptions {
  follow?: boolean;
  lines?: number;
  json?: boolean;
}

interface Shown {
  readonly record: PlacedRecord;
  readonly bytes: Buffer;
}

const DEFAULT_LINES = 10;
const POLL_MS = 200;
/** Clocks are set back, by a little; records that came before are not looked for beyond that. */
const CLOCK_SLACK_MS = 60_000;

export async function tail(shell: Shell, file: string | undefined, options: TailOptions): Promise<number> {
  const filter = makeFilter(options, Date.now());
  const [paths] = await auditChains(shell, file === undefined ? [] : [file], options);
  const print = (shown: readonly Shown[]) => shell.print(shown.map((one) => asText(one, shell, options.json)).join(""));
  // Opened before the others are read: what is written or set aside meanwhile is read here, and only here.
  const last = paths!.at(-1)!;
  const follower = new Follower(last);
  try {
    const count = options.lines ?? (options.since === undefined ? DEFAULT_LINES : Number.POSITIVE_INFINITY);
    const older = baseOf(last) === last ? asideFiles(last) : paths!.slice(0, -1);
    await print(lastOf(older, follower, filter, count));
    if (options.follow === true) await follow(shell, follower, (lines) => print(chosen(lines, filter)));
  } finally {
    follower.close();
  }
  return 0;
}

function lastOf(older: readonly string[], follower: Follower, filter: Filter, count: number): Shown[] {
  const found: Shown[] = [];
  for (const lines of backwards(older, follower)) {
    for (const bytes of lines) {
      if (found.length >= count) return found.reverse();
      const record = parseLine(bytes);
      if (record === undefined) continue;
      if (filter.sinceMs !== undefined && Date.parse(record.time) < filter.sinceMs - CLOCK_SLACK_MS) {
        return found.reverse();
      }
      if (filter.fits(record)) found.push({ record, bytes: Buffer.from(bytes) });
    }
  }
  return found.reverse();
}

function* backwards(older: readonly string[], { fd, ino, position }: Follower): Generator<Iterable<Buffer>> {
  if (fd !== undefined) yield linesBackwards(fd, position);
  for (const path of older.toReversed()) {
    const stats = statSync(path);
    if (stats.ino !== ino) yield fileBackwards(path, stats.size);
  }
}

function chosen(lines: readonly Buffer[], { fits }: Filter): Shown[] {
  return lines.flatMap((bytes) => {
    const record = parseLine(bytes);
    return record !== undefined && fits(record) ? [{ record, bytes }] : [];
  });
}

/** Until a signal comes, or nobody reads any more. */
async function follow({ io }: Shell, follower: Follower, show: (lines: Buffer[]) => Promise<void>): Promise<void> {
  const ended = new AbortController();
  const end = () => ended.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const name of signals) io.signals.on(name, end);
  io.stdout.once("close", end);
  try {
    while (!ended.signal.aborted && !io.stdout.destroyed) {
      const lines = follower.poll();
      if (lines.length > 0) await show(lines);
      else await sleep(POLL_MS, undefined, { signal: ended.signal }).catch(() => {});
    }
  } finally {
    for (const name of signals) io.signals.off(name, end);
    io.stdout.off("close", end);
  }
}

function asText({ record, bytes }: Shown, { io, width }: Shell, json: boolean | undefined): string {
  if (json === true) return `${bytes.toString("utf8")}\n`;
  const line = asLine(record);
  return `${io.stdout.isTTY === true ? cut(line, width) : line}\n`;
}
