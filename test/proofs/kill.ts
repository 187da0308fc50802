/**
 * kill -9 at a random moment under load: every answered call has its record, no record is doubled, and the chain
 * verifies, across rotation and checkpoints. The suite runs some rounds (test/flow/audit-kill.test.ts);
 * `npx tsx test/proofs/kill.ts 200` runs as many as you like, after a build.
 */
import { createHash, generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { loadPublicKey } from "../../src/pipeline/audit/checkpoint.ts";
import { setOf } from "../../src/pipeline/audit/set.ts";
import { verifyChain } from "../../src/pipeline/audit/verify.ts";
import { stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

export interface KillReport {
  readonly rounds: number;
  /** Calls whose answer the host had when the process was killed. */
  readonly answered: number;
  readonly records: number;
  readonly files: number;
  /** Lines that a kill had cut. */
  readonly sealed: number;
  readonly checkpoints: number;
}

const IN_FLIGHT = 32;
const ROTATE_BYTES = 20_000;
const CHECK_EVERY = 10;

/** @throws Error that names the round, and what is missing, doubled or broken */
export async function killRounds(
  rounds: number,
  seed: number,
  say: (text: string) => void = () => {},
): Promise<KillReport> {
  await using dir = await tempDir();
  const file = dir.file("audit.jsonl");
  const keys = keyPair(dir);
  const random = sequence(seed);
  const answered = new Set<number>();
  let next = 0;
  let report: KillReport | undefined;
  for (let round = 0; round < rounds; round++) {
    const audit = {
      file,
      durability: round % 2 === 0 ? "write" : "fsync",
      rotateBytes: ROTATE_BYTES,
      signingKeyFile: keys.keyFile,
      checkpointEvery: 25,
    };
    next = await oneRound(dir, audit, next, answered, random);
    if (round % CHECK_EVERY !== CHECK_EVERY - 1 && round !== rounds - 1) continue;
    try {
      report = check(file, keys.publicFile, answered, round + 1);
    } catch (error) {
      throw new Error(`after round ${round + 1} of ${rounds} (seed ${seed}): ${(error as Error).message}`);
    }
    say(JSON.stringify(report));
  }
  return report!;
}

async function oneRound(
  dir: TempDir,
  audit: object,
  from: number,
  answered: Set<number>,
  random: () => number,
): Promise<number> {
  const server = stdioServer(dir, "s", { tools: [tool("echo")], record: "/dev/null" });
  const early = random() < 0.15;
  const config = { mcpServers: { s: server.entry }, audit };
  await using host = await startHost({ config, initialize: false, logLevel: "error" });
  let next = from;
  let killed = false;
  const kill = (): void => {
    killed = true;
    host.child.kill("SIGKILL");
  };
  if (early) {
    // While it starts, mends and rotates.
    await delay(random() * 500);
    kill();
  } else {
    await host.initialize();
    const work = async (): Promise<void> => {
      while (!killed) {
        const n = next++;
        const args = { name: "s__echo", arguments: { n, text: "x".repeat(Math.floor(random() * 300)) } };
        const reply = await host.request("tools/call", args).catch(() => undefined);
        if (reply?.result !== undefined) answered.add(n);
      }
    };
    const all = Promise.all(Array.from({ length: IN_FLIGHT }, work));
    await delay(random() * 400);
    kill();
    await all;
  }
  await host.exit;
  return next;
}

function check(file: string, publicFile: string, answered: ReadonlySet<number>, rounds: number): KillReport {
  const { id, key } = loadPublicKey(publicFile);
  const files = setOf(file);
  const { problem, notes, checkpoints, last } = verifyChain(files, { keys: new Map([[id, key]]) });
  if (problem !== undefined) throw new Error(`${problem.file}:${problem.line}: ${problem.what}`);
  const seen = new Set<number>();
  let seq = 0;
  let prev = "0".repeat(64);
  for (const path of files) {
    for (const line of readFileSync(path, "latin1").split("\n")) {
      if (line === "") continue;
      const record = parse(line);
      // By another way than `verify`: numbers without a gap, each `prev` the hash of the line before, whatever that is.
      if (record !== undefined) {
        if (record.seq !== ++seq) throw new Error(`record ${record.seq} where ${seq} is due`);
        if (record.prev !== prev) throw new Error(`record ${seq} has a wrong hash`);
        const { n } = record.arguments ?? {};
        if (n !== undefined && seen.has(n)) throw new Error(`the record of call ${n} is doubled`);
        if (n !== undefined) seen.add(n);
      }
      prev = createHash("sha256").update(line, "latin1").digest("hex");
    }
  }
  const missing = [...answered].filter((n) => !seen.has(n));
  if (missing.length > 0)
    throw new Error(`${missing.length} answered calls have no record, the first is ${missing[0]}`);
  const sealed = notes.filter(({ what }) => what.includes("sealed off")).length;
  return { rounds, answered: answered.size, records: last ?? 0, files: files.length, sealed, checkpoints };
}

interface Parsed {
  readonly seq: number;
  readonly prev: string;
  readonly arguments?: { readonly n?: number };
}

function parse(line: string): Parsed | undefined {
  try {
    return JSON.parse(line) as Parsed;
  } catch {
    // Cut by a kill; `verify` has seen that it is sealed off.
    return undefined;
  }
}

function keyPair(dir: TempDir): { keyFile: string; publicFile: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const files = { keyFile: dir.file("key.pem"), publicFile: dir.file("public.pem") };
  writeFileSync(files.keyFile, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  writeFileSync(files.publicFile, publicKey.export({ type: "spki", format: "pem" }));
  return files;
}

/** mulberry32: the same moments for the same seed, as far as a busy machine has it. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

if (process.argv[1] === import.meta.filename) {
  const rounds = Number(process.argv[2] ?? 200);
  const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
  console.log(`${rounds} rounds, seed ${seed}`);
  console.log(await killRounds(rounds, seed, console.log));
}
