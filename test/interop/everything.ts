/**
 * The reference server with every feature of the protocol, directly and through the proxy. One suite for its three
 * transports: each test file gives the way to both.
 */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";
import { outcome, Pair } from "./pair.ts";
import { CAPABILITIES, PATIENCE, Shared, START_MS } from "./peers.ts";

const SERVER = "ev";
const MESSAGE = "notifications/message";
const PROGRESS = "notifications/progress";
const UPDATED = "notifications/resources/updated";
const RESOURCES_CHANGED = "notifications/resources/list_changed";

export interface Way {
  readonly transport: string;
  /** Gives the entry for the proxy and a direct peer; what it starts it puts into `shared`. */
  open(shared: Shared): Promise<{ entry: object; direct: Host }>;
  /** See PairOptions. */
  readonly exact: boolean;
}

export function everythingBehaves({ transport, open, exact }: Way): void {
  describe(`server-everything over ${transport}`, () => {
    const shared = new Shared();
    let pair: Pair;
    let direct: Host;
    let proxied: Host;
    let roots = [{ uri: "file:///roots/one", name: "one" }];

    beforeAll(async () => {
      const { entry, direct: peer } = await open(shared);
      direct = peer;
      proxied = shared.use(
        await startHost({
          config: { mcpServers: { [SERVER]: entry }, timeouts: PATIENCE },
          capabilities: CAPABILITIES,
        }),
      );
      pair = new Pair({ direct, proxied, server: SERVER, exact });
      pair.answer("roots/list", () => ({ roots }));
    }, START_MS);
    afterAll(() => shared.end());

    test("the host sees every tool, prompt, resource and template as the server defines it, and its instructions", async () => {
      expect(await pair.sameList("tools/list")).toBe(17);
      expect(await pair.sameList("prompts/list")).toBe(4);
      expect(await pair.sameList("resources/list")).toBe(7);
      expect(await pair.sameList("resources/templates/list")).toBe(2);
      expect(proxied.initializeResult["instructions"]).toBe(direct.initializeResult["instructions"]);
      expect(proxied.initializeResult["instructions"]).toHaveLength(1575);
      expect(proxied.initializeResult["protocolVersion"]).toBe(direct.initializeResult["protocolVersion"]);
      const offered = direct.initializeResult["capabilities"] as Record<string, unknown>;
      const { tasks: _, ...relayed } = offered;
      expect(proxied.initializeResult["capabilities"]).toEqual(relayed);
      // It announces each of its conditional tools at start; the host had no list yet that could have changed.
      expect(proxied.notified("notifications/tools/list_changed")).toEqual([]);
    });

    test("every tool that only answers gives the same result, also where it refuses", async () => {
      await pair.sameCall("echo", { message: 'ünï ☃ \u2028 "quoted" \\ end' });
      await pair.sameCall("get-sum", { a: 0.1, b: 1e21 });
      const image = await pair.sameCall("get-tiny-image");
      expect(image["content"]).toMatchObject([{ type: "text" }, { type: "image", mimeType: "image/png" }, {}]);
      for (const messageType of ["error", "success", "debug"]) {
        const told = await pair.sameCall("get-annotated-message", { messageType, includeImage: true });
        expect(told["content"]).toMatchObject([{ annotations: {} }, { type: "image", annotations: { priority: 0.5 } }]);
      }
      const weather = await pair.sameCall("get-structured-content", { location: "Chicago" });
      expect(weather["structuredContent"]).toEqual({
        temperature: 36,
        conditions: "Light rain / drizzle",
        humidity: 82,
      });
      const links = await pair.sameCall("get-resource-links", { count: 10 });
      expect((links["content"] as { type: string }[]).filter(({ type }) => type === "resource_link")).toHaveLength(10);
      for (const resourceType of ["Text", "Blob"]) {
        const told = await pair.sameCall("get-resource-reference", { resourceType, resourceId: 3 });
        expect(told["content"]).toMatchObject([{}, { type: "resource" }, {}]);
      }
      expect(await pair.sameCall("get-sum", { a: "one", b: 2 })).toMatchObject({ isError: true });
      expect(await pair.sameCall("get-resource-reference", { resourceId: -1 })).toMatchObject({ isError: true });
      expect(await pair.sameCall("echo")).toMatchObject({ isError: true });
    });

    test("every prompt is the same, also one with an embedded resource, and so are its errors", async () => {
      await pair.same("prompts/get", { name: "simple-prompt" });
      await pair.same("prompts/get", { name: "args-prompt", arguments: { city: "Zürich", state: "ZH" } });
      await pair.same("prompts/get", { name: "completable-prompt", arguments: { department: "Sales", name: "Eve" } });
      const embedded = await pair.same("prompts/get", {
        name: "resource-prompt",
        arguments: { resourceType: "Blob", resourceId: "7" },
      });
      expect(embedded.result).toMatchObject({ messages: [{}, { content: { type: "resource" } }] });
      const missing = await pair.same("prompts/get", { name: "args-prompt", arguments: {} });
      expect(missing.error?.code).toBe(-32602);
      const wrong = await pair.same("prompts/get", {
        name: "resource-prompt",
        arguments: { resourceType: "Film", resourceId: "7" },
      });
      expect(wrong.error).toBeDefined();
    });

    test("every resource reads the same, listed ones and those of a template", async () => {
      const listed = await proxied.listAll("resources/list", "resources");
      for (const { uri } of listed) {
        const reply = await pair.same("resources/read", { uri });
        expect(reply.result).toMatchObject({ contents: [{ uri }] });
      }
      await pair.same("resources/read", { uri: "demo://resource/dynamic/text/42" });
      await pair.same("resources/read", { uri: "demo://resource/dynamic/blob/42" });
      const none = await pair.same("resources/read", { uri: "demo://resource/dynamic/text/none" });
      expect(none.error).toBeDefined();
    });

    test("completions are the same, for prompts, for templates, and where one argument decides another", async () => {
      const prompt = { type: "ref/prompt", name: "completable-prompt" };
      const values = async (params: object): Promise<unknown> => {
        const { result } = await pair.same("completion/complete", { ...params });
        return (result!["completion"] as { values: unknown }).values;
      };
      expect(await values({ ref: prompt, argument: { name: "department", value: "S" } })).toEqual(["Sales", "Support"]);
      const name = { name: "name", value: "" };
      expect(
        await values({ ref: prompt, argument: name, context: { arguments: { department: "Engineering" } } }),
      ).toEqual(["Alice", "Bob", "Charlie"]);
      expect(await values({ ref: prompt, argument: name, context: { arguments: { department: "Support" } } })).toEqual([
        "John",
        "Kim",
        "Lee",
      ]);
      expect(await values({ ref: prompt, argument: name })).toEqual([]);
      const template = { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" };
      expect(await values({ ref: template, argument: { name: "resourceId", value: "12" } })).toEqual(["12"]);
      expect(await values({ ref: template, argument: { name: "resourceId", value: "x" } })).toEqual([]);
    });

    test("progress comes with the same numbers, under the host's token and before the answer", async () => {
      const told: unknown[][] = [];
      for (const peer of pair.both) {
        const from = peer.raw.length;
        const name = pair.nameAt(peer, "trigger-long-running-operation");
        const reply = await peer.request(
          "tools/call",
          { name, arguments: { duration: 0.2, steps: 4 } },
          { token: "mine" },
        );
        const progress = peer.notified(PROGRESS).filter(({ index }) => index >= from);
        told.push([outcome(reply), ...progress.map(({ params }) => params)]);
        expect(progress.at(-1)!.index).toBeLessThan(peer.raw.indexOf(reply.raw));
      }
      expect(told[0]).toHaveLength(5);
      expect(told[1]).toEqual(told[0]);
    });

    test("a cancelled call gets no answer and no further progress, and the next call works", async () => {
      const long = "trigger-long-running-operation";
      for (const peer of pair.both) {
        const from = peer.raw.length;
        const progress = (): unknown[] => peer.notified(PROGRESS).filter(({ index }) => index >= from);
        void peer.request(
          "tools/call",
          { name: pair.nameAt(peer, long), arguments: { duration: 1, steps: 10 } },
          { id: 4711, token: 4711 },
        );
        await until(() => progress().length > 0, { what: "progress" });
        peer.cancel(4711, "no longer needed");
        // Ends after the other one would have.
        await peer.call(pair.nameAt(peer, long), { duration: 1, steps: 1 });
        expect(peer.raw.slice(from).filter((line) => rawAt(line, "id") === "4711")).toEqual([]);
        if (peer === proxied) expect(progress().length).toBeLessThan(10);
      }
    });

    test("many calls at once come back to the right request", async () => {
      const calls = Array.from({ length: 40 }, async (_, n) => {
        const id = n % 2 === 0 ? n + 100 : String(n + 99);
        const { result } = await proxied.request(
          "tools/call",
          { name: pair.publicName("get-sum"), arguments: { a: n, b: n } },
          { id },
        );
        expect(result).toMatchObject({ content: [{ text: `The sum of ${n} and ${n} is ${2 * n}.` }] });
      });
      await Promise.all(calls);
      expect(proxied.strays).toEqual([]);
    });

    test("a sampling question comes to the host word for word in mid-call, and so do its answer and its error back", async () => {
      const mark = pair.mark();
      pair.answer("sampling/createMessage", () => ({
        role: "assistant",
        content: { type: "text", text: "forty-two" },
        model: "test",
        stopReason: "endTurn",
      }));
      const told = await pair.sameCall("trigger-sampling-request", { prompt: "What is it?", maxTokens: 7 });
      expect(JSON.stringify(told)).toContain("forty-two");
      pair.answer("sampling/createMessage", () => Promise.reject(new Error("the user said no")));
      expect(JSON.stringify(await pair.sameCall("trigger-sampling-request", { prompt: "?" }))).toContain("said no");
      pair.expectSameQuestions(mark, 2);
    });

    test("an elicitation form comes with its whole schema and names the server, and every answer arrives as given", async () => {
      const mark = pair.mark();
      const content = { name: "Ada", check: true, integer: 42, number: 3.14, untitledMultipleSelectEnum: ["Guitar"] };
      const answers: object[] = [{ action: "accept", content }, { action: "decline" }, { action: "cancel" }];
      for (const answer of answers) {
        pair.answer("elicitation/create", () => answer);
        const told = await pair.sameCall("trigger-elicitation-request");
        expect(JSON.stringify(told)).toContain((answer as { action: string }).action);
      }
      pair.expectSameQuestions(mark, 3);
    });

    test("a URL elicitation works as a question and as the error -32042 that asks for it first", async () => {
      const mark = pair.mark();
      pair.answer("elicitation/create", () => ({ action: "accept" }));
      const args = { url: "https://example.com/sign?in=1&x=%20", message: "Sign in", elicitationId: "e-1" };
      const told = await pair.sameCall("trigger-url-elicitation", args);
      expect(JSON.stringify(told)).toContain("User completed");
      const first = await pair.same("tools/call", {
        name: "trigger-url-elicitation",
        arguments: { url: args.url, errorPath: true },
      });
      expect(first.error).toMatchObject({ code: -32042, data: { elicitations: [{ mode: "url" }] } });
      await pair.sameCall("trigger-url-elicitation", { url: args.url, errorPath: true });
      pair.expectSameQuestions(mark, 2);
    });

    test("the server learns the host's roots, and that they have changed", async () => {
      const told = await pair.sameCall("get-roots-list");
      expect(JSON.stringify(told)).toContain("file:///roots/one");
      roots = [...roots, { uri: "file:///roots/two", name: "two" }];
      for (const peer of pair.both) {
        peer.notify("notifications/roots/list_changed");
        await until(async () => (await peer.callText(pair.nameAt(peer, "get-roots-list"))).includes("/roots/two"), {
          what: "the new roots at the server",
        });
      }
      await pair.sameCall("get-roots-list");
    });

    test("log messages reach the host from the level on that it has set, under the server's name", async () => {
      const mark = pair.mark();
      const named = (params: Record<string, unknown>) => ({ ...params, logger: SERVER });
      // Quiet first: the information that a subscription was received is below the level.
      await pair.same("logging/setLevel", { level: "error" });
      await pair.same("resources/subscribe", { uri: "demo://resource/dynamic/text/1" });
      await pair.same("logging/setLevel", { level: "debug" });
      await pair.same("resources/subscribe", { uri: "demo://resource/dynamic/text/2" });
      const subscribed = (params: Record<string, unknown>): boolean => String(params["data"]).includes("Subscribe");
      await pair.sameNotification(mark, MESSAGE, subscribed, named);
      for (const peer of pair.both) {
        expect(peer.notified(MESSAGE).filter(({ params }) => String(params["data"]).includes("text/1"))).toEqual([]);
      }
      // At random levels, one at once; at "debug" all of them are wanted.
      const random = pair.mark();
      await pair.sameCall("toggle-simulated-logging");
      await until(
        () =>
          [direct, proxied].every((peer, i) =>
            peer
              .notified(MESSAGE)
              .some(({ index, params }) => index >= random[i]! && /level/i.test(String(params["data"]))),
          ),
        { what: "a simulated log message" },
      );
      await pair.sameCall("toggle-simulated-logging");
      for (const { params } of proxied.notified(MESSAGE)) {
        expect(String(params["logger"])).toMatch(/^ev(\/everything-server)?$/);
      }
      for (const n of [1, 2]) await pair.same("resources/unsubscribe", { uri: `demo://resource/dynamic/text/${n}` });
    });

    test("a subscribed resource's updates come, and those of one that was given up do not", async () => {
      const mark = pair.mark();
      const given = "demo://resource/dynamic/blob/1";
      const kept = "demo://resource/dynamic/blob/2";
      for (const uri of [given, kept]) expect((await pair.same("resources/subscribe", { uri })).result).toEqual({});
      expect((await pair.same("resources/unsubscribe", { uri: given })).result).toEqual({});
      // The server tells them in the order of subscription, so the one that was given up would have come before.
      await pair.sameCall("toggle-subscriber-updates");
      await pair.sameNotification(mark, UPDATED, ({ uri }) => uri === kept);
      await pair.sameCall("toggle-subscriber-updates");
      await pair.same("resources/unsubscribe", { uri: kept });
      for (const peer of pair.both) {
        expect(peer.notified(UPDATED).filter(({ params }) => params["uri"] === given)).toEqual([]);
      }
    });

    test("a resource that a call makes for the session is linked, announced, listed and read", async () => {
      const text = "All work and no play. ".repeat(10_000);
      const data = `data:text/plain;base64,${Buffer.from(text).toString("base64")}`;
      const [, changedBefore] = pair.both.map((peer) => peer.notified(RESOURCES_CHANGED).length);
      const told = await pair.sameCall("gzip-file-as-resource", { name: "play.gz", data, outputType: "resourceLink" });
      const [link] = told["content"] as { type: string; uri: string }[];
      expect(link).toMatchObject({ type: "resource_link", uri: "demo://resource/session/play.gz" });
      await proxied.notification(RESOURCES_CHANGED, changedBefore! + 1);
      expect(await pair.sameList("resources/list")).toBe(8);
      const { result } = await pair.same("resources/read", { uri: link!.uri });
      const [content] = result!["contents"] as { blob: string }[];
      expect(gunzipSync(Buffer.from(content!.blob, "base64")).toString()).toBe(text);
      await pair.sameCall("gzip-file-as-resource", { name: "other.gz", data, outputType: "resource" });
    });

    test("a tool that runs only as a task is one blocking call, which brings the task's result and its question", async () => {
      const mark = pair.mark();
      pair.answer("elicitation/create", () => ({ action: "accept", content: { interpretation: "snake" } }));
      const name = "simulate-research-query";
      const asked = { topic: "python", ambiguous: true };
      const told = await pair.sameTask(name, asked);
      expect(JSON.stringify(told)).toContain("python (snake)");
      pair.expectSameQuestions(mark, 1);
      // Arguments that the tool refuses are refused the same way.
      const refused = await proxied.request("tools/call", { name: pair.publicName(name), arguments: {} });
      expect(outcome(refused)).toBe(outcome(await direct.request("tools/call", { name, arguments: {}, task: {} })));
    });

    test("nothing came that nobody asked for", () => {
      expect(proxied.strays).toEqual([]);
      expect(proxied.logs.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
    });
  });
}
