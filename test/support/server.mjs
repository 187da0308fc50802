// A scriptable raw MCP server on stdio: `node server.mjs SCRIPT`, where SCRIPT is JSON text or the path of a JSON file.
// The script's shape: behaviour.d.mts. Tests start it through config.ts: stdioServer().
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, readFileSync } from "node:fs";
import { createBehaviour } from "./behaviour.mjs";

const given = process.argv[2] ?? process.env.SCRIPT ?? "{}";
const script = JSON.parse(given.startsWith("{") ? given : readFileSync(given, "utf8"));

function record(entry) {
  if (!script.record) return;
  if (entry.raw?.length > 1 << 20) {
    const sha256 = createHash("sha256").update(entry.raw).digest("hex");
    entry = { ...entry, raw: entry.raw.slice(0, 1000), cut: true, length: entry.raw.length, sha256 };
  }
  appendFileSync(script.record, `${JSON.stringify({ at: Date.now(), pid: process.pid, ...entry })}\n`);
}

process.stdout.on("error", () => process.exit(1));
const pieces = [];
function write(text) {
  if (!script.chunkBytes) return process.stdout.write(text);
  pieces.push(Buffer.from(text));
  if (pieces.length === 1) setImmediate(writePiece);
}
function writePiece() {
  const [first] = pieces;
  process.stdout.write(first.subarray(0, script.chunkBytes));
  if (first.length > script.chunkBytes) pieces[0] = first.subarray(script.chunkBytes);
  else pieces.shift();
  if (pieces.length > 0) setImmediate(writePiece);
}

const behaviour = createBehaviour(script, {
  send: (text) => write(`${script.noise ?? ""}${text}${script.newline ?? "\n"}`),
  record,
  effect(what, value, step) {
    switch (what) {
      case "stdout":
        return void write(value);
      case "stderr":
        for (let i = 0; i < (step.times ?? 1); i++) process.stderr.write(value);
        return;
      case "exit":
        return process.exit(value);
      case "kill":
        return void process.kill(process.pid, value);
      case "closeStdin":
        process.stdin.destroy();
        try {
          closeSync(0);
        } catch {}
        setInterval(() => {}, 1000);
        return;
      case "closeStdout":
        return void process.stdout.end();
      case "block": {
        const end = Date.now() + value;
        while (Date.now() < end);
        return;
      }
      case "grandchild": {
        const child = spawn("sh", ["-c", 'trap "" TERM INT HUP; for i in $(seq 60); do sleep 1; done'], {
          stdio: "inherit",
        });
        record({ event: "grandchild", child: child.pid });
        return;
      }
      default:
        throw new Error(`unknown step: ${what}`);
    }
  },
});

record({ event: "start", cwd: process.cwd(), env: process.env });
process.on("SIGTERM", () => {
  record({ event: "SIGTERM" });
  if (!script.ignoreSigterm) process.exit(143);
});

if (script.startDelayMs) await new Promise((done) => setTimeout(done, script.startDelayMs));
await behaviour.start();

let parts = [];
process.stdin.on("data", (chunk) => {
  let from = 0;
  for (;;) {
    const at = chunk.indexOf(10, from);
    if (at < 0) break;
    parts.push(chunk.subarray(from, at));
    const line = Buffer.concat(parts).toString("utf8");
    parts = [];
    from = at + 1;
    if (line.trim() !== "") behaviour.receive(line);
  }
  if (from < chunk.length) parts.push(chunk.subarray(from));
});
process.stdin.on("error", () => {});
process.stdin.on("end", () => {
  record({ event: "eof" });
  if (script.ignoreEof) setInterval(() => {}, 1000);
  else process.exit(0);
});
