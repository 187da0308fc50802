/**
 * Promise: a host built on the official SDK, of either generation, gets from us what it gets from the server: validated,
 * typed, with its handlers called.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configFile } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";
import { until } from "../support/until.ts";
import { settled } from "./pair.ts";
import { BIN, type Entry, everything, memory, PATIENCE, Shared, START_MS } from "./peers.ts";
import { type Connect, connectV1, connectV2, type SdkHost } from "./sdk.ts";

const KINDS: [string, Connect][] = [
  ["the SDK 1.x", connectV1],
  ["the SDK 2.x, speaking as 1.x does", connectV2("legacy")],
  ["the SDK 2.x, finding out what we speak", connectV2("auto")],
];

const DYNAMIC = "demo://resource/dynamic/text/1";

/** Results are compared without what differs from one process to the next. */
const plain = (value: unknown): unknown => JSON.parse(settled(JSON.stringify(value)));

describe.each(KINDS)("a host on %s", (_, connect) => {
  const shared = new Shared();
  let dir: TempDir;
  let own: SdkHost;
  let proxied: SdkHost;
  const publicName = (name: string) => `ev__${name}`;
  const both = (): [SdkHost, (name: string) => string][] => [
    [own, (name) => name],
    [proxied, publicName],
  ];

  beforeAll(async () => {
    dir = shared.keep(await tempDir());
    const file = configFile(dir, {
      mcpServers: { ev: everything(), graph: memory(dir.file("graph.jsonl")) },
      timeouts: PATIENCE,
    });
    const serve: Entry = {
      command: process.execPath,
      args: [BIN, "serve", "--config", file],
      env: { HOME: dir.path, XDG_CACHE_HOME: dir.file("cache") },
    };
    [own, proxied] = await Promise.all([shared.start(connect(everything())), shared.start(connect(serve))]);
  }, START_MS);
  afterAll(() => shared.end());

  /** The same done with both; the results must be the same. Gives the proxy's. */
  async function same(act: (host: SdkHost, name: (original: string) => string) => Promise<unknown>): Promise<unknown> {
    const [direct, relayed] = await Promise.all(both().map(([host, name]) => act(host, name)));
    expect(plain(relayed)).toEqual(plain(direct));
    return relayed;
  }

  test("lists everything, with all that the SDK knows of an item", async () => {
    const named = (items: { name: string }[]) => items.map((item) => ({ ...item, name: publicName(item.name) }));
    const [direct, relayed] = await Promise.all(
      [own, proxied].map(async ({ client }) => ({
        ...(await client.listTools()),
        ...(await client.listPrompts()),
        ...(await client.listResources()),
        ...(await client.listResourceTemplates()),
      })),
    );
    const mine = relayed!.tools.filter(({ name }) => name.startsWith("ev__"));
    const optional = JSON.parse(JSON.stringify(named(direct!.tools)).replace('"required"}', '"optional"}')) as unknown;
    expect(mine).toEqual(optional);
    expect(mine).toHaveLength(17);
    expect(relayed!.tools).toHaveLength(17 + 9);
    expect(relayed!.prompts).toEqual(named(direct!.prompts));
    expect(relayed!.resources).toEqual([
      ...direct!.resources,
      expect.objectContaining({ uri: "memory://knowledge-graph" }),
    ]);
    expect(relayed!.resourceTemplates).toEqual(direct!.resourceTemplates);
    expect(proxied.client.getInstructions()).toContain(own.client.getInstructions()!.trim());
    expect(proxied.client.getServerCapabilities()).toMatchObject({ logging: {}, completions: {}, tools: {} });
  });

  test("calls, reads, gets and completes", async () => {
    await same((host, name) => host.call(name("echo"), { message: "hello" }));
    // The SDK checks the result against the output schema that was listed.
    expect(
      await same((host, name) => host.call(name("get-structured-content"), { location: "New York" })),
    ).toHaveProperty("structuredContent.temperature", 33);
    await same((host, name) => host.call(name("get-resource-links"), { count: 2 }));
    await same(({ client }) => client.readResource({ uri: DYNAMIC }));
    await same(({ client }, name) =>
      client.getPrompt({ name: name("resource-prompt"), arguments: { resourceType: "Text", resourceId: "1" } }),
    );
    expect(
      await same(({ client }, name) =>
        client.complete({
          ref: { type: "ref/prompt", name: name("completable-prompt") },
          argument: { name: "name", value: "" },
          context: { arguments: { department: "Sales" } },
        }),
      ),
    ).toHaveProperty("completion.values", ["David", "Eve", "Frank"]);
    const failure = (act: Promise<unknown>) =>
      act.then(
        () => "no error",
        (error: Error & { code: number }) => [error.name, error.code, error.message],
      );
    expect(
      await same(({ client }, name) => failure(client.getPrompt({ name: name("args-prompt"), arguments: {} }))),
    ).toContain(-32602);
  });

  test("gets progress, and can cancel", async () => {
    const long = "trigger-long-running-operation";
    const progress = await same(async (host, name) => {
      const seen: unknown[] = [];
      await host.call(
        name(long),
        { duration: 0.6, steps: 4 },
        { onprogress: ({ progress, total }) => seen.push([progress, total]) },
      );
      return seen.slice(0, 2);
    });
    // The SDK passes progress on a turn later than an answer that comes in the same chunk, so the last ones may get lost.
    expect(progress).toEqual([1, 2].map((n) => [n, 4]));
    await same(async (host, name) => {
      const abort = new AbortController();
      const call = host.call(
        name(long),
        { duration: 3, steps: 30 },
        { signal: abort.signal, onprogress: () => abort.abort("enough") },
      );
      await expect(call).rejects.toThrow();
      return host.call(name("echo"), { message: "still there" });
    });
  });

  test("is asked for a sample and a form, and the server gets the answers", async () => {
    expect(await same((host, name) => host.call(name("trigger-sampling-request"), { prompt: "p" }))).toMatchObject({
      content: [{ text: expect.stringContaining("sampled") as string }],
    });
    expect(await same((host, name) => host.call(name("trigger-elicitation-request"), {}))).toMatchObject({
      content: [{}, { text: expect.stringContaining("Ada") as string }, {}],
    });
    await same((host, name) => host.call(name("get-roots-list"), {}));
    expect(proxied.questions).toHaveLength(2);
    const [sample, form] = own.questions;
    const { message, ...rest } = form!.params as { message: string };
    expect(plain(proxied.questions)).toEqual(
      plain([sample, { method: form!.method, params: { ...rest, message: `[ev] ${message}` } }]),
    );
  });

  test("hears of updates that it subscribed to, and log messages", async () => {
    await same(({ client }) => client.setLoggingLevel("debug"));
    await same(({ client }) => client.subscribeResource({ uri: DYNAMIC }));
    await same((host, name) => host.call(name("toggle-subscriber-updates"), {}));
    for (const host of [own, proxied]) {
      await until(() => host.updated.includes(DYNAMIC), { what: "the update" });
      await until(() => host.logged.some((one) => JSON.stringify(one).includes("Subscribe")), { what: "the message" });
    }
    expect(proxied.logged).toContainEqual(expect.objectContaining({ logger: "ev" }));
    await same((host, name) => host.call(name("toggle-subscriber-updates"), {}));
  });
});
