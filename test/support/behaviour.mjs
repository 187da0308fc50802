// What a scripted MCP server does with the messages it gets, whatever carries them (server.mjs: stdio, http-server.ts:
// HTTP). Plain JavaScript without dependencies, so that a server process starts fast. The script's shape: behaviour.d.mts.
import { createHash } from "node:crypto";
import { rawAt, rawEntries } from "./raw.mjs";

const LISTS = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "templates",
};
const MEMBER = { tools: "tools", prompts: "prompts", resources: "resources", templates: "resourceTemplates" };
const raw = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const quote = (text) => JSON.stringify(text);
const delay = (ms) => new Promise((done) => setTimeout(done, ms));

export function createBehaviour(script, port) {
  const name = script.name ?? "scripted";
  const versions = script.versions ?? ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
  const lists = {};
  for (const list of ["tools", "prompts", "resources", "templates"]) {
    if (script.pages?.[list]) lists[list] = script.pages[list];
    else if (script[list]) lists[list] = paged(script[list]);
  }
  const failures = { ...script.errors };
  const muted = new Set(script.mute ?? []);
  const calls = new Map(); // running requests: id text -> context
  const asked = new Map(); // our requests: id text -> resolve
  const uses = new Map(); // how often a sequence was used
  const pendingAsks = new Set();
  let counter = 0;
  let nextAsk = 1;

  function paged(items) {
    const size = script.pageSize ?? Math.max(1, items.length);
    const pages = [];
    for (let i = 0; i < Math.max(1, Math.ceil(items.length / size)); i++) {
      pages.push({ items: items.slice(i * size, (i + 1) * size) });
      if (i > 0) pages[i].cursor = pages[i - 1].next = `c%2F${i}==`;
    }
    return pages;
  }
  const itemsOf = (list) =>
    (lists[list] ?? []).flatMap((page) => page.items).flatMap((item) => JSON.parse(raw(item)) ?? []);

  function capabilities() {
    if (script.capabilities !== undefined) return raw(script.capabilities);
    const found = {};
    if (lists.tools) found.tools = { listChanged: true };
    if (lists.prompts) found.prompts = { listChanged: true };
    if (lists.resources || lists.templates) found.resources = { listChanged: true, subscribe: true };
    return JSON.stringify(found);
  }

  const send = (text, about) => port.send(text, about);
  function answer(context, body) {
    if (context.answered) return;
    context.answered = true;
    calls.delete(context.id);
    send(`{"jsonrpc":"2.0","id":${context.id},${body}}`, { request: context.id, final: true });
  }
  const result = (context, text) => answer(context, `"result":${text}`);
  const error = (context, failure) => answer(context, `"error":${raw(failure)}`);
  const notify = (method, params, context) =>
    send(`{"jsonrpc":"2.0","method":${quote(method)}${params === undefined ? "" : `,"params":${raw(params)}`}}`, {
      request: context?.answered ? undefined : context?.id,
    });

  function list(context, kind) {
    const cursor = rawAt(context.rawParams ?? "{}", "cursor");
    const page = (lists[kind] ?? [{ items: [] }]).find(
      (page) => (page.cursor === undefined ? undefined : quote(page.cursor)) === cursor,
    );
    if (!page) return error(context, { code: -32602, message: "Invalid cursor" });
    const next = page.next === undefined ? "" : `,"nextCursor":${quote(page.next)}`;
    result(
      context,
      `{"${MEMBER[kind]}":[${page.items.map(raw).join(",")}]${next}${page.extra ? `,${page.extra}` : ""}}`,
    );
  }

  function matchesTemplate(uri) {
    return itemsOf("templates").some((template) => {
      const pattern = template.uriTemplate.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]*\}/g, "[^/]*");
      return new RegExp(`^${pattern}$`).test(uri);
    });
  }

  async function steps(context, list) {
    for (const step of list) await one(context, step);
    if (context.id !== undefined && !context.answered && !context.silent) {
      result(context, '{"content":[{"type":"text","text":"done"}]}');
    }
  }

  async function ask(context, request) {
    const id = quote(request.id ?? nextAsk++);
    const reply = new Promise((done) => asked.set(id, done));
    const params = request.params === undefined ? "" : `,"params":${raw(request.params)}`;
    send(`{"jsonrpc":"2.0","id":${id},"method":${quote(request.method)}${params}}`, {
      request: context.answered || request.unrelated ? undefined : context.id,
    });
    const entry = { id, reply: reply.then((text) => context.answers.push(text)) };
    pendingAsks.add(entry);
    await entry.reply;
    pendingAsks.delete(entry);
  }

  async function one(context, step) {
    const [what] = Object.keys(step);
    const value = step[what];
    switch (what) {
      case "result":
        return result(context, raw(value));
      case "error":
        return error(context, value);
      case "echo":
        return result(context, `{"content":[{"type":"text","text":${quote(context.rawParams ?? "")}}]}`);
      case "mirror":
        return result(
          context,
          `{"content":[{"type":"text","text":"mirror"}],"structuredContent":${rawAt(context.rawParams, "arguments") ?? "null"}}`,
        );
      case "fill":
        return result(context, `{"content":[{"type":"text","text":"${(step.char ?? "x").repeat(value)}"}]}`);
      case "digest": {
        const sha256 = createHash("sha256").update(context.rawParams).digest("hex");
        return result(context, `{"content":[{"type":"text","text":"${context.rawParams.length} ${sha256}"}]}`);
      }
      case "counter":
        if (value === "inc") counter++;
        return result(context, `{"content":[{"type":"text","text":"${counter}"}]}`);
      case "pid":
        return result(context, `{"content":[{"type":"text","text":"${process.pid}"}]}`);
      case "answers":
        return result(context, `{"content":[{"type":"text","text":${quote(JSON.stringify(context.answers))}}]}`);
      case "wait":
        return await delay(value);
      case "silent":
        context.silent = true;
        return;
      case "untilCancelled":
        context.silent = true;
        return await context.cancelled;
      case "progress": {
        const token = step.token === undefined ? context.token : raw(step.token);
        for (let i = 1; i <= value; i++) {
          const at = step.values ? step.values[i - 1] : (step.from ?? 0) + i;
          const extra = step.extra ? `,${step.extra}` : "";
          if (token !== undefined) {
            notify("notifications/progress", `{"progressToken":${token},"progress":${at}${extra}}`, context);
          }
          if (step.gap && i < value) await delay(step.gap);
        }
        return;
      }
      case "ask":
        if (step.wait === false) {
          for (const request of value) void ask(context, request);
          return;
        }
        if (step.parallel) return void (await Promise.all(value.map((request) => ask(context, request))));
        for (const request of value) await ask(context, request);
        return;
      case "cancelAsks":
        for (const { id } of pendingAsks) {
          notify("notifications/cancelled", `{"requestId":${id},"reason":"scripted"}`, context);
          asked.delete(id);
        }
        return;
      case "log":
        for (const entry of Array.isArray(value) ? value : [value]) notify("notifications/message", entry, context);
        return;
      case "notify":
        return notify(value.method, value.params, step.unrelated ? undefined : context);
      case "changed":
        for (let i = 0; i < (step.times ?? 1); i++) notify(`notifications/${value}/list_changed`);
        return;
      case "updated":
        return notify("notifications/resources/updated", { uri: value });
      case "set":
        for (const [kind, items] of Object.entries(value)) lists[kind] = paged(items);
        return;
      case "fail":
        Object.assign(failures, value);
        return;
      case "mute":
        for (const method of value) muted.add(method);
        return;
      case "unmute":
        for (const method of value) muted.delete(method);
        return;
      case "raw":
        return send(value, { request: context.answered ? undefined : context.id });
      default:
        // Effects on the process or the connection: stdout, stderr, exit, kill, closeStdin, closeStdout, grandchild, cut, …
        return await port.effect(what, value, step, context);
    }
  }

  function scripted(key) {
    const found = script.on?.[key];
    if (!found) return undefined;
    if (Array.isArray(found)) return found;
    const used = uses.get(key) ?? 0;
    uses.set(key, used + 1);
    return found.sequence[Math.min(used, found.sequence.length - 1)];
  }

  async function request(context) {
    const { method, params } = context;
    const wait = typeof script.answerDelayMs === "object" ? script.answerDelayMs[method] : script.answerDelayMs;
    if (wait) await delay(wait);
    if (muted.has(method)) return;
    const failure = failures[method];
    if (failure && (failure.times === undefined || failure.times-- > 0)) {
      return error(context, { code: failure.code, message: failure.message, data: failure.data });
    }
    const byMethod = scripted(`method:${method}`);
    if (byMethod) return await steps(context, byMethod);

    if (method === "initialize") {
      if (script.onInitialize) for (const step of script.onInitialize) await one(context, step);
      const offered = params?.protocolVersion;
      const version = versions.includes(offered) ? offered : versions[0];
      const info = raw(script.serverInfo ?? { name, version: script.version ?? "1.0.0" });
      const words = script.instructions === undefined ? "" : `,"instructions":${quote(script.instructions)}`;
      return result(
        context,
        `{"protocolVersion":${quote(version)},"capabilities":${capabilities()},"serverInfo":${info}${words}}`,
      );
    }
    if (LISTS[method]) {
      const kind = LISTS[method];
      if (!lists[kind] && !(kind === "templates" && lists.resources) && !(kind === "resources" && lists.templates)) {
        return error(context, { code: -32601, message: "Method not found" });
      }
      return list(context, kind);
    }
    if (method === "ping" || method === "logging/setLevel") return result(context, "{}");
    if (method === "tools/call") {
      const tool = params?.name;
      const found = scripted(tool);
      if (found) return await steps(context, found);
      if (tool === "do") return await steps(context, params.arguments?.steps ?? []);
      if (!itemsOf("tools").some((item) => item.name === tool)) {
        return error(context, { code: -32602, message: `Unknown tool: ${tool}` });
      }
      if (tool === "echo") return await one(context, { echo: true });
      if (tool === "mirror") return await one(context, { mirror: true });
      return result(context, `{"content":[{"type":"text","text":${quote(`${name}:${tool}`)}}]}`);
    }
    if (method === "prompts/get") {
      const found = scripted(`prompt:${params?.name}`);
      if (found) return await steps(context, found);
      if (!itemsOf("prompts").some((item) => item.name === params?.name)) {
        return error(context, { code: -32602, message: `Unknown prompt: ${params?.name}` });
      }
      const text = quote(context.rawParams);
      return result(
        context,
        `{"description":${quote(`${name}:${params.name}`)},"messages":[{"role":"user","content":{"type":"text","text":${text}}}]}`,
      );
    }
    if (method === "resources/read") {
      const uri = params?.uri;
      const found = scripted(`resource:${uri}`);
      if (found) return await steps(context, found);
      if (!itemsOf("resources").some((item) => item.uri === uri) && !matchesTemplate(uri)) {
        return error(context, { code: -32002, message: "Resource not found", data: { uri } });
      }
      const text = quote(`${name}:${uri}`);
      return result(context, `{"contents":[{"uri":${quote(uri)},"mimeType":"text/plain","text":${text}}]}`);
    }
    if (method === "resources/subscribe" || method === "resources/unsubscribe") return result(context, "{}");
    if (method === "completion/complete" && JSON.parse(capabilities()).completions) {
      const ref = rawAt(context.rawParams, "ref");
      return result(context, `{"completion":{"values":[${quote(`${name}:${ref}`)}],"total":1,"hasMore":false}}`);
    }
    error(context, { code: -32601, message: "Method not found" });
  }

  return {
    /** Before anything is read. */
    async start() {
      const context = { answers: [], answered: true };
      for (const step of script.onStart ?? []) await one(context, step);
    },
    /** One message, as text. */
    receive(text, about = {}) {
      let message;
      try {
        message = JSON.parse(text);
      } catch {
        port.record({ raw: text, invalid: true, ...about });
        return send('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}', about);
      }
      port.record({ raw: text, ...about });
      if (message.method === undefined) {
        const id = rawAt(text, "id");
        asked.get(id)?.(text);
        asked.delete(id);
        return;
      }
      const id = rawAt(text, "id");
      if (id === undefined) {
        if (message.method === "notifications/cancelled") {
          calls.get(rawAt(text, "params", "requestId"))?.cancel();
        }
        const scriptedSteps =
          message.method === "notifications/initialized"
            ? script.onInitialized
            : script.on?.[`method:${message.method}`];
        const context = { answers: [], answered: true, params: message.params };
        if (scriptedSteps) void steps(context, scriptedSteps);
        return;
      }
      let cancel = () => {};
      const context = {
        id,
        method: message.method,
        params: message.params,
        rawParams: rawAt(text, "params"),
        token: rawEntries(rawAt(text, "params", "_meta") ?? "{}").find(([key]) => key === "progressToken")?.[1],
        answers: [],
        answered: false,
        silent: false,
        cancelled: new Promise((done) => {
          cancel = done;
        }),
        cancel: () => cancel(),
      };
      calls.set(id, context);
      request(context).catch((failure) => error(context, { code: -32603, message: `script: ${failure.message}` }));
    },
    /** For tests in the same process: runs steps that belong to no request. */
    run: (list) => steps({ answers: [], answered: true }, list),
  };
}
