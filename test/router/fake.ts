/** In-memory servers and catalogues for the router's tests. Frames are made by the real scan. */
import type { Config, ServerConfig } from "../../src/config/types.ts";
import { Fault } from "../../src/errors.ts";
import type { PolicyItem } from "../../src/exchange.ts";
import type { Log, LogFields } from "../../src/log.ts";
import { Catalogue } from "../../src/router/catalogue.ts";
import type { ListMethod, Notice, Source } from "../../src/router/lists.ts";
import { listRow } from "../../src/router/lists.ts";
import { Frame } from "../../src/wire/frame.ts";
import { scan } from "../../src/wire/scan.ts";
import { createSealer, type Sealer } from "../../src/wire/seal.ts";

export function frame(text: string): Frame {
  const found = scan(Buffer.from(text));
  if (!(found instanceof Frame)) throw new Error(`${found.reason}: ${text}`);
  return found;
}

export const resultFrame = (result: string): Frame => frame(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
export const errorFrame = (code: number, message = "no"): Frame =>
  frame(`{"jsonrpc":"2.0","id":1,"error":${JSON.stringify({ code, message })}}`);

export const tool = (name: string, more = ""): string =>
  `{"name":${JSON.stringify(name)},"inputSchema":{"type":"object"}${more}}`;
export const prompt = (name: string): string => `{"name":${JSON.stringify(name)}}`;
export const resource = (uri: string, more = ""): string => `{"uri":${JSON.stringify(uri)},"name":"r"${more}}`;
export const template = (uriTemplate: string): string => `{"uriTemplate":${JSON.stringify(uriTemplate)},"name":"t"}`;

/** What a list answers; `cursorText` is raw. */
export type Answer = (cursorText: string | undefined) => Frame | Promise<Frame>;

/** Items in pages of `size`; `cursor(n)` is the cursor of the page that begins at item n, "" where it is empty too. */
export function paged(
  list: ListMethod,
  items: () => readonly string[],
  size = 1000,
  cursor = (n: number) => `c${n}`,
): Answer {
  return (cursorText) => {
    const all = items();
    let from = 0;
    if (cursorText !== undefined) {
      while (from < all.length && JSON.stringify(cursor(from)) !== cursorText) from += size;
      if (from >= all.length) return errorFrame(-32602, "unknown cursor");
    }
    const more = from + size < all.length ? `,"nextCursor":${JSON.stringify(cursor(from + size))}` : "";
    return resultFrame(`{"${listRow(list).member}":[${all.slice(from, from + size).join(",")}]${more}}`);
  };
}

export class FakeSource implements Source {
  readonly name: string;
  rank: number;
  ready = true;
  trying = false;
  /** Whether it was ever connected. */
  known = true;
  /** Every request as "method cursorText". */
  readonly asked: string[] = [];
  readonly answers = new Map<ListMethod, Answer>();
  /** While set, requests wait for it. */
  held: Promise<void> | undefined;
  #settle: (() => void)[] = [];

  constructor(name: string, rank: number) {
    this.name = name;
    this.rank = rank;
  }

  list(method: ListMethod, items: readonly string[] | Answer, size?: number): this {
    this.answers.set(method, typeof items === "function" ? items : paged(method, () => items, size));
    return this;
  }

  starting(): this {
    this.ready = false;
    this.known = false;
    this.trying = true;
    return this;
  }

  /** Becomes ready, or stops trying. */
  arrive(ready = true): void {
    this.ready = ready;
    this.trying = false;
    this.known ||= ready;
    for (const settle of this.#settle.splice(0)) settle();
  }

  offers(method: ListMethod): boolean | undefined {
    if (!this.known) return undefined;
    return this.answers.has(method) || (method === "resources/templates/list" && this.answers.has("resources/list"));
  }

  settled(): Promise<void> {
    return this.ready || !this.trying ? Promise.resolve() : new Promise((resolve) => this.#settle.push(resolve));
  }

  async page(method: ListMethod, cursorText: string | undefined): Promise<Frame> {
    this.asked.push(cursorText === undefined ? method : `${method} ${cursorText}`);
    if (!this.ready) throw new Fault("SERVER_CLOSED", "gone", { server: this.name });
    await this.held;
    return (this.answers.get(method) ?? paged(method, () => []))(cursorText);
  }

  count(method: ListMethod): number {
    return this.asked.filter((one) => one.split(" ")[0] === method).length;
  }
}

export interface Warning extends LogFields {
  readonly message: string;
}

export interface Setup {
  readonly sources: readonly FakeSource[];
  readonly servers?: Readonly<Record<string, Partial<ServerConfig>>>;
  readonly names?: Partial<Config["names"]>;
  readonly page?: Partial<Config["page"]>;
  readonly sealer?: Sealer;
  readonly viewKey?: string;
  readonly visible?: (item: PolicyItem) => boolean;
  readonly startupMs?: number;
}

export function config({ sources, servers = {}, names = {}, page = {}, startupMs = 1500 }: Setup): Config {
  const timeouts = { connectMs: 30_000, requestMs: 0, totalMs: 0, resetOnProgress: true, startupMs, drainMs: 5000 };
  const all = { allow: undefined, deny: [] };
  return {
    file: "/switchyard.json",
    servers: sources.map(({ name, rank }) => ({
      name,
      rank,
      target: { type: "stdio", command: "x", args: [], env: {}, cwd: undefined },
      prefix: name,
      tools: all,
      prompts: all,
      resources: all,
      rename: {},
      era: "auto",
      isolation: "auto",
      timeouts,
      concurrency: undefined,
      queueLimit: 1000,
      maxResultBytes: 0,
      pin: "off",
      secrets: [],
      ...servers[name],
    })),
    disabled: [],
    broken: [],
    warnings: [],
    timeouts,
    names: { maxLength: 64, hostPrefix: 17, separator: "__", ...names },
    page: { items: 1000, bytes: 4_194_304, ...page },
    policy: { default: "allow", rules: [] },
    audit: undefined,
    roots: undefined,
    maxMessageBytes: 0,
    secrets: [],
  };
}

export interface Rig {
  readonly catalogue: Catalogue;
  readonly told: Notice[];
  readonly warnings: Warning[];
  /** One merged page, parsed. `cursor`: any JSON value; undefined for the first page. */
  page(method: ListMethod, cursor?: unknown, waitMs?: number): Promise<ListPage>;
  /** A reload. */
  reconfigure(setup: Setup): void;
  /** Keys of all items, over all pages. */
  all(method: ListMethod): Promise<string[]>;
  [Symbol.dispose](): void;
}

export interface ListPage {
  readonly text: string;
  readonly items: readonly Record<string, unknown>[];
  readonly keys: readonly string[];
  readonly nextCursor: string | undefined;
}

export function rig(setup: Setup): Rig {
  const told: Notice[] = [];
  const warnings: Warning[] = [];
  const drop = (): void => {};
  const warn = (fields: LogFields, message: string): void => void warnings.push({ ...fields, message });
  const log: Log = { trace: drop, debug: drop, info: drop, warn, error: warn };
  const catalogue = new Catalogue({
    config: config(setup),
    sources: setup.sources,
    log,
    sealer: setup.sealer ?? createSealer(),
    visible: setup.visible ?? (() => true),
    viewKey: setup.viewKey ?? "view",
    onChanged: (notice) => told.push(notice),
  });
  const page = async (method: ListMethod, cursor?: unknown, waitMs = 1500): Promise<ListPage> => {
    const chunks = await catalogue.page(method, cursor === undefined ? undefined : JSON.stringify(cursor), waitMs);
    const text = Buffer.concat(chunks).toString();
    const row = listRow(method);
    const result = JSON.parse(text) as { nextCursor?: string } & Record<string, Record<string, unknown>[]>;
    const items = result[row.member]!;
    return { text, items, keys: items.map((item) => String(item[row.key])), nextCursor: result.nextCursor };
  };
  return {
    catalogue,
    told,
    warnings,
    page,
    reconfigure: (next) =>
      catalogue.reconfigure({
        config: config(next),
        sources: next.sources,
        visible: next.visible ?? (() => true),
        viewKey: next.viewKey ?? "view",
      }),
    async all(method) {
      const keys: string[] = [];
      let cursor: string | undefined;
      do {
        const one = await page(method, cursor);
        keys.push(...one.keys);
        cursor = one.nextCursor;
      } while (cursor !== undefined);
      return keys;
    },
    [Symbol.dispose]: () => catalogue.close(),
  };
}
