// A raw JSON-RPC host on stdio: no SDK, so that what it costs itself is small and the same for everything measured.
import { spawn } from "node:child_process";

const LF = 10;
/** Answers longer than this are not parsed where the caller does not need the value: it times the way, not JSON.parse. */
const OPAQUE_BYTES = 4096;
/** A small, fixed environment: what a host has set besides must not slow one side down more than the other. */
const environment = Object.fromEntries(
  ["PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "APPDATA", "TEMP", "TMP", "TMPDIR", "LANG"].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  ),
);

export class RawHost {
  #child;
  #exited;
  #chunks = [];
  #pending = new Map();
  #nextId = 1;
  #watch;
  /** Set when the process is gone. */
  ended;
  stderrTail = "";
  /** @type {((message: object) => void) | undefined} */
  onNotification;

  /** `env` comes on top of the base. */
  constructor([command, ...args], env = {}) {
    this.#child = spawn(command, args, {
      env: { ...environment, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.#child.stdout.on("data", (chunk) => this.#data(chunk));
    this.#child.stderr.on("data", (chunk) => {
      this.stderrTail = (this.stderrTail + chunk).slice(-2000);
    });
    this.#child.stdin.on("error", () => {});
    this.#exited = new Promise((resolve) => {
      const over = (why) => {
        this.#end(why);
        resolve();
      };
      this.#child.on("error", (error) => over(error.message));
      this.#child.on("exit", (code, signal) => over(`ended with ${code ?? signal}`));
    });
    this.#watch = setInterval(() => this.#expire(), 500);
    this.#watch.unref();
  }

  get pid() {
    return this.#child.pid;
  }

  /**
   * One request. `params` is JSON text. Resolves with the result, or with `{ bytes }` if `opaque` is set and the answer is
   * long; then no other request may be in flight.
   */
  request(method, params, { opaque = false, timeoutMs = 20_000 } = {}) {
    if (this.ended !== undefined) return Promise.reject(new Error(this.ended));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, opaque, deadline: performance.now() + timeoutMs });
      this.#child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`);
    });
  }

  notify(method) {
    this.#child.stdin.write(`{"jsonrpc":"2.0","method":"${method}"}\n`);
  }

  async initialize() {
    const clientInfo = { name: "switchyard-bench", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const result = await this.request("initialize", JSON.stringify(params));
    this.notify("notifications/initialized");
    return result;
  }

  /** All pages. */
  async tools() {
    const tools = [];
    let cursor;
    do {
      const page = await this.request("tools/list", cursor === undefined ? "{}" : JSON.stringify({ cursor }));
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
  }

  /** EOF, then SIGTERM, then SIGKILL, to the one process that this host started. */
  async close() {
    clearInterval(this.#watch);
    this.#child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      const timer = setTimeout(() => this.#child.kill(signal), 4000);
      await Promise.race([this.#exited, new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
      clearTimeout(timer);
      if (this.ended !== undefined) return;
    }
  }

  #data(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#chunks.push(chunk.subarray(start, end));
      const line = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
      this.#chunks = [];
      start = end + 1;
      this.#line(line);
    }
    if (start < chunk.length) this.#chunks.push(start === 0 ? chunk : chunk.subarray(start));
  }

  #line(line) {
    if (line.length > OPAQUE_BYTES && this.#pending.size === 1) {
      const [[id, { opaque }]] = this.#pending;
      if (opaque) return this.#settle(id, ({ resolve }) => resolve({ bytes: line.length }));
    }
    const message = JSON.parse(line.toString("utf8"));
    if (message.method !== undefined) return this.onNotification?.(message);
    this.#settle(message.id, ({ resolve, reject }) => {
      if (message.error === undefined) resolve(message.result);
      else reject(new Error(`error ${message.error.code}: ${message.error.message}`));
    });
  }

  #settle(id, act) {
    const entry = this.#pending.get(id);
    this.#pending.delete(id);
    if (entry !== undefined) act(entry);
  }

  #expire() {
    const now = performance.now();
    for (const [id, { deadline, reject }] of this.#pending) {
      if (deadline > now) continue;
      this.#pending.delete(id);
      reject(new Error("no answer in time"));
    }
  }

  #end(why) {
    if (this.ended !== undefined) return;
    this.ended = why;
    for (const { reject } of this.#pending.values()) reject(new Error(`${why}: ${this.stderrTail.slice(-300)}`));
    this.#pending.clear();
  }
}
