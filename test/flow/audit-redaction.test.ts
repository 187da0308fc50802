// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
/** Promise: a secret that is known, that stands under a secret's name or looks like one is nowhere but on the wire. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { httpServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";

/** J4: "no sentinel, nor a prefix of it". */
const PREFIX = 8;

/** Where a text holds some of the sentinels, or their beginnings. */
function leaks(text: string, sentinels: readonly string[]): string[] {
  return sentinels.flatMap((sentinel) => {
    const at = text.indexOf(sentinel.slice(0, PREFIX));
    return at < 0 ? [] : [`${sentinel}: …${text.slice(Math.max(0, at - 150), at + 60)}…`];
  });
}

function everyFile(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const token = fc
  .string({ unit: fc.constantFrom(...letters), minLength: 16, maxLength: 24 })
  .map((text) => `Z${text}7q`);

/** A text that holds the token so that it can be told for a secret, by its form or by the word before it. */
const shaped = (secret: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    `ghp_${secret}${secret}`,
    `sk-ant-api03-${secret}${secret}`,
    `xoxb-1234-${secret}`,
    `eyJhbGciOiJIUzI1NiJ9.${secret}.${secret}`,
    `Authorization: Bearer ${secret}`,
    `curl -u x https://${secret}@example.com/a`,
    `postgres://user:${secret}@db/x`,
    `GET /a?access_token=${secret}&b=1`,
    `https://e.com/cb?code=${secret}`,
    `password=${secret}`,
    `{"client_secret": "${secret}", broken`,
    `export DB_PASSWORD='${secret}'`,
    `Cookie: sid=${secret}; theme=dark`,
    `customerPin: ${secret}`,
    `-----BEGIN PRIVATE KEY----- ${secret} -----END PRIVATE KEY-----`,
  );

/** A value that holds the token under the name of a secret. */
const keyed = (secret: string): fc.Arbitrary<object> =>
  fc.constantFrom<object>(
    { password: secret },
    { db: { Client_Secret: [secret, { x: secret }] } },
    { headers: { "X-Api-Key": secret } },
    { "set-cookie": [secret] },
    { customerPin: secret },
    { auth: { user: secret, more: { deep: secret } } },
  );

/** The forms in which a known value can come along. */
const forms = (secret: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    secret,
    `x ${secret} y`,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
    Buffer.from(`a:${secret}`).toString("base64"),
    JSON.stringify({ a: secret }),
    JSON.stringify(JSON.stringify([secret])),
    JSON.stringify(secret).replace(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
  );

const around = (leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      leaf,
      fc.record({ a: tie("node"), "k\n": fc.string({ maxLength: 5 }) }),
      fc.tuple(fc.jsonValue({ maxDepth: 1 }), tie("node")),
      fc.tuple(tie("node")).map(([node]) => ({ type: "text", text: JSON.stringify(node) })),
    ),
  })).node;

