/** One server twice: directly and through the proxy, and the same things asked of both. */
import { expect } from "vitest";
import type { Answerer, Host, Incoming, Reply } from "../support/host.ts";
import { rawAt, rawEntries } from "../support/raw.mjs";
import { until } from "../support/until.ts";

/** Times of the day as servers write them, the locale's and ISO. */
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{1,2}:\d\d:\d\d(?:\s?[AP]M)?/g;
const MADE_UP = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g;

/** What differs from one process to the next is made the same: ids that it made up, and the time, also inside a blob. */
export function settled(text: string): string {
  return text
    .replace(/"blob":"([^"]{1,400})"/g, (whole, blob: string) => {
      const inside = Buffer.from(blob, "base64").toString("utf8");
      const told = inside.replace(TIME, "<time>");
      return told === inside ? whole : `"blob":${JSON.stringify(told)}`;
    })
    .replace(TIME, "<time>")
    .replace(MADE_UP, "<id>");
}

/** Raw text of a response's result, or of its error. */
export function outcome(reply: Reply): string {
  return settled(rawAt(reply.raw, "result") ?? `error ${rawAt(reply.raw, "error")}`);
}

type Params = Record<string, unknown>;
type RequestOptions = { token?: string | number; within?: number };

const LISTS = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const;

export interface PairOptions {
  readonly direct: Host;
  readonly proxied: Host;
  /** Key of the server's entry. */
  readonly server: string;
  /** Default true: the same bytes. False: the same values, where the direct side was parsed on its way (bridge.mjs). */
  readonly exact?: boolean;
}

export class Pair {
  readonly direct: Host;
  readonly proxied: Host;
  readonly server: string;
  readonly #exact: boolean;

  constructor({ direct, proxied, server, exact = true }: PairOptions) {
    this.direct = direct;
    this.proxied = proxied;
    this.server = server;
    this.#exact = exact;
  }

  get both(): readonly Host[] {
    return [this.direct, this.proxied];
  }

  publicName(name: string): string {
    return `${this.server}__${name}`;
  }

  /** The name of a tool as this peer knows it. */
  nameAt(peer: Host, name: string): string {
    return peer === this.proxied ? this.publicName(name) : name;
  }

