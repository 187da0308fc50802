/**
 * Every way in, for everything that is hidden, in every spelling: nothing of it reaches a server, and the answer is that
 * of what does not exist. The cases are generated; the sums are checked, so that none get lost.
 */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, type Reply, startHost } from "../support/host.ts";

type Kind = "tool" | "prompt" | "resource";
interface Case {
  readonly kind: Kind;
  readonly way: string;
  readonly method: string;
  /** What is named, decoded. */
  readonly name: string;
  /** Raw params. */
  readonly params: string;
}

/** Hidden by a rule, by a filter of the entry, by the default, by a condition, behind a rename, for this client. */
const TOOLS = ["by_rule", "by_filter", "by_condition", "renamed", "by_client", "by_tier"];
const HIDDEN_PROMPTS = ["secret_prompt", "filtered_prompt"];
const HIDDEN_URIS = ["docs://secret/a", "docs://secret/made/7", "docs://secret/linked", "docs://secret/{id}"];
const SENT = [
  "tools/call",
  "prompts/get",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
];

const named = (...names: string[]) => names.map((name) => ({ name }));
const server = {
  tools: [
    tool("open"),
    tool("link"),
    tool("by_rule"),
    tool("by_filter"),
    tool("by_condition", { annotations: { destructiveHint: true } }),
    tool("renamed"),
    tool("by_client"),
    tool("by_tier", { _meta: { "example.com/tier": "internal" } }),
  ],
  prompts: named("open_prompt", ...HIDDEN_PROMPTS),
  resources: [
    { uri: "docs://public/a", name: "a" },
    { uri: "docs://secret/a", name: "s" },
  ],
  templates: [
    { uriTemplate: "docs://public/{id}", name: "t" },
    { uriTemplate: "docs://secret/{id}", name: "u" },
    { uriTemplate: "docs://secret/made/{id}", name: "m" },
  ],
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} },
  on: { link: [{ result: { content: [{ type: "resource_link", uri: "docs://secret/linked", name: "l" }] } }] },
};
const hiding = [
  { effect: "deny", tools: ["by_rule", "renamed"], prompts: ["secret_*"], resources: ["docs://secret/**"] },
  { effect: "deny", tools: ["*"], when: "tool.annotations.destructiveHint == true" },
  { effect: "deny", tools: ["*"], when: "tool._meta['example.com/tier'] == 'internal'" },
  { effect: "deny", clients: ["test-*"], tools: ["by_client"] },
];
const opening = [
  { effect: "allow", tools: ["*"], prompts: ["*"] },
  { effect: "allow", resources: ["docs://public/**"] },
];
const entry = {
  prefix: "a",
  tools: { deny: ["by_filter"] },
  prompts: { deny: ["filtered_*"] },
  rename: { renamed: { name: "harmless" } },
};

/** The same name, or what somebody may take for it. */
function spellings(publicName: string, original: string): string[] {
  return [
    publicName,
    original,
    publicName.toUpperCase(),
    original.toUpperCase(),
    `${publicName} `,
    ` ${publicName}`,
    `${publicName}\n`,
    `${publicName}\t`,
    `${publicName}\0`,
    `${publicName}\u200b`,
    `\ufeff${publicName}`,
    `${publicName}\u202e`,
    publicName.replace("e", "\u0435"),
    publicName.replace("r", "\uff52"),
    publicName.normalize("NFD").replace("e", "e\u0301"),
    publicName.replace("__", "_"),
    publicName.replace("__", "___"),
    publicName.replace("__", "."),
    publicName.replace("__", "/"),
    publicName.replace("__", ":"),
    `mcp__switchyard__${publicName}`,
    `switchyard__${publicName}`,
    `a__${publicName}`,
    `A__${original}`,
    `b__${original}`,
    `../${original}`,
    `${publicName}/../${original}`,
    `${publicName}_0badf00d`,
    encodeURIComponent(publicName).replace("_", "%5F"),
    `"${publicName}"`,
    `${publicName}#`,
    publicName.slice(0, -1),
  ];
}

