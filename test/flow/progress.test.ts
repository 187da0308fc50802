/** Promise: a host that asks for progress gets it under its own token, in order, and never after the answer. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

const PROGRESS = "notifications/progress";

/** Raw tokens and values of the progress since `from`. */
function progressOf(host: Host, from = 0): [token: string, progress: number][] {
  return host
    .notified(PROGRESS)
    .filter(({ index }) => index >= from)
    .map(({ raw, params }) => [rawAt(raw, "params", "progressToken")!, params["progress"] as number]);
}

test("progress comes with the host's own token, value and type, in order and before the answer", async () => {
  // C5, C7, R126, R128
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", {
    tools: [tool("do")],
    prompts: [{ name: "p" }],
    resources: [{ uri: "x://r", name: "r" }],
    on: {
      "prompt:p": [{ progress: 2 }, { result: { messages: [] } }],
      "resource:x://r": [{ progress: 2 }, { result: { contents: [] } }],
    },
  });
  const b = stdioServer(dir, "b", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { a: a.entry, b: b.entry } } });
  await host.toolNames();

  // Tokens 0 and "0" at once, on one server and on another: each call gets its own numbers under its own token.
  const steps = (from: number) => ({ steps: [{ progress: 5, gap: 2, from }] });
  await Promise.all([
    host.call("a__do", steps(0), { token: 0 }),
    host.call("a__do", steps(100), { token: "0" }),
    host.call("b__do", steps(200), { token: 1 }),
    host.call("b__do", steps(300), { token: "1" }),
  ]);
  const came = progressOf(host);
  for (const [token, from] of [
    ["0", 0],
    ['"0"', 100],
    ["1", 200],
    ['"1"', 300],
  ] as const) {
    expect(came.filter(([own]) => own === token).map(([, progress]) => progress)).toEqual(
      [1, 2, 3, 4, 5].map((n) => n + from),
    );
  }
  expect(came).toHaveLength(20);
  // What the server sees are tokens of ours, none of them used twice (R129).
  const upstream = a.received("tools/call").map(({ raw }) => rawAt(raw, "params", "_meta", "progressToken"));
  expect(new Set(upstream).size).toBe(2);

  // Any string or integer is a token; what else a notification holds stays as it came.
  for (const token of ['""', '"ü\\" \\u00e9"', '"p1"', "-1", "9007199254740993", '"progressToken"', "7", '"7"']) {
    const from = host.raw.length;
    const reply = await host.request(
      "tools/call",
      `{"name":"a__do","arguments":{"steps":[{"progress":1,"extra":"\\"total\\":10.0,\\"message\\":\\"½ é\\",\\"vendor\\":{\\"n\\":1e2}"}]},"_meta":{"progressToken":${token}}}`,
    );
    expect(reply.error).toBeUndefined();
    const [only, ...more] = host.notified(PROGRESS).filter(({ index }) => index >= from);
    expect(more).toEqual([]);
    expect(rawAt(only!.raw, "params")).toBe(
      `{"progressToken":${token},"progress":1,"total":10.0,"message":"½ é","vendor":{"n":1e2}}`,
    );
  }

  // A burst right before the answer: all of it, in order, in front of the answer.
  const from = host.raw.length;
  const reply = await host.request(
    "tools/call",
    { name: "a__do", arguments: { steps: [{ progress: 100 }] } },
    { token: "t" },
  );
  const burst = host.notified(PROGRESS).filter(({ index }) => index >= from);
  expect(burst.map(({ params }) => params["progress"])).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  expect(burst.at(-1)!.index).toBeLessThan(host.raw.indexOf(reply.raw));

  // Prompts and resources have progress too.
  const then = host.raw.length;
  await host.request("prompts/get", { name: "a__p" }, { token: "p" });
  await host.request("resources/read", { uri: "x://r" }, { token: 5 });
  expect(progressOf(host, then)).toEqual([
    ['"p"', 1],
    ['"p"', 2],
    ["5", 1],
    ["5", 2],
  ]);
  expect(host.strays).toEqual([]);
});

test("progress that nobody asked for, that is late, that goes back or has an unknown token never reaches the host", async () => {
  // C6, R12, R127, R128
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", { tools: [tool("do"), tool("echo")] });
  const timed = stdioServer(dir, "timed", { tools: [tool("do"), tool("echo")] });
  await using host = await startHost({
    // `timed` may ask its server for progress on its own account: the host still gets none.
    config: { mcpServers: { a: a.entry, timed: { ...timed.entry, timeouts: { requestMs: 15_000 } } } },
  });
  await host.toolNames();
  for (const server of ["a", "timed"]) {
    await host.call(`${server}__do`, { steps: [{ progress: 3 }] });
    await host.call(`${server}__do`, { steps: [{ progress: 3, token: "nobody" }] });
    await host.call(`${server}__do`, { steps: [{ progress: 1, token: 4711 }] });
    await host.call(`${server}__echo`);
  }
  expect(progressOf(host)).toEqual([]);

  // After the answer; the echo that follows proves that it would have come.
  await host.call("a__do", { steps: [{ progress: 1 }, { result: {} }, { progress: 3, from: 1 }] }, { token: "late" });
  await host.call("a__echo");
  expect(progressOf(host)).toEqual([['"late"', 1]]);

  // It must increase; what does not is left out, what does goes on.
  const from = host.raw.length;
  const values = [-2, 1, 3, 2, 3, 3.5, 0, 4];
  await host.call("a__do", { steps: [{ progress: values.length, values }] }, { token: "up" });
  expect(progressOf(host, from).map(([, progress]) => progress)).toEqual([-2, 1, 3, 3.5, 4]);
  // The same token once more is a new sequence.
  const again = host.raw.length;
  await host.call("a__do", { steps: [{ progress: 2 }] }, { token: "up" });
  expect(progressOf(host, again)).toEqual([
    ['"up"', 1],
    ['"up"', 2],
  ]);
  expect(host.strays).toEqual([]);
});
