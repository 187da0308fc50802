/**
 * Promise: servers written the way the SDK's own examples show work through the proxy as they do by themselves: sessions
 * or none, JSON or streams, streams that are cut and resumed, the old transport, forms, tasks. All behind one entry.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";
import { Pair } from "./pair.ts";
import {
  CAPABILITIES,
  direct,
  directRemote,
  example,
  exampleServers,
  PATIENCE,
  type Remote,
  Shared,
  START_MS,
} from "./peers.ts";
import { type Relay, startRelay } from "./relay.ts";

/** Key of the entry: the example's file. They run in one process, each on a port of its own. */
const REMOTE = {
  streamable: "simpleStreamableHttp",
  old: "simpleSseServer",
  both: "sseAndStreamableHttpCompatibleServer",
  forms: "elicitationFormExample",
  tasks: "simpleTaskInteractive",
  polling: "ssePollingExample",
  growing: "standaloneSseWithGetStreamableHttp",
  json: "jsonResponseStreamableHttp",
  stateless: "simpleStatelessStreamableHttp",
  hono: "honoWebStandardStreamableHttp",
} as const;
const STDIO = {
  sampler: "toolWithSampleServer",
  weather: "mcpServerOutputSchema",
  counter: "progressExample",
} as const;

const GREETING = "https://example.com/greetings/default";
const PROGRESS = "notifications/progress";

