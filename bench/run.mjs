// Measures Switchyard against a direct connection and against a process that only copies bytes. See README.md here.
//   node bench/run.mjs [--quick] [--only calls,sizes,progress,memory,start] [--subjects direct,floor,switchyard,naive]
//                      [--rounds N] [--seed N] [--readme]
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { judge, judgeMemory, markdown, rewriteBlock } from "./report.mjs";
import { calls, memory, progress, sizes, start } from "./scenarios.mjs";
import { quietness, seeded } from "./stats.mjs";
import { subjects } from "./subjects.mjs";

/** Those of every round; memory is measured once. */
const everyRound = { calls, sizes, progress, start };
const ALL = [...Object.keys(everyRound), "memory"];
const file = (path) => fileURLToPath(new URL(path, import.meta.url));

function usage(problem) {
  console.error(`bench: ${problem}\nknown: --only ${ALL.join(",")}  --subjects ${Object.keys(subjects).join(",")}`);
  process.exit(2);
}

function choice(text, known, what) {
  const chosen = text === undefined ? known : text.split(",");
  for (const one of chosen) if (!known.includes(one)) usage(`${what} ${JSON.stringify(one)} is not known`);
  return chosen;
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        readme: { type: "boolean", default: false },
        only: { type: "string" },
        subjects: { type: "string" },
        rounds: { type: "string" },
        seed: { type: "string", default: "1" },
      },
    }).values;
  } catch (error) {
    return usage(error.message);
  }
}

const options = readOptions();
const { quick } = options;
const only = choice(options.only, ALL, "scenario");
const chosen = choice(options.subjects, Object.keys(subjects), "subject");
const rounds = Number(options.rounds ?? (quick ? 2 : 5));
if (!Number.isInteger(rounds) || rounds < 1) usage("--rounds takes a number from 1 on");

const result = {
  when: new Date().toISOString(),
  node: process.version,
  platform: process.platform,
  cores: cpus().length,
  quick,
  rounds,
  seed: Number(options.seed),
  quiet: quietness,
  /** measure -> subject -> one number a round */
  values: {},
  failures: [],
};

const bench = {
  // The two that ratios are formed with are always there.
  ids: [...new Set(["direct", "floor", ...chosen])],
  quick,
  random: seeded(result.seed),
  note(measure, id, value) {
    result.values[measure] ??= {};
    result.values[measure][id] ??= [];
    result.values[measure][id].push(value);
  },
  fail(measure, id, error) {
    result.failures.push({ measure, id, reason: String(error.message).replaceAll(/\s+/g, " ").slice(0, 200) });
    console.error(`  ${id}, ${measure}: ${error.message}`);
  },
  failed: (measure, id) => result.failures.some((failure) => failure.measure === measure && failure.id === id),
};

const begin = performance.now();
for (let round = 1; round <= rounds; round++) {
  for (const [name, scenario] of Object.entries(everyRound)) {
    if (!only.includes(name)) continue;
    console.error(`round ${round} of ${rounds}: ${name}`);
    await scenario(bench);
  }
}
if (only.includes("memory")) {
  console.error("memory");
  await memory(bench);
}
console.error(`took ${Math.round((performance.now() - begin) / 1000)} s`);

const text = markdown(result);
console.log(text);
mkdirSync(file("./results"), { recursive: true });
const summary = { ...result, rows: judge(result), memory: judgeMemory(result, "switchyard") };
writeFileSync(file("./results/latest.json"), `${JSON.stringify(summary, null, 2)}\n`);
if (options.readme) rewriteBlock(file("../README.md"), text);