test("sentinels put anywhere never come out anywhere: not in the log, the audit file, or a file we keep", async () => {
  await using dir = await tempDir();
  const seed = Date.now() % 2 ** 31;
  const [known, ...others] = fc.sample(fc.uniqueArray(token, { minLength: 9, maxLength: 9 }), { seed, numRuns: 1 })[0]!;
  const [literal, header, query, user, option, odd, path, session] = others as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const strange = `${odd} "ü\\/`;
  let broken: string | undefined;
  const script = { tools: [tool("echo")], errors: { "tools/call": { code: 1, message: `no ${header}` } } };
  await using http = await startHttpServer(script, {
    intercept: () => (broken === undefined ? undefined : { status: 500, body: `it broke: ${broken}` }),
  });
  const one = stdioServer(dir, "one", {
    tools: [tool("do"), tool("echo")],
    prompts: [{ name: "tell" }],
    resources: [{ uri: "docs://a", name: "a" }],
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    instructions: "none",
    onStart: [{ stderr: `starting with ${known} and ${literal}\n` }, { stdout: `{"token":"${literal}"} ${known}\n` }],
  });
  const url = new URL(http.url);
  url.username = "u";
  url.password = user;
  url.searchParams.set("key", query);
  const config = {
    mcpServers: {
      one: {
        ...one.entry,
        args: [...one.entry.args, "--api-key", option],
        env: { A: "${KNOWN}", B: literal, C: strange },
      },
      web: httpServer(url.href, { type: "http", headers: { Authorization: `Bearer ${header}` } }),
      none: { command: "/does/not/exist", args: ["--token", option], env: { T: literal } },
      refused: { url: `http://${path}:${path}@127.0.0.1:1/mcp?sig=${path}`, headers: { "X-Key": header } },
    },
    audit: { file: dir.file("audit.jsonl"), redactKeys: ["customerPin"] },
    policy: { default: "allow", rules: [{ effect: "deny", tools: ["hidden"], reason: "for ${KNOWN}" }] },
  };
  const home = dir.file("home");
  const host = await startHost({
    config,
    env: { KNOWN: known! },
    logLevel: "trace",
    home,
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: `host ${known}`, version: `Bearer ${session}${session}` },
  });
  await using _ = host;
  await host.toolNames();
  host.answer("elicitation/create", () => ({ action: "accept", content: { password: session } }));

  const secrets = [known!, literal, header, query, user, option, odd, path];
  const values = [known!, literal, header, query, user, option, strange, path];
  const fresh: string[] = [];
  const leaf = fc.oneof(
    fc.constantFrom(...values).chain((value) => fc.oneof(forms(value), shaped(value), keyed(value))),
    token.chain((secret) => {
      fresh.push(secret);
      return fc.oneof(shaped(secret), keyed(secret));
    }),
  );
  const payloads = fc.sample(around(leaf), { seed, numRuns: 120 });
  const call = (name: string, args: unknown) => host.request("tools/call", { name, arguments: args as object });
  for (const [index, payload] of payloads.entries()) {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    const line = text.replaceAll("\n", " ");
    // The edges at which the log and the audit file cut.
    const long = `${"-".repeat([0, 190, 990, 4_085][index % 4]!)} ${line}`;
    const steps = [
      { stderr: `${long}\n` },
      { stdout: `${long}\n` },
      { log: { level: "error", data: payload, logger: line } },
      { progress: 1, extra: `"message":${JSON.stringify(line)}` },
      index % 3 === 0
        ? { error: { code: -7, message: long, data: payload } }
        : { result: { content: [{ type: "text", text }], structuredContent: { payload }, isError: index % 3 === 1 } },
    ];
    await call("one__do", { steps, payload, [`k${index}`]: payload });
    await host.request("prompts/get", { name: "one__tell", arguments: { a: line } });
    await host.request("resources/read", { uri: `docs://a?token=${encodeURIComponent(line)}` });
    await call(`unknown ${line}`, {});
  }
  // Messages of ours: refusals, deaths, addresses that answer wrongly, names that are none.
  const said = [...values, `Bearer ${session}${session}`].join(" ");
  await call("web__echo", { said });
  await call("one__hidden", { said });
  await call("none__x", { said });
  await host.request("completion/complete", { ref: { type: "ref/prompt", name: said } });
  await host.request("tools/list", { cursor: said });
  await host.request("logging/setLevel", { level: said });
  await host.request(`unknown/${said}`, { said }, { id: `id ${said}` });
  host.notify(`notifications/${said}`, { said });
  await call("one__do", {
    steps: [
      {
        ask: [
          {
            method: "elicitation/create",
            params: { message: said, requestedSchema: { type: "object", properties: {} } },
          },
        ],
      },
    ],
  });
  await call("one__do", { steps: [{ ask: [{ method: "unknown/method", params: { said } }] }] });
  await call("one__do", { steps: [{ stderr: `fatal: ${said}\n` }, { exit: 3 }] });
  broken = said;
  await call("web__echo", {});
  await host.close();

  // Proof that there was something to hide.
  expect(host.stderr.length).toBeGreaterThan(10_000);
  expect(host.stderr).toContain("[redacted]");
  const audit = readFileSync(dir.file("audit.jsonl"), "utf8");
  expect(audit.match(/\[redacted\]/g)!.length).toBeGreaterThan(200);
  const all = [...new Set([...secrets, ...fresh, session])];
  expect(leaks(host.stderr, all), `seed ${seed}, stderr`).toEqual([]);
  expect(leaks(audit, all), `seed ${seed}, audit`).toEqual([]);
  for (const file of everyFile(home)) expect(leaks(readFileSync(file, "utf8"), all), file).toEqual([]);
}, 60_000);