describe("the examples of the SDK behind one entry", () => {
  const shared = new Shared();
  let remote: Remote;
  let relay: Relay;
  let proxied: Host;

  const url = (name: keyof typeof REMOTE, path = "/mcp"): string => remote.url(path, Object.keys(REMOTE).indexOf(name));

  beforeAll(async () => {
    remote = shared.keep(await exampleServers(...Object.values(REMOTE)));
    relay = shared.keep(await startRelay(Number(new URL(url("streamable")).port)));
    const http = Object.keys(REMOTE).map((name) => [name, { type: "http", url: url(name as keyof typeof REMOTE) }]);
    const stdio = Object.entries(STDIO).map(([name, file]) => [name, example(file)]);
    const entries = {
      ...Object.fromEntries([...http, ...stdio]),
      old: { type: "sse", url: url("old") },
      // Without a type: the one speaks only the old transport, the other both of them.
      guessed: { url: url("old") },
      both: { url: url("both") },
      shaky: { type: "http", url: `http://127.0.0.1:${relay.port}/mcp` },
      bothOld: { type: "sse", url: url("both", "/sse") },
    };
    proxied = await shared.start(
      startHost({ config: { mcpServers: entries, timeouts: PATIENCE }, capabilities: CAPABILITIES }),
    );
    await proxied.toolNames();
  }, START_MS);
  afterAll(() => shared.end());

  /** A direct session with a server of `remote`, beside the proxy's. */
  async function open(
    server: string,
    name: keyof typeof REMOTE,
    kind: "http" | "sse" = "http",
    path = "/mcp",
  ): Promise<Pair & AsyncDisposable> {
    return closing(new Pair({ direct: await directRemote(kind, url(name, path)), proxied, server, exact: false }));
  }

  async function openStdio(name: keyof typeof STDIO): Promise<Pair & AsyncDisposable> {
    return closing(new Pair({ direct: await direct(example(STDIO[name])), proxied, server: name }));
  }

  test("a server with sessions, an event store, forms and tasks works throughout", async () => {
    await using pair = await open("streamable", "streamable");
    expect(await pair.sameList("tools/list")).toBe(7);
    expect(await pair.sameList("prompts/list")).toBe(1);
    expect(await pair.sameList("resources/list")).toBe(3);
    await pair.sameCall("greet", { name: "Ada" });
    expect(JSON.stringify(await pair.sameCall("list-files"))).toContain("resource_link");
    await pair.same("prompts/get", { name: "greeting-template", arguments: { name: "Ada" } });
    for (const uri of [GREETING, "file:///example/file1.txt"]) await pair.same("resources/read", { uri });

    const logs = pair.mark();
    await pair.sameCall("start-notification-stream", { interval: 5, count: 20 });
    await pair.sameLogs(logs, 20);

    const asked = pair.mark();
    pair.answer("elicitation/create", ({ requestedSchema }) => {
      const { properties } = requestedSchema as { properties: object };
      if ("rating" in properties) return { action: "accept", content: { rating: 5, recommend: true } };
      return "theme" in properties
        ? { action: "decline" }
        : { action: "accept", content: { name: "A", email: "a@b.c" } };
    });
    for (const infoType of ["contact", "preferences", "feedback"])
      await pair.sameCall("collect-user-info", { infoType });
    expect(JSON.stringify(await pair.sameTask("collect-user-info-task", { infoType: "contact" }))).toContain("a@b.c");
    pair.expectSameQuestions(asked, 4);
    expect(JSON.stringify(await pair.sameTask("delay", { duration: 20 }))).toContain("Completed 20ms");
  });

  test("a server of the old transport alone is found by its type, and by trial where the file says no type", async () => {
    await using pair = await open("old", "old", "sse");
    await using guessed = await open("guessed", "old", "sse");
    for (const one of [pair, guessed]) {
      expect(await one.sameList("tools/list")).toBe(1);
      const logs = one.mark();
      await one.sameCall("start-notification-stream", { interval: 5, count: 3 });
      await one.sameLogs(logs, 4);
    }
  });

  test("a server of both transports works over each of them", async () => {
    await using current = await open("both", "both");
    await using old = await open("bothOld", "both", "sse", "/sse");
    for (const one of [current, old]) {
      expect(await one.sameList("tools/list")).toBe(1);
      const logs = one.mark();
      await one.sameCall("start-notification-stream", { interval: 5, count: 3 });
      await one.sameLogs(logs, 3);
    }
  });

  test("forms that a server asks one after the other, or refuses after the fact, go back and forth", async () => {
    await using pair = await open("forms", "forms");
    expect(await pair.sameList("tools/list")).toBe(3);
    const mark = pair.mark();
    const user = { username: "ada", email: "ada@example.com", password: "12345678", interests: ["ai"] };
    pair.answer("elicitation/create", () => ({ action: "accept", content: user }));
    expect(JSON.stringify(await pair.sameCall("register_user"))).toContain("Registration successful");
    // Against the schema: the server's SDK refuses it.
    pair.answer("elicitation/create", () => ({ action: "accept", content: { ...user, username: "a" } }));
    expect(await pair.sameCall("register_user")).toMatchObject({ isError: true });
    pair.answer("elicitation/create", ({ message }) => ({
      action: "accept",
      content: String(message).includes("Step 1")
        ? { title: "Tea" }
        : { date: "2026-12-24", startTime: "16:00", duration: 60 },
    }));
    expect(JSON.stringify(await pair.sameCall("create_event"))).toContain("Event created");
    pair.answer("elicitation/create", () => ({ action: "cancel" }));
    expect(JSON.stringify(await pair.sameCall("update_shipping_address"))).toContain("was cancelled");
    pair.expectSameQuestions(mark, 5);
  });

  test("tools that run only as tasks ask their questions in the middle of what is one call for the host", async () => {
    await using pair = await open("tasks", "tasks");
    expect(await pair.sameList("tools/list")).toBe(2);
    const mark = pair.mark();
    pair.answer("elicitation/create", () => ({ action: "accept", content: { confirm: true } }));
    pair.answer("sampling/createMessage", () => ({
      role: "assistant",
      content: { type: "text", text: "old pond / frog leaps in / water's sound" },
      model: "basho",
    }));
    expect(JSON.stringify(await pair.sameTask("confirm_delete", { filename: "a.txt" }))).toContain("Deleted");
    expect(JSON.stringify(await pair.sameTask("write_haiku", { topic: "frogs" }))).toContain("old pond");
    pair.expectSameQuestions(mark, 2);
    pair.answer("elicitation/create", () => Promise.reject(new Error("nobody there")));
    expect(await pair.sameTask("confirm_delete", { filename: "b.txt" })).toMatchObject({ isError: true });
  });

  test("answers as plain JSON, servers without sessions and other web frameworks make no difference", async () => {
    for (const name of ["json", "hono", "stateless"] as const) {
      await using pair = await open(name, name);
      expect(await pair.sameList("tools/list")).toBe(name === "json" ? 2 : 1);
      if (name === "stateless") {
        expect(await pair.sameList("prompts/list")).toBe(1);
        await pair.same("prompts/get", { name: "greeting-template", arguments: { name: "Ada" } });
        await pair.sameCall("start-notification-stream", { interval: 1, count: 1 });
      } else {
        await pair.sameCall("greet", { name: "Ada" });
        expect(await pair.sameCall("greet", { name: 1 })).toMatchObject({ isError: true });
      }
    }
  });

  test("of several servers with one URI the first keeps it, and the others' are read under others", async () => {
    const listed = await proxied.listAll("resources/list", "resources");
    const found = listed.map(({ uri }) => uri as string).filter((uri) => uri.endsWith(GREETING));
    // `shaky` is the first one once more, over a connection of its own.
    expect(found).toEqual([GREETING, `mux-stateless+${GREETING}`, `mux-shaky+${GREETING}`]);
    for (const uri of found) {
      const reply = await proxied.request("resources/read", { uri });
      expect(reply.result).toEqual({ contents: [{ uri, text: "Hello, world!" }] });
    }
  });

  test("sampling works with a server on stdio that prints on stdout", async () => {
    await using pair = await openStdio("sampler");
    expect(await pair.sameList("tools/list")).toBe(1);
    const mark = pair.mark();
    pair.answer("sampling/createMessage", () => ({
      role: "assistant",
      content: { type: "text", text: "in short" },
      model: "test",
    }));
    expect(await pair.sameCall("summarize", { text: "a long text" })).toMatchObject({
      content: [{ text: "in short" }],
    });
    pair.expectSameQuestions(mark, 1);
  });

  test("structured content is what the text says, under the output schema of the server", async () => {
    await using pair = await openStdio("weather");
    expect(await pair.sameList("tools/list")).toBe(1);
    // The weather is made up anew for each call, so there is no same call to compare with.
    const name = pair.publicName("get_weather");
    const reply = await proxied.request("tools/call", { name, arguments: { city: "Bern", country: "CH" } });
    const text = JSON.parse(rawAt(reply.raw, "result", "content", 0, "text")!) as string;
    expect(JSON.parse(text)).toEqual(reply.result!["structuredContent"]);
    expect(await pair.sameCall("get_weather", { city: "Bern" })).toMatchObject({ isError: true });
  });

  test("progress with messages arrives whole, and ends where the host cancels", async () => {
    await using pair = await openStdio("counter");
    const told: unknown[] = [];
    for (const peer of pair.both) {
      const from = peer.raw.length;
      const progress = () => peer.notified(PROGRESS).filter(({ index }) => index >= from);
      const name = pair.nameAt(peer, "count");
      await peer.request("tools/call", { name, arguments: { n: 3 } }, { token: 0 });
      told.push(progress().map(({ params }) => params));
      const before = progress().length;
      void peer.request("tools/call", { name, arguments: { n: 100 } }, { id: "stop", token: "stop" });
      await until(() => progress().length > before, { what: "progress" });
      peer.cancel("stop");
      await peer.call(name, { n: 2 });
      // Ten a second and cancelled after the first; the server heeds it.
      expect(progress().length - before).toBeLessThan(20);
      expect(peer.raw.filter((line) => rawAt(line, "id") === '"stop"')).toEqual([]);
    }
    expect(told[0]).toHaveLength(3);
    expect(told[0]).toContainEqual({ progressToken: 0, progress: 3, total: 3, message: "Counting: 3/3" });
    expect(told[1]).toEqual(told[0]);
  });

  describe("what takes its time", () => {
    test.concurrent("a stream that the server cuts in mid-call is resumed: nothing is lost and nothing comes twice", async () => {
      await using pair = await open("polling", "polling");
      const mark = pair.mark();
      const [own, relayed] = await Promise.all(pair.both.map((peer) => peer.callText(pair.nameAt(peer, "long-task"))));
      expect(relayed).toBe("Long task completed successfully!");
      expect(relayed).toBe(own);
      await pair.sameLogs(mark, 4);
    });

    test.concurrent("a call whose connection breaks brings its answer all the same, once", async () => {
      const from = proxied.raw.length;
      const told = (): string[] =>
        proxied
          .notified("notifications/message")
          .filter(({ index, params }) => index >= from && params["logger"] === "shaky")
          .map(({ params }) => String(params["data"]).replace(/ at .*/, ""));
      const text = proxied.callText("shaky__start-notification-stream", { interval: 100, count: 10 });
      await until(() => told().length >= 3, { what: "the first messages" });
      // The stream of the call and the one for everything else. Of the latter this example's store of events can replay
      // nothing, nor does it go on with it (the `_GET_stream` of its event ids has one `_` too many for it).
      expect(relay.cut()).toBeGreaterThanOrEqual(2);
      expect(await text).toContain("Started sending periodic notifications");
      const all = Array.from({ length: 10 }, (_, i) => `Periodic notification #${i + 1}`);
      expect(told()).toEqual(all.slice(0, told().length));
      expect(await proxied.callText("shaky__greet", { name: "Ada" })).toBe("Hello, Ada!");
    });

    test.concurrent("messages during a call of two seconds come with it", async () => {
      await using pair = await open("streamable", "streamable");
      const mark = pair.mark();
      await Promise.all(pair.both.map((peer) => peer.call(pair.nameAt(peer, "multi-greet"), { name: "Ada" })));
      await pair.sameLogs(mark, 3);
    });

    test.concurrent("a resource that a server adds by itself is announced, listed and read", async () => {
      const mine = async (): Promise<string[]> =>
        (await proxied.listAll("resources/list", "resources"))
          .map(({ uri }) => uri as string)
          .filter((uri) => uri.startsWith("https://mcp-example.com/"));
      const changed = () => proxied.notified("notifications/resources/list_changed").length;
      const [before, count] = [await mine(), changed()];
      await until(() => changed() > count, { what: "resources/list_changed" });
      const after = await mine();
      expect(after.length).toBeGreaterThan(before.length);
      const reply = await proxied.request("resources/read", { uri: after.at(-1) });
      expect(reply.result).toMatchObject({ contents: [{ uri: after.at(-1) }] });
    });
  });

  test("nothing came that nobody asked for", () => {
    expect(proxied.strays).toEqual([]);
    expect(proxied.logs.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
  });
});

/** The pair ends its direct side. */
function closing(pair: Pair): Pair & AsyncDisposable {
  return Object.assign(pair, { [Symbol.asyncDispose]: () => pair.direct[Symbol.asyncDispose]() });
}