function uriSpellings(uri: string): string[] {
  return [
    uri,
    uri.replace("docs", "DOCS"),
    uri.replace("secret", "%73ecret"),
    uri.replace("secret", "%73%65cret"),
    uri.replace("docs://", "docs:///"),
    uri.replace("docs://", "docs:////"),
    uri.replace("secret/", "secret//"),
    uri.replace("secret/", "secret/./"),
    uri.replace("secret/", "public/../secret/"),
    uri.replace("secret/", "public/%2e%2e/secret/"),
    uri.replace("secret/", "public/..%2fsecret/"),
    uri.replace("secret/", "public\\..\\secret\\"),
    uri.replace("secret/", "secret/x/../"),
    `${uri}/`,
    `${uri}/.`,
    `${uri}?x=1`,
    `${uri}#x`,
    `mux-a+${uri}`,
    ` ${uri}`,
    uri.toUpperCase(),
  ];
}

/** JSON text of a string with every letter escaped: another text, the same name. */
function escaped(name: string): string {
  const hex = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${name.split("").map(hex).join("")}"`;
}

function nameCases(kind: "tool" | "prompt", names: readonly string[]): Case[] {
  const method = kind === "tool" ? "tools/call" : "prompts/get";
  return names.flatMap((name): Case[] => {
    const text = JSON.stringify(name);
    const cases: Case[] = [
      { kind, way: method, method, name, params: `{"name":${text}}` },
      { kind, way: method, method, name, params: `{"arguments":{"a":1},"name":${escaped(name)},"task":{"ttl":1}}` },
    ];
    if (kind === "prompt") {
      const params = `{"ref":{"type":"ref/prompt","name":${text}},"argument":{"name":"x","value":""}}`;
      cases.push({ kind, way: "completion prompt", method: "completion/complete", name, params });
    }
    return cases;
  });
}

function uriCases(uris: readonly string[]): Case[] {
  return uris.flatMap((name): Case[] => {
    const text = JSON.stringify(name);
    const kind = "resource";
    const ref = `{"ref":{"type":"ref/resource","uri":${text}},"argument":{"name":"id","value":""}}`;
    return [
      { kind, way: "resources/read", method: "resources/read", name, params: `{"uri":${text}}` },
      { kind, way: "resources/subscribe", method: "resources/subscribe", name, params: `{"uri":${escaped(name)}}` },
      { kind, way: "resources/unsubscribe", method: "resources/unsubscribe", name, params: `{"uri":${text}}` },
      { kind, way: "completion resource", method: "completion/complete", name, params: ref },
    ];
  });
}

const CASES: readonly Case[] = [
  ...TOOLS.flatMap((name) => nameCases("tool", spellings(`a__${name}`, name))),
  ...nameCases("tool", ["a__harmless", "harmless", "A__HARMLESS"]),
  ...HIDDEN_PROMPTS.flatMap((name) => nameCases("prompt", spellings(`a__${name}`, name))),
  ...HIDDEN_URIS.flatMap((uri) => uriCases(uriSpellings(uri))),
];

/** The error without the name that was asked for. */
function anonymous({ error }: Reply, name: string): unknown {
  if (error === undefined) return "no error";
  const hide = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(name, "NAME");
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hide(one)]));
  };
  return hide(error);
}

/** What is answered for something that is nowhere. */
async function unknownAnswers(host: Host): Promise<Map<string, unknown>> {
  const names = [
    ...nameCases("tool", ["a__nowhere"]),
    ...nameCases("prompt", ["a__nowhere"]),
    ...uriCases(["docs://public2/nowhere"]),
  ];
  const answers = new Map<string, unknown>();
  for (const { way, method, params, name } of names) {
    const answer = anonymous(await host.request(method, params), name);
    expect(answer).toMatchObject({ code: expect.any(Number) });
    answers.set(way, answer);
  }
  return answers;
}

async function failures(host: Host, cases: readonly Case[]): Promise<unknown[]> {
  const unknown = await unknownAnswers(host);
  const wrong: unknown[] = [];
  await Promise.all(
    cases.map(async ({ way, method, params, name }) => {
      const got = anonymous(await host.request(method, params), name);
      if (JSON.stringify(got) !== JSON.stringify(unknown.get(way))) wrong.push({ way, name, got });
    }),
  );
  return wrong;
}

test("there are at least 500 cases, no two alike", () => {
  const texts = new Set(CASES.map(({ method, params }) => `${method} ${params}`));
  expect(texts.size).toBeGreaterThanOrEqual(500);
});

