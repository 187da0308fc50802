/** Promise: a host that subscribed to a resource hears of its changes under the URI it used, also after a restart. */
import { expect, test } from "vitest";
import { type StdioServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";

const UPDATED = "notifications/resources/updated";
const SUBSCRIBE = "resources/subscribe";
const UNSUBSCRIBE = "resources/unsubscribe";

const resource = (uri: string) => ({ uri, name: uri });
const urisOf = (server: StdioServer, method: string) =>
  server.received(method).map(({ message }) => message.params!["uri"]);

test("a subscription is made once at its owner, with the owner's URI, and ends with the last subscriber", async () => {
  // C8, R172, R174, R175
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", {
    tools: [tool("do")],
    resources: [resource("x://dir"), resource("x://one"), resource("x://both")],
    templates: [{ uriTemplate: "t://{id}", name: "t" }],
  });
  const b = stdioServer(dir, "b", {
    tools: [tool("do"), tool("echo")],
    resources: [resource("x://both"), resource("x://refused"), resource("x://eager")],
    on: {
      // The update overtakes the answer.
      "method:resources/subscribe": {
        sequence: [
          [{ error: { code: -32050, message: "not now", data: { uri: "x://refused" } } }],
          [{ updated: "x://refused" }, { result: { vendor: 1 } }],
          [{ result: {} }],
        ],
      },
    },
  });
  const unable = stdioServer(dir, "unable", {
    tools: [tool("echo")],
    resources: [resource("c://r")],
    capabilities: { tools: {}, resources: {} },
  });
  await using host = await startHost({
    config: { mcpServers: { a: a.entry, b: b.entry, unable: unable.entry } },
  });
  expect(host.initializeResult["capabilities"]).toMatchObject({ resources: { subscribe: true } });
  await host.toolNames();
  const listed = await host.listAll("resources/list", "resources");
  const alias = listed.filter(({ name }) => name === "x://both").at(-1)!["uri"] as string;
  expect(alias).not.toBe("x://both");
  const subscribe = (uri: string) => host.request(SUBSCRIBE, { uri });
  const updatesAfter = async (server: string, ...uris: string[]) => {
    const from = host.raw.length;
    await host.call(`${server}__do`, { steps: uris.map((uri) => ({ updated: uri })) });
    return host.notified(UPDATED).flatMap(({ params, index }) => (index >= from ? [params["uri"]] : []));
  };

  // Nobody asked: nothing comes.
  expect(await updatesAfter("a", "x://one", "x://dir/child", "t://1")).toEqual([]);

  for (const uri of ["x://one", "x://dir", "t://5"]) expect((await subscribe(uri)).result).toEqual({});
  expect((await subscribe("x://one")).result).toEqual({});
  expect(urisOf(a, SUBSCRIBE)).toEqual(["x://one", "x://dir", "t://5"]);
  // What lies inside of what is watched counts, what only begins alike does not.
  expect(
    await updatesAfter("a", "x://one", "x://dir/child/1", "x://directory", "x://both", "t://5", "t://6", "x://dir"),
  ).toEqual(["x://one", "x://dir/child/1", "t://5", "x://dir"]);
  // Of the notification all else stays.
  const from = host.raw.length;
  await host.call("a__do", {
    steps: [{ notify: { method: UPDATED, params: '{"vendor":1.0,"uri":"x:\\/\\/one","_meta":{"n":1e2}}' } }],
  });
  const [exact] = host.notified(UPDATED).filter(({ index }) => index >= from);
  expect(exact!.params["uri"]).toBe("x://one");
  expect(rawAt(exact!.raw, "params", "vendor")).toBe("1.0");
  expect(rawAt(exact!.raw, "params", "_meta")).toBe('{"n":1e2}');

  // The owner's refusal is its own; it leaves nothing behind, and what comes before the answer is not lost.
  const refused = await subscribe("x://refused");
  expect(refused.error).toEqual({ code: -32050, message: "not now", data: { uri: "x://refused" } });
  expect(await updatesAfter("b", "x://refused")).toEqual([]);
  const early = host.raw.length;
  const granted = await subscribe("x://refused");
  expect(granted.error).toBeUndefined();
  expect(host.notified(UPDATED).filter(({ index }) => index >= early)).toHaveLength(1);
  // One that has no subscriptions: the aggregate has them, this resource has not.
  const without = await subscribe("c://r");
  expect(without.error).toMatchObject({ code: -32602, data: { uri: "c://r" } });
  expect(unable.received(SUBSCRIBE)).toEqual([]);
  expect((await subscribe("nobody://has/this")).error?.code).toBe(-32002);
  expect((await host.request(SUBSCRIBE, {})).error?.code).toBe(-32602);

  // Two servers have this URI. The host uses the alias of the one it means.
  expect((await subscribe(alias)).result).toEqual({});
  expect(urisOf(b, SUBSCRIBE)).toEqual(["x://refused", "x://refused", "x://both"]);
  expect(await updatesAfter("a", "x://both")).toEqual([]);
  expect(await updatesAfter("b", "x://both")).toEqual([alias]);
  const [child, ...more] = await updatesAfter("b", "x://both/inner");
  expect(more).toEqual([]);
  expect.soft(child).toBe(`${alias}/inner`);

  // The last one leaves.
  expect((await host.request(UNSUBSCRIBE, { uri: "x://one" })).result).toEqual({});
  expect((await host.request(UNSUBSCRIBE, { uri: alias })).result).toEqual({});
  await until(() => urisOf(a, UNSUBSCRIBE).length > 0 && urisOf(b, UNSUBSCRIBE).length > 0, { what: "unsubscribe" });
  expect(urisOf(a, UNSUBSCRIBE)).toEqual(["x://one"]);
  expect(urisOf(b, UNSUBSCRIBE)).toEqual(["x://both"]);
  expect(await updatesAfter("a", "x://one", "x://dir")).toEqual(["x://dir"]);
  expect(await updatesAfter("b", "x://both")).toEqual([]);
  // And comes again.
  expect((await subscribe("x://one")).result).toEqual({});
  expect(await updatesAfter("a", "x://one")).toEqual(["x://one"]);
  expect(urisOf(a, SUBSCRIBE).filter((uri) => uri === "x://one")).toHaveLength(2);
  expect(host.strays).toEqual([]);
});

