// What is done with the subjects. Each scenario notes one number for each subject and round under the key of a measure.
import { readFileSync } from "node:fs";
import { median, pause, quantile, quietMoment, shuffled } from "./stats.mjs";
import { Running, subjects } from "./subjects.mjs";

const KIB = 1024;
const MIB = 1024 * KIB;

/** @typedef {{ ids: string[], quick: boolean, random: () => number, note: (measure: string, id: string, value: number) => void,
 *   fail: (measure: string, id: string, error: Error) => void, failed: (measure: string, id: string) => boolean }} Bench */

const call = (running, params, options) => running.host.request("tools/call", params, options);

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** `width` requests in flight until `enough` says so. Resolves with the number of answers. */
async function inFlight(running, params, width, enough) {
  let sent = 0;
  let answered = 0;
  const lane = async () => {
    while (!enough(sent)) {
      sent++;
      await call(running, params);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return answered;
}

/** Runs `work` on each running subject, in a new order each time; one that failed a measure is left out of it from then on. */
async function inTurn(bench, running, measure, work) {
  await quietMoment();
  for (const one of shuffled(running, bench.random)) {
    if (bench.failed(measure, one.id)) continue;
    try {
      await work(one);
    } catch (error) {
      bench.fail(measure, one.id, error);
    }
  }
}

/** Starts all, warms them up, hands them to `work`, ends them. */
async function withSubjects(bench, work) {
  const running = [];
  try {
    for (const id of shuffled(bench.ids, bench.random)) {
      const one = new Running(id);
      running.push(one);
      await one.ready();
      const echo = one.params("echo", { text: "hello" });
      for (let n = 0; n < 1000; n++) await call(one, echo);
      await inFlight(one, echo, 64, (sent) => sent >= 5000);
    }
    await work(running);
  } finally {
    await Promise.all(running.map((one) => one.close()));
  }
}

/** Sequential calls, and calls a second with 64 in flight. */
export function calls(bench) {
  const { quick } = bench;
  return withSubjects(bench, async (running) => {
    const p50s = new Map(running.map(({ id }) => [id, []]));
    for (let slice = 0; slice < (quick ? 3 : 5); slice++) {
      await inTurn(bench, running, "sequential", async (one) => {
        const echo = one.params("echo", { text: "hello" });
        for (let n = 0; n < 20; n++) await call(one, echo);
        const times = [];
        for (let n = 0; n < (quick ? 150 : 400); n++) times.push(await timed(() => call(one, echo)));
        p50s.get(one.id).push(quantile(times, 0.5));
      });
    }
    for (const [id, values] of p50s) bench.note("sequential", id, median(values));

    const rates = new Map(running.map(({ id }) => [id, []]));
    for (let slice = 0; slice < (quick ? 2 : 3); slice++) {
      await inTurn(bench, running, "throughput", async (one) => {
        const echo = one.params("echo", { text: "hello" });
        await inFlight(one, echo, 64, (sent) => sent >= 300);
        const start = performance.now();
        const end = start + (quick ? 300 : 800);
        const answered = await inFlight(one, echo, 64, () => performance.now() >= end);
        rates.get(one.id).push((answered / (performance.now() - start)) * 1000);
      });
    }
    for (const [id, values] of rates) bench.note("throughput", id, median(values));
  });
}

const SIZES = [
  { measure: "1KiB", bytes: KIB, style: "plain", times: 100 },
  { measure: "64KiB", bytes: 64 * KIB, style: "plain", times: 40 },
  { measure: "1MiB", bytes: MIB, style: "plain", times: 12 },
  { measure: "1MiB-escaped", bytes: MIB, style: "escaped", times: 12 },
  { measure: "10MiB", bytes: 10 * MIB, style: "plain", times: 5 },
];

/** Results from 1 KiB to 10 MiB. */
export function sizes(bench) {
  return withSubjects(bench, async (running) => {
    for (const { measure, bytes, style, times } of SIZES) {
      await inTurn(bench, running, measure, async (one) => {
        const params = one.params("text", { bytes, style });
        // The first answer is looked at as a whole: a subject that is fast because it loses something does not count.
        const { content } = await call(one, params);
        const length = JSON.stringify(content[0].text).length - 2;
        if (length !== bytes) throw new Error(`a text of ${bytes} came back with ${length}`);
        const once = () => call(one, params, { opaque: true });
        for (let n = 0; n < Math.min(10, times); n++) await once();
        const measured = [];
        for (let n = 0; n < (bench.quick ? Math.ceil(times / 2) : times); n++) measured.push(await timed(once));
        bench.note(measure, one.id, quantile(measured, 0.5));
      });
    }
  });
}

/** 100 progress notifications and the answer behind them. */
export function progress(bench) {
  return withSubjects(bench, async (running) => {
    await inTurn(bench, running, "progress", async (one) => {
      const measured = [];
      // The first ones warm up.
      const times = bench.quick ? 40 : 60;
      for (let n = -times; n < times; n++) {
        const progressToken = `token-${n}`;
        const seen = [];
        one.host.onNotification = ({ method, params }) => {
          if (method === "notifications/progress" && params.progressToken === progressToken) seen.push(params.progress);
        };
        const ms = await timed(() => call(one, one.params("progress", {}, { progressToken })));
        if (n >= 0) measured.push(ms);
        one.host.onNotification = undefined;
        if (seen.length !== 100 || seen.some((value, at) => value !== at + 1)) {
          throw new Error(`${seen.length} of 100 notifications were there before the answer`);
        }
      }
      bench.note("progress", one.id, quantile(measured, 0.5));
    });
  });
}

/** From the start of the process to the list of all tools of three servers. */
export async function start(bench) {
  await quietMoment();
  for (const id of shuffled(bench.ids, bench.random)) {
    const begin = performance.now();
    const one = new Running(id, { everything: true });
    try {
      await one.ready();
      bench.note("start", id, performance.now() - begin);
    } catch (error) {
      bench.fail("start", id, error);
    } finally {
      await one.close();
    }
  }
}

/** Resident memory in MiB, of one process without its children. Linux only; elsewhere NaN. */
function residentMiB(pid) {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(kib) / KIB;
  } catch {
    return Number.NaN;
  }
}

async function restingMiB(pid) {
  await pause(300);
  const samples = [];
  for (let n = 0; n < 5; n++) {
    samples.push(residentMiB(pid));
    await pause(50);
  }
  return median(samples);
}

/** Resident memory after many calls against that after a tenth of them. Once, not once a round. */
export async function memory(bench) {
  const marks = bench.quick ? [2_000, 10_000] : [5_000, 50_000];
  for (const id of bench.ids.filter((one) => subjects[one].aggregates)) {
    const one = new Running(id);
    try {
      await one.ready();
      const echo = one.params("echo", { text: "hello" });
      let done = 0;
      for (const mark of marks) {
        const before = done;
        done += await inFlight(one, echo, 64, (sent) => before + sent >= mark);
        bench.note(mark === marks[0] ? "memoryFew" : "memoryMany", id, await restingMiB(one.host.pid));
      }
    } catch (error) {
      bench.fail("memoryMany", id, error);
    } finally {
      await one.close();
    }
  }
}