test.each(["deny", "allow"])(
  "with default %s none of them reaches the server, and each is answered like what does not exist",
  async (fallback) => {
    await using dir = await tempDir();
    const a = stdioServer(dir, "a", server);
    const b = stdioServer(dir, "b", { tools: [tool("own")] });
    const config = {
      mcpServers: { a: { ...a.entry, ...entry }, b: b.entry },
      policy: { default: fallback, rules: [...hiding, ...opening] },
    };
    await using host = await startHost({ config, clientInfo: { name: "test-host", version: "1" }, logLevel: "warn" });
    expect(await host.toolNames()).toEqual(["a__open", "a__link", "b__own"]);
    expect((await host.listAll("prompts/list", "prompts")).map(({ name }) => name)).toEqual(["a__open_prompt"]);
    expect((await host.listAll("resources/list", "resources")).map(({ uri }) => uri)).toEqual(["docs://public/a"]);
    const templates = await host.listAll("resources/templates/list", "resourceTemplates");
    expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(["docs://public/{id}"]);
    // The server has named a hidden URI in a result: that opens nothing.
    await host.call("a__link");

    // With an open default a URI that no rule means is none of the policy's business, whatever it looks like.
    const same = (uri: string) => !/^ |\/{3}|MUX|^mux|DOCS:\/\/SECRET/.test(uri);
    const cases = fallback === "deny" ? CASES : CASES.filter(({ kind, name }) => kind !== "resource" || same(name));
    const before = a.received().filter(({ message }) => SENT.includes(message.method ?? "")).length;
    expect(await failures(host, cases)).toEqual([]);
    const reached = a.received().filter(({ message }) => SENT.includes(message.method ?? ""));
    const asked = reached.slice(before).map(({ raw }) => raw);
    // Only what is nowhere, which was asked for to compare with.
    expect(asked.filter((raw) => !raw.includes("nowhere"))).toEqual([]);
    expect(b.received().filter(({ raw }) => /secret|by_/.test(raw))).toEqual([]);
  },
);

test("a batch of 2025-03-26 is judged member by member", async () => {
  await using dir = await tempDir();
  const a = stdioServer(dir, "a", server);
  const config = {
    mcpServers: { a: { ...a.entry, ...entry } },
    policy: { default: "deny", rules: [...hiding, ...opening] },
  };
  await using host = await startHost({
    config,
    clientInfo: { name: "test-host", version: "1" },
    protocolVersion: "2025-03-26",
  });
  await host.toolNames();
  const cases = CASES.filter((_, index) => index % 7 === 0);
  const replies = cases.map((_, index) => host.response(`b${index}`));
  const members = cases.map(
    ({ method, params }, index) => `{"jsonrpc":"2.0","id":"b${index}","method":"${method}","params":${params}}`,
  );
  const open = host.response("open");
  host.send(
    `[${[...members, '{"jsonrpc":"2.0","id":"open","method":"tools/call","params":{"name":"a__open"}}'].join(",")}]`,
  );
  const codes = (await Promise.all(replies)).map(({ error }) => error?.code);
  expect(codes.filter((code) => code !== -32602 && code !== -32002)).toEqual([]);
  expect((await open).result).toBeDefined();
  const reached = a.received().filter(({ message }) => SENT.includes(message.method ?? ""));
  expect(reached.map(({ message }) => message.method)).toEqual(["tools/call"]);
});

test("what is hidden takes as many round trips as what does not exist", async () => {
  await using dir = await tempDir();
  const delay = 250;
  const answerDelayMs = { "tools/list": delay, "prompts/list": delay, "resources/read": delay, ping: delay };
  const a = stdioServer(dir, "a", { ...server, answerDelayMs });
  const config = { mcpServers: { a: { ...a.entry, ...entry } }, policy: { rules: [...hiding, ...opening] } };
  await using host = await startHost({ config, clientInfo: { name: "test-host", version: "1" } });
  await host.toolNames();
  const took = async (method: string, params: object): Promise<number> => {
    const since = performance.now();
    expect((await host.request(method, params)).error).toBeDefined();
    return performance.now() - since;
  };
  // A list is asked for once a second at most, so a name of its own for each kind.
  expect(await took("tools/call", { name: "a__by_rule" })).toBeGreaterThan(delay * 0.9);
  expect(await took("prompts/get", { name: "a__secret_prompt" })).toBeGreaterThan(delay * 0.9);
  for (const uri of ["docs://secret/a", "docs://secret/made/7", "docs://nowhere/a", "docs://secret/nowhere/x/y"]) {
    const ms = await took("resources/read", { uri });
    expect(ms).toBeGreaterThan(delay * 0.9);
    expect(ms).toBeLessThan(delay * 3);
  }
});
