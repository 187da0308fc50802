/** A host that has no SDK between itself and the wire: it prints every line in both directions. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Reply {
  readonly jsonrpc: string;
  readonly id?: number | string | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export class WireHost {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number | string, (reply: Reply) => void>();
  readonly #print: (line: string) => void;
  #gone: (error: Error) => void = () => {};
  readonly #end: Promise<never>;

  constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv, print: (line: string) => void) {
    this.#print = print;
    this.#child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
    this.#end = new Promise((_, reject) => {
      this.#gone = reject;
    });
    this.#end.catch(() => {});
    this.#child.stderr.on("data", (chunk: Buffer) => process.stderr.write(chunk));
    this.#child.on("error", this.#gone);
    this.#child.on("exit", (code, signal) => this.#gone(new Error(`the server ended with ${code ?? signal}`)));
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#receive(line));
  }

  /** Sends one line as it is. */
  send(line: string): void {
    this.#print(`→ ${line}`);
    this.#child.stdin.write(`${line}\n`);
  }

  request(id: number | string, method: string, params: Record<string, unknown> = {}): Promise<Reply> {
    const reply = new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return Promise.race([reply, this.#end]);
  }

  notify(method: string): void {
    this.send(JSON.stringify({ jsonrpc: "2.0", method }));
  }

  /** Closes stdin, as a host does that is done. Resolves with the exit code. */
  async close(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const exit = once(this.#child, "exit") as Promise<[number | null]>;
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    const [code] = await exit;
    clearTimeout(timer);
    return code;
  }

  #receive(line: string): void {
    this.#print(`← ${line}`);
    const message = JSON.parse(line) as Reply;
    if (message.id === undefined || message.id === null) return;
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }
}
