// The table: one row a measure, against DIRECT and FLOOR of the same rounds, with the target and whether it was met.
import { readFileSync, writeFileSync } from "node:fs";
import { median, ratioByRound } from "./stats.mjs";
import { subjects } from "./subjects.mjs";

const atMost = (limit) => ({ text: `≤ ${limit} × FLOOR`, met: (ratio) => ratio <= limit });
const atLeast = (limit) => ({ text: `≥ ${limit} × FLOOR`, met: (ratio) => ratio >= limit });

const ROWS = [
  { measure: "sequential", title: "`tools/call`, one after another, p50", unit: "µs", target: atMost(1.5) },
  { measure: "throughput", title: "calls/s, 64 in flight", unit: "/s", target: atLeast(0.6) },
  { measure: "1KiB", title: "1 KiB result, p50", unit: "ms" },
  { measure: "64KiB", title: "64 KiB result, p50", unit: "ms" },
  { measure: "1MiB", title: "1 MiB result, p50", unit: "ms", target: atMost(1.5) },
  { measure: "1MiB-escaped", title: "1 MiB result full of escapes, p50", unit: "ms" },
  { measure: "10MiB", title: "10 MiB result, p50", unit: "ms", target: atMost(1.25) },
  { measure: "progress", title: "100 progress notifications and the answer, p50", unit: "ms", target: atMost(1.7) },
  { measure: "start", title: "start to the complete list of three servers", unit: "ms" },
];
const MEMORY_LIMIT = 1.1;

function number(value) {
  if (!Number.isFinite(value)) return "–";
  return value >= 1000 ? String(Math.round(value)) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

const table = (head, rows) =>
  [head, head.map((_, column) => (column === 0 ? "---" : "--:")), ...rows]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");

/** The rows as data. Times are in milliseconds whatever the unit they are shown in; `met` is undefined without a target. */
export function judge({ values, failures }) {
  return ROWS.flatMap(({ measure, title, unit, target }) => {
    const own = values[measure];
    if (own === undefined) return [];
    const cells = Object.fromEntries(
      Object.keys(subjects).map((id) => [
        id,
        {
          median: median(own[id] ?? []),
          toFloor: ratioByRound(own[id], own.floor),
          toDirect: ratioByRound(own[id], own.direct),
          failed: failures.find((failure) => failure.measure === measure && failure.id === id)?.reason,
        },
      ]),
    );
    const { toFloor, failed } = cells.switchyard;
    const measured = own.switchyard !== undefined || failed !== undefined;
    const met = target === undefined || !measured ? undefined : failed === undefined && target.met(toFloor);
    return [{ measure, title, unit, target: target?.text, met, cells }];
  });
}

export function judgeMemory({ values }, id) {
  const few = median(values.memoryFew?.[id] ?? []);
  const many = median(values.memoryMany?.[id] ?? []);
  return { few, many, ratio: many / few, met: many / few <= MEMORY_LIMIT };
}

/** The whole as Markdown. */
export function markdown(result) {
  const rows = judge(result).map(({ title, unit, target, met, cells }) => {
    const { direct, floor, switchyard, naive } = cells;
    const value = ({ median: middle, failed }) => {
      if (failed !== undefined) return "fails";
      return Number.isFinite(middle) ? `${number(unit === "µs" ? middle * 1000 : middle)} ${unit}` : "–";
    };
    const ratio = ({ toFloor, failed }) => (failed !== undefined ? "fails" : number(toFloor));
    const verdict = met === undefined ? "" : met ? "met" : "**missed**";
    return [
      title,
      value(direct),
      value(floor),
      value(switchyard),
      number(switchyard.toDirect),
      ratio(switchyard),
      target ?? "",
      verdict,
      ratio(naive),
    ];
  });
  const parts = [];
  if (rows.length > 0) {
    const head = ["", "DIRECT", "FLOOR", "Switchyard", "÷ DIRECT", "÷ FLOOR", "target", "", "naive ÷ FLOOR"];
    parts.push(table(head, rows));
  }
  if (result.values.memoryMany !== undefined) {
    const [few, many] = result.quick ? ["2,000", "10,000"] : ["5,000", "50,000"];
    const memory = ["switchyard", "naive"].flatMap((id) => {
      const one = judgeMemory(result, id);
      if (Number.isNaN(one.many)) return [];
      const verdict = id === "switchyard" ? [`≤ ${MEMORY_LIMIT}`, one.met ? "met" : "**missed**"] : ["", ""];
      return [[subjects[id].title, `${number(one.few)} MiB`, `${number(one.many)} MiB`, number(one.ratio), ...verdict]];
    });
    parts.push(table(["resident memory", `after ${few} calls`, `after ${many} calls`, "ratio", "target", ""], memory));
  }
  const { node, platform, cores, rounds, quick, quiet, failures, when } = result;
  const restless = quiet.missed === 0 ? "" : `; ${quiet.missed} of ${quiet.asked} times the machine was not quiet`;
  parts.push(
    `${when.slice(0, 10)}, Node ${node}, ${platform}, ${cores} cores, ${rounds} rounds${quick ? ", quick run: take it as a hint only" : ""}${restless}.`,
  );
  const lines = failures.map(({ id, measure, reason }) => `- ${subjects[id].title}, ${measure}: ${reason}`);
  if (lines.length > 0) parts.push(lines.join("\n"));
  return parts.join("\n\n");
}

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

/** Puts the text between the two markers of the file. */
export function rewriteBlock(path, text) {
  const before = readFileSync(path, "utf8");
  const begin = before.indexOf(BEGIN);
  const end = before.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${path} has no ${BEGIN} … ${END}`);
  writeFileSync(path, `${before.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${before.slice(end)}`);
}