test("after a restart subscriptions and level are renewed, one update tells the host to look, and updates flow again", async () => {
  // C9, R176
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", {
    tools: [tool("do")],
    resources: ["x://kept", "x://kept2", "x://left"].map(resource),
    capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
  });
  const b = stdioServer(dir, "b", { tools: [tool("do")], resources: [resource("x://other")] });
  await using host = await startHost({ config: { mcpServers: { a: a.entry, b: b.entry } } });
  await host.listAll("resources/list", "resources");
  await host.request("logging/setLevel", { level: "error" });
  for (const uri of ["x://kept", "x://left", "x://kept2", "x://other"]) await host.request(SUBSCRIBE, { uri });
  await host.request(UNSUBSCRIBE, { uri: "x://left" });
  await until(() => urisOf(a, UNSUBSCRIBE).length === 1, { what: "unsubscribe" });
  void host.request("tools/call", { name: "a__do", arguments: { steps: [{ exit: 1 }] } });
  await host.notification(UPDATED, 2);
  expect(a.starts()).toHaveLength(2);
  const second = (method: string) => a.received(method).filter(({ pid }) => pid === a.starts()[1]);
  await until(() => second(SUBSCRIBE).length === 2 && second("logging/setLevel").length > 0, {
    what: "subscriptions and level after the restart",
  });
  expect(urisOf(a, SUBSCRIBE).slice(3).sort()).toEqual(["x://kept", "x://kept2"]);
  expect(second("logging/setLevel").map(({ message }) => message.params)).toEqual([{ level: "error" }]);
  await host.call("a__do", { steps: [{ updated: "x://kept" }] });
  expect(
    host
      .notified(UPDATED)
      .map(({ params }) => params["uri"])
      .sort(),
  ).toEqual(["x://kept", "x://kept", "x://kept2"]);
  expect(urisOf(b, SUBSCRIBE)).toEqual(["x://other"]);
  expect(host.strays).toEqual([]);
});
