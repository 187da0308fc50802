// FLOOR: what one more process between host and server costs if it does nothing but copy bytes. argv: the command to start.
import { spawn } from "node:child_process";

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
process.stdin.pipe(server.stdin);
server.stdout.pipe(process.stdout);
server.stdin.on("error", () => {});
process.stdout.on("error", () => server.kill());
server.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