  /** Two texts of JSON that must be the same. */
  expectSame(proxied: string, direct: string): void {
    if (this.#exact) expect(proxied).toBe(direct);
    else expect(parsed(proxied)).toEqual(parsed(direct));
  }

  /** Asks both, in turn, and gives the proxy's reply. Names in `params` are the server's own. */
  async same(method: string, params: Params = {}, options: RequestOptions = {}): Promise<Reply> {
    const direct = await this.direct.request(method, params, options);
    const proxied = await this.proxied.request(method, this.#outside(params), options);
    this.expectSame(outcome(proxied), outcome(direct));
    return proxied;
  }

  /** A call of a tool that has a result on both sides, the same. Gives it. */
  async sameCall(name: string, args: Params = {}, options: RequestOptions = {}): Promise<Record<string, unknown>> {
    const reply = await this.same("tools/call", { name, arguments: args }, options);
    expect(reply.result, reply.raw.slice(0, 500)).toBeDefined();
    return reply.result!;
  }

  /** A tool that its server runs as a task only: directly it is started as one and its result fetched, for us it is a call. */
  async sameTask(name: string, args: Params): Promise<Record<string, unknown>> {
    const asTask = async (): Promise<Reply> => {
      const made = await this.direct.request("tools/call", { name, arguments: args, task: {} });
      const { taskId } = made.result!["task"] as { taskId: string };
      return this.direct.request("tasks/result", { taskId });
    };
    const call = this.proxied.request("tools/call", { name: this.publicName(name), arguments: args });
    const [direct, proxied] = await Promise.all([asTask(), call]);
    this.expectSame(outcome(proxied), outcome(direct));
    expect(proxied.result, proxied.raw).toBeDefined();
    return proxied.result!;
  }

  /** The server's part of a list is what it says itself, item for item, but for names. Gives the number of items. */
  async sameList(method: keyof typeof LISTS): Promise<number> {
    const key = LISTS[method];
    const items = async (peer: Host): Promise<string[]> => {
      const reply = await peer.request(method, {});
      if (reply.error !== undefined) throw new Error(`${method}: ${reply.raw}`);
      expect(reply.result).not.toHaveProperty("nextCursor");
      return rawEntries(rawAt(reply.raw, "result", key)!).map(([, item]) => item);
    };
    const own = await items(this.direct);
    const merged = await items(this.proxied);
    const named = method === "tools/list" || method === "prompts/list";
    const expected = own.map((one) => (named ? this.#renamed(one) : one));
    const mine = merged.filter((one) => !named || this.#isMine(one));
    if (this.#exact || named) {
      expect(mine.map(parsed)).toEqual(expected.map(parsed));
      if (this.#exact) expect(mine).toEqual(expected);
    } else expect(merged.map(parsed)).toEqual(expect.arrayContaining(expected.map(parsed)));
    return own.length;
  }

  /** The same answer to a question on both sides. */
  answer(method: string, answerer: Answerer): void {
    for (const peer of this.both) peer.answer(method, answerer);
  }

  /** A mark; what came after it on both sides is told by the functions below. */
  mark(): Mark {
    return [this.direct.raw.length, this.proxied.raw.length];
  }

  /** The server's questions since then: the same ones with the same params, but that an elicitation names the server. */
  expectSameQuestions(mark: Mark, count: number): void {
    const ask = (peer: Host, from: number): Incoming[] =>
      peer.requests.filter(({ index, method }) => index >= from && method !== "roots/list");
    const own = ask(this.direct, mark[0]);
    const relayed = ask(this.proxied, mark[1]);
    expect(own, own.map(({ raw }) => raw).join("\n")).toHaveLength(count);
    expect(relayed.map(({ method }) => method)).toEqual(own.map(({ method }) => method));
    own.forEach((question, i) => {
      const asked = settled(rawAt(question.raw, "params")!);
      const told =
        question.method === "elicitation/create"
          ? asked.replace(/("message":")/, (start) => `${start}[${this.server}] `)
          : asked;
      this.expectSame(settled(rawAt(relayed[i]!.raw, "params")!), told);
    });
  }

  /** Waits for the same notification on both sides; `edit` turns the direct one's params into what the host shall see. */
  async sameNotification(
    mark: Mark,
    method: string,
    select: (params: Params) => boolean,
    edit: (params: Params) => Params = (params) => params,
  ): Promise<void> {
    const came = (peer: Host, from: number): Promise<Incoming> =>
      until(() => peer.notified(method).find(({ index, params }) => index >= from && select(params)), {
        what: `${method} ${peer === this.direct ? "directly" : "through the proxy"}`,
      }) as Promise<Incoming>;
    const own = await came(this.direct, mark[0]);
    const relayed = await came(this.proxied, mark[1]);
    expect(parsed(settled(JSON.stringify(relayed.params)))).toEqual(parsed(settled(JSON.stringify(edit(own.params)))));
  }

  /** Waits for as many log messages on both sides: the same ones in the same order, the proxy's under the server's name. */
  async sameLogs(mark: Mark, count: number): Promise<void> {
    const since = (peer: Host, from: number): Incoming[] =>
      peer
        .notified("notifications/message")
        .filter(({ index, params }) => index >= from && (peer === this.direct || params["logger"] === this.server));
    await until(() => this.both.every((peer, i) => since(peer, mark[i]!).length >= count), {
      what: `${count} messages`,
    });
    const [own, relayed] = this.both.map((peer, i) =>
      since(peer, mark[i]!).map(({ params: { level, data } }) => [level, settled(String(data))]),
    );
    expect(own).toHaveLength(count);
    expect(relayed).toEqual(own);
  }

  #outside(params: Params): Params {
    const { name, ref } = params as { name?: string; ref?: { type: string; name?: string } };
    return {
      ...params,
      ...(name === undefined ? {} : { name: this.publicName(name) }),
      ...(ref?.name === undefined ? {} : { ref: { ...ref, name: this.publicName(ref.name) } }),
    };
  }

  /** As the host shall see it: under its public name; and as we offer no tasks, nothing demands to be called as one. */
  #renamed(definition: string): string {
    const members = rawEntries(definition).map(([key, value]) => {
      const text = key === "name" ? JSON.stringify(this.publicName(JSON.parse(value) as string)) : value;
      return `${JSON.stringify(key)}:${text}`;
    });
    return `{${members.join(",")}}`.replace('"taskSupport":"required"', '"taskSupport":"optional"');
  }

  #isMine(definition: string): boolean {
    return (JSON.parse(definition) as { name: string }).name.startsWith(this.publicName(""));
  }
}

export type Mark = readonly [direct: number, proxied: number];

function parsed(text: string): unknown {
  return text.startsWith("error ") ? { error: JSON.parse(text.slice(6)) } : JSON.parse(text);
}