test("an error of ours tells the host nothing of the configuration, whatever a server says while it dies", async () => {
  await using dir = await tempDir();
  const [variable, literal, header, query, option] = fc.sample(token, 5) as [string, string, string, string, string];
  const said = `${variable} ${encodeURIComponent(literal)} Bearer ${header} ${query}`;
  const script = { tools: [tool("echo")] };
  let broken = false;
  await using http = await startHttpServer(script, {
    intercept: () => (broken ? { status: 500, body: `it broke: ${said}` } : undefined),
  });
  const one = stdioServer(dir, "one", {
    tools: [tool("die"), tool("odd")],
    on: {
      die: [{ stderr: `fatal: ${said}\n` }, { exit: 3 }],
      odd: [{ raw: `{"jsonrpc":"2.0","id":1,${said}}` }, { exit: 4 }],
    },
  });
  const secrets = { env: { A: "${VARIABLE}", B: literal }, args: ["--token", option] };
  await using host = await startHost({
    config: {
      mcpServers: {
        one: { ...one.entry, ...secrets, args: [...one.entry.args, ...secrets.args] },
        none: { command: `/no/${option}`, ...secrets },
        web: httpServer(`${http.url}?key=${query}`, { type: "http", headers: { Authorization: `Bearer ${header}` } }),
        refused: { url: `http://u:${literal}@127.0.0.1:1/mcp?sig=${query}` },
      },
    },
    env: { VARIABLE: variable },
  });
  await host.toolNames();
  broken = true;
  const errors = [];
  for (const name of ["one__die", "one__odd", "web__echo", "none__x", "refused__x"]) {
    errors.push(await host.request("tools/call", { name, arguments: {} }));
  }
  expect(errors.filter(({ error }) => error !== undefined)).toHaveLength(5);
  const all = [variable, literal, header, query, option];
  expect(errors.flatMap(({ raw }) => leaks(raw, all))).toEqual([]);
  expect(errors.some(({ raw }) => raw.includes("[redacted]"))).toBe(true);
});

test("after a kill there is no secret in any file that was left behind", async () => {
  // J5
  await using dir = await tempDir();
  const [literal, secret] = fc.sample(token, 2) as [string, string];
  const one = stdioServer(dir, "one", { tools: [tool("echo")] });
  const home = dir.file("home");
  mkdirSync(home);
  const host = await startHost({
    config: { mcpServers: { one: { ...one.entry, env: { A: literal } } }, audit: { file: join(home, "audit.jsonl") } },
    env: { TMPDIR: home, XDG_STATE_HOME: home, XDG_RUNTIME_DIR: home },
    home,
  });
  await using _ = host;
  await host.toolNames();
  const calls = Array.from({ length: 20 }, () => host.call("one__echo", { password: secret, said: literal }));
  await Promise.all(calls);
  void host.request("tools/call", { name: "one__echo", arguments: { password: secret } });
  host.child.kill("SIGKILL");
  await host.exit;
  const files = everyFile(home);
  expect(files.map((path) => basename(path))).toEqual(expect.arrayContaining(["audit.jsonl", "audit.jsonl.lock"]));
  for (const path of files) {
    expect(leaks(readFileSync(path, "latin1"), [literal, secret]), path).toEqual([]);
    expect(statSync(path).mode & 0o077, path).toBe(0);
  }
});
