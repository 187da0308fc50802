/** Promise: every tool and prompt of every server has one public name of its own, and a call under it reaches that one. */
import { expect, test } from "vitest";
import { type StdioServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

/** Default length: names.maxLength 64 minus names.hostPrefix 17. */
const SAFE = /^[A-Za-z0-9_-]{1,47}$/;

const TOOLS: Record<string, string[]> = {
  mail: [
    "send_email",
    "Mixed_Case-Name9",
    "e".repeat(60),
    `${"f".repeat(70)}${"g".repeat(20)}`,
    `${"f".repeat(70)}${"h".repeat(20)}`,
  ],
  post: ["send_email", "read-file", "read_file", "read.file", "read/file", "read file"],
  "ürün 1": ["a.b", "a/b", "kebab-name", "sp ace", "日本語"],
  a: ["b__c", "_c", "b"],
  a__b: ["c"],
  x: ["_y", "-y"],
  x_: ["y"],
};

const prompt = {
  name: "documentation",
  description: "d",
  arguments: [{ name: "topic", description: "what", required: true, vendor: 1 }],
};

/** public name -> "server:original", as the servers say it. */
async function owners(host: Host, names: string[]): Promise<Map<string, string>> {
  const answers = await Promise.all(names.map((name) => host.callText(name)));
  return new Map(names.map((name, i) => [name, answers[i]!]));
}

test("names are safe, short, distinct, the same after restarts, and each call reaches its own server", async () => {
  await using dir = await tempDir();
  const script = (key: string) => ({ tools: TOOLS[key]!.map((name) => tool(name)), prompts: [prompt] });
  const servers = new Map<string, StdioServer>();
  for (const key of Object.keys(TOOLS)) servers.set(key, stdioServer(dir, key, script(key)));
  const config = { mcpServers: Object.fromEntries([...servers].map(([key, server]) => [key, server.entry])) };
  const calls = () => [...servers.values()].map((server) => server.received("tools/call").length);

  const lists: string[] = [];
  {
    await using host = await startHost({ config });
    const reply = await host.request("tools/list");
    const names = (reply.result!["tools"] as { name: string }[]).map(({ name }) => name);
    lists.push(rawAt(reply.raw, "result")!);

    // A1, A2, R106: the safe alphabet, a bounded length, case and hyphens kept.
    for (const name of names) expect(name).toMatch(SAFE);
    expect(names).toContain("mail__Mixed_Case-Name9");
    expect(names.filter((name) => name.endsWith("__kebab-name"))).toHaveLength(1);
    // A1: what is cut ends in a hash of 8 hex digits.
    const long = names.filter((name) => /^mail__[ef]{20}/.test(name));
    expect(long).toHaveLength(3);
    for (const name of long) expect(name).toMatch(/_[0-9a-f]{8}$/);
    // A3, A11, R103, R104: the prefix is the entry's key, and nothing is lost or twice.
    expect(names).toEqual(expect.arrayContaining(["mail__send_email", "post__send_email"]));
    expect(new Set(names).size).toBe(names.length);
    // A4, A5: twins after replacement, separators in keys and names: every tool of every server, once.
    const expected = Object.entries(TOOLS).flatMap(([key, tools]) => tools.map((name) => `${key}:${name}`));
    const answers = await owners(host, names);
    expect([...answers.values()].sort()).toEqual(expected.sort());
    expect(answers.get("mail__send_email")).toBe("mail:send_email");
    // A2: what reaches the server is the original name.
    const got = servers.get("ürün 1")!.received("tools/call");
    expect(got.map(({ message }) => message.params!["name"]).sort()).toEqual([...TOOLS["ürün 1"]!].sort());
    // A5: of a separator in the name nothing is made up: these are nobody's.
    const before = calls();
    for (const name of ["a__b__b", "a__b__b__c", "x___", "x__y"]) {
      if (names.includes(name)) continue;
      expect((await host.request("tools/call", { name, arguments: {} })).error?.code, name).toBe(-32602);
    }
    expect(calls()).toEqual(before);

    // A6, R123: prompts of one name on two servers; argument lists unchanged; the original name goes to the owner.
    const prompts = await host.listAll("prompts/list", "prompts");
    expect(prompts).toHaveLength(servers.size);
    const ours = prompts.find(({ name }) => name === "post__documentation")!;
    expect(ours).toEqual({ ...prompt, name: "post__documentation" });
    for (const { name } of prompts) expect(name).toMatch(SAFE);
    const got2 = await host.request("prompts/get", { name: "post__documentation", arguments: { topic: "t" } });
    expect(got2.result!["description"]).toBe("post:documentation");
    expect(servers.get("post")!.received("prompts/get")[0]!.message.params).toEqual({
      name: "documentation",
      arguments: { topic: "t" },
    });
    expect(servers.get("mail")!.received("prompts/get")).toEqual([]);
    for (const name of ["documentation", "post__Documentation", "post__nope"]) {
      expect((await host.request("prompts/get", { name })).error?.code, name).toBe(-32602);
    }
    lists.push(rawAt((await host.request("tools/list")).raw, "result")!);
  }

  // A3, A8, R90: which server is ready first makes no difference, not even to the bytes.
  for (const slow of ["mail", "post"]) {
    servers.get(slow)!.rewrite({ name: slow, ...script(slow), startDelayMs: 300 });
    await using host = await startHost({ config });
    lists.push(rawAt((await host.request("tools/list")).raw, "result")!);
    servers.get(slow)!.rewrite({ name: slow, ...script(slow) });
  }
  expect(new Set(lists).size).toBe(1);
});

test("a name that was never listed is an error and reaches no server, however alike it looks", async () => {
  // A9, R105 as design.md decides it: no bare names, no guessing.
  await using dir = await tempDir();
  const mail = stdioServer(dir, "mail", { tools: [tool("send_email"), tool("__proto__")] });
  const post = stdioServer(dir, "post", { tools: [tool("send_email")] });
  await using host = await startHost({ config: { mcpServers: { mail: mail.entry, post: post.entry } } });
  expect(await host.toolNames()).toEqual(["mail__send_email", "mail____proto__", "post__send_email"]);
  const wrong = [
    "mail__Send_Email",
    "MAIL__send_email",
    " mail__send_email",
    "mail__send_email ",
    "mail__send_email\n",
    "mail__send_em\u0430il",
    "mail__send_email\u200b",
    "mail__send_email\u0000",
    "ｍail__send_email",
    "send_email",
    "mail_send_email",
    "mail.send_email",
    "mail__",
    "mail",
    "__send_email",
    "mail__nope",
    "nope__send_email",
    "mail__mail__send_email",
    "mcp__switchyard__mail__send_email",
    "",
    "__proto__",
    "constructor",
    "toString",
  ];
  for (const name of wrong) {
    const reply = await host.request("tools/call", { name, arguments: {} });
    expect(reply.error?.code, JSON.stringify(name)).toBe(-32602);
  }
  for (const params of ["{}", '{"name":null}', '{"name":5}', '{"name":["mail__send_email"]}', '{"name":{}}']) {
    expect((await host.request("tools/call", params)).error?.code, params).toBe(-32602);
  }
  expect((await host.request("tools/call")).error?.code).toBe(-32602);
  expect(mail.received("tools/call")).toEqual([]);
  expect(post.received("tools/call")).toEqual([]);
  expect(await host.callText("mail____proto__")).toBe("mail:__proto__");
});

test("prefixes, renames, lengths and filters are as the configuration says", async () => {
  await using dir = await tempDir();
  const bare = stdioServer(dir, "bare", { tools: [tool("same"), tool("own")] });
  const bare2 = stdioServer(dir, "bare2", { tools: [tool("same")] });
  const custom = stdioServer(dir, "custom", {
    tools: [tool("same", { title: "t", description: "d" }), tool("kept")],
    prompts: [{ name: "p" }, { name: "hidden_p" }],
  });
  const many = stdioServer(dir, "many", {
    tools: Array.from({ length: 30 }, (_, i) => tool(`${i < 12 ? "pick" : "drop"}_${i}`)),
    resources: [
      { uri: "docs://open/1", name: "1" },
      { uri: "docs://shut/1", name: "2" },
    ],
  });
  const config = {
    mcpServers: {
      bare: { ...bare.entry, prefix: "" },
      bare2: { ...bare2.entry, prefix: "" },
      custom: {
        ...custom.entry,
        prefix: "mine",
        rename: { same: { name: "other", title: "T", description: "D" } },
        prompts: { deny: ["hidden_*"] },
      },
      many: {
        ...many.entry,
        tools: { allow: ["pick_*", "drop_29"], deny: ["drop_*"] },
        resources: { deny: ["docs://shut/**"] },
      },
      off: { ...many.entry, disabled: true },
    },
    names: { maxLength: 24, hostPrefix: 5 },
  };
  await using host = await startHost({ config });
  const tools = await host.listAll("tools/list", "tools");
  const names = tools.map(({ name }) => name as string);
  for (const name of names) expect(name.length).toBeLessThanOrEqual(19);
  // The first in the order of the file keeps the plain name, its twin stays callable under another.
  expect(names.slice(0, 2)).toEqual(["same", "own"]);
  const answers = await owners(host, names);
  expect(answers.get("same")).toBe("bare:same");
  expect([...answers.values()].filter((text) => text === "bare2:same")).toHaveLength(1);
  const renamed = tools.find(({ name }) => name === "mine__other");
  expect(renamed).toEqual({ name: "mine__other", title: "T", description: "D", inputSchema: { type: "object" } });
  expect(answers.get("mine__other")).toBe("custom:same");
  expect(names).not.toContain("mine__same");
  expect((await host.request("tools/call", { name: "mine__same" })).error?.code).toBe(-32602);
  // B10, R107: what a filter hides is neither listed nor callable, and answered like an unknown name.
  expect(names.filter((name) => name.startsWith("many__")).length).toBe(12);
  const denied = await host.request("tools/call", { name: "many__drop_29", arguments: {} });
  const unknown = await host.request("tools/call", { name: "many__drop_99", arguments: {} });
  expect(denied.error?.code).toBe(-32602);
  expect(denied.error!.message.replace("29", "99")).toBe(unknown.error!.message);
  expect(Object.keys(denied.error!)).toEqual(Object.keys(unknown.error!));
  expect(many.received("tools/call")).toHaveLength(12);
  expect((await host.listAll("prompts/list", "prompts")).map(({ name }) => name)).toEqual(["mine__p"]);
  expect((await host.request("prompts/get", { name: "mine__hidden_p" })).error?.code).toBe(-32602);
  expect((await host.listAll("resources/list", "resources")).map(({ uri }) => uri)).toEqual(["docs://open/1"]);
  expect((await host.request("resources/read", { uri: "docs://shut/1" })).error).toBeDefined();
  expect(many.received("resources/read")).toEqual([]);
  expect(many.starts()).toHaveLength(1);
});

test("a listed tool whose server is down is not unknown: the error names the server and the reason", async () => {
  // A10, R194
  await using dir = await tempDir();
  const flaky = stdioServer(dir, "flaky", { tools: [tool("do"), tool("other")] });
  const fine = stdioServer(dir, "fine", { tools: [tool("t")] });
  await using host = await startHost({ config: { mcpServers: { flaky: flaky.entry, fine: fine.entry } } });
  const before = await host.toolNames();
  flaky.rewrite({ onStart: [{ stderr: "no licence\n" }, { exit: 7 }] });
  const crashed = await host.request("tools/call", { name: "flaky__do", arguments: { steps: [{ exit: 3 }] } });
  expect(crashed.error?.code).toBe(-32603);
  const down = await host.request("tools/call", { name: "flaky__other", arguments: {} });
  expect(down.error?.code).toBe(-32603);
  expect(down.error?.message).toContain("flaky");
  expect(down.error?.data).toMatchObject({ source: "switchyard", server: "flaky" });
  expect(down.error?.message).toMatch(/exit|code|licence/i);
  expect(await host.callText("fine__t")).toBe("fine:t");
  expect(await host.toolNames()).toEqual(before);
});
