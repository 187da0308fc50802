// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
import { chmodSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { folder, keys } from "../pipeline/audit-support.ts";
import { load, refusal } from "./support.ts";

const one = { mcpServers: { a: { command: "x" } } };

describe("the top level", () => {
  it("has every default of the interface", async () => {
    expect(await load(one)).toMatchObject({
      timeouts: {
        connectMs: 30_000,
        requestMs: 0,
        totalMs: 0,
        resetOnProgress: true,
        startupMs: 1_500,
        drainMs: 5_000,
      },
      names: { maxLength: 64, hostPrefix: 17, separator: "__" },
      page: { items: 1_000, bytes: 4_194_304 },
      policy: { default: "allow", rules: [] },
      audit: undefined,
      roots: undefined,
      maxMessageBytes: 0,
      disabled: [],
      broken: [],
      warnings: [],
      secrets: [],
    });
  });

  it("keeps what it gives, and completes the rest", async () => {
    const rule = { effect: "deny", servers: ["a"], clients: ["ci-*"], tools: ["*"], reason: "r" };
    const config = await load({
      ...one,
      $schema: "./schema.json",
      names: { separator: "-" },
      page: { items: 5 },
      policy: { default: "deny", rules: [rule] },
      roots: [{ uri: "file:///srv", name: "srv" }],
      maxMessageBytes: 1_000,
      audit: { file: "log/audit.jsonl", redactKeys: ["pin"] },
    });
    expect(config).toMatchObject({
      names: { maxLength: 64, hostPrefix: 17, separator: "-" },
      page: { items: 5, bytes: 4_194_304 },
      policy: { default: "deny", rules: [rule] },
      roots: [{ uri: "file:///srv", name: "srv" }],
      maxMessageBytes: 1_000,
      audit: {
        payloads: "redacted",
        durability: "write",
        onFailure: "deny",
        rotateBytes: undefined,
        checkpoints: undefined,
        redactKeys: ["pin"],
      },
    });
    expect(config.audit?.file).toBe(config.file.replace("switchyard.json", "log/audit.jsonl"));
  });

  it("keeps how the audit file is rotated and signed; a key that others can read is a warning", async () => {
    const { path } = folder();
    const { keyFile } = keys(path);
    const audit = { file: "a.jsonl", rotateBytes: 1_000, signingKeyFile: keyFile };
    const config = await load({ ...one, audit });
    expect(config.audit).toMatchObject({ rotateBytes: 1_000, checkpoints: { every: 1_000, keyFile } });
    expect(config.warnings).toEqual([]);
    chmodSync(keyFile, 0o644);
    const open = await load({ ...one, audit: { ...audit, checkpointEvery: 5 } });
    expect(open.audit?.checkpoints).toEqual({ every: 5, keyFile });
    expect(open.warnings.join()).toContain("audit.signingKeyFile: can be read by other users");
  });

  it("puts the audit file under the home folder where it says ~/", async () => {
    const { audit } = await load(
      { ...one, audit: { file: "~/a.jsonl" } },
      { HOME: "/home/me", USERPROFILE: "/home/me" },
    );
    expect(audit?.file).toBe("/home/me/a.jsonl");
  });

  it.each<[string, object, string]>([
    ["mcpServers is missing", { policy: {} }, 'mcpServers: the key is missing. Add "mcpServers"'],
    ["mcpServers is a list", { mcpServers: [] }, "mcpServers: must be an object"],
    [
      "a rule is for nothing",
      { ...one, policy: { rules: [{ effect: "deny", servers: ["a"] }] } },
      'policy.rules[0]: the rule names none of "tools", "prompts", "resources" and "questions"',
    ],
    [
      "a rule has an empty list",
      { ...one, policy: { rules: [{ effect: "allow", tools: [] }] } },
      "policy.rules[0].tools: is an empty list and matches nothing",
    ],
    [
      "a rule has no effect",
      { ...one, policy: { rules: [{ tools: ["*"] }] } },
      "policy.rules[0].effect: the key is missing",
    ],
    [
      "a rule has an empty glob",
      { ...one, policy: { rules: [{ effect: "allow", tools: [""] }] } },
      "policy.rules[0].tools[0]: an empty glob",
    ],
    ["rotation is for no size", { ...one, audit: { file: "x", rotateBytes: 0 } }, "audit.rotateBytes: is too small"],
    [
      "checkpoints have no key",
      { ...one, audit: { file: "x", checkpointEvery: 9 } },
      "audit.checkpointEvery: has no effect without a key that signs",
    ],
    [
      "the signing key is not there",
      { ...one, audit: { file: "x", signingKeyFile: "no.pem" } },
      "audit.signingKeyFile: the file cannot be read (ENOENT)",
    ],
    ["the audit has no file", { ...one, audit: {} }, "audit.file: the key is missing"],
    [
      "nothing would be left for a name",
      { ...one, names: { maxLength: 32 } },
      "names: maxLength less hostPrefix leaves 15 characters for a name, and 16 are needed",
    ],
    [
      "the separator is not safe",
      { ...one, names: { separator: "/" } },
      "names.separator: is not 1 to 8 of the characters",
    ],
    ["a root is no file URI", { ...one, roots: [{ uri: "/srv" }] }, "roots[0].uri: is not a file URI"],
    [
      "a token's hash is none",
      { ...one, http: { auth: { tokens: [{ name: "a", sha256: "x" }] } } },
      "http.auth.tokens[0].sha256: ",
    ],
    [
      "the auth is of both kinds",
      {
        ...one,
        http: { auth: { tokens: [{ name: "a", sha256: "a".repeat(64) }], issuer: "https://a", audience: "b" } },
      },
      'http.auth: has both "tokens" and "issuer"',
    ],
    [
      "a variable is not set",
      { ...one, audit: { file: "${AUDIT}" } },
      "audit.file: the environment variable AUDIT is not set and has no default",
    ],
    ["a time is negative", { ...one, timeouts: { drainMs: -1 } }, "timeouts.drainMs: is too small. Write 0 or more"],
    [
      "a limit is a text",
      { ...one, maxMessageBytes: "1MB" },
      "maxMessageBytes: must be a number, not a text. Write it without quotes",
    ],
  ])("is refused when %s", async (_, content, expected) => {
    const message = await refusal(content);
    expect(message).toContain(expected);
    expect(message).toMatch(/^switchyard\.json:\d+: /);
  });

  it("names all of its mistakes at once, one a line", async () => {
    const lines = (await refusal({ ...one, timeouts: { drainMs: -1 }, page: { items: 0 } })).split("\n");
    expect(lines).toHaveLength(2);
  });

  it("checks http, and says that it has no effect yet", async () => {
    const config = await load({ ...one, http: { allowedHosts: ["a"], auth: { issuer: "https://a", audience: "b" } } });
    expect(config.warnings.join()).toContain("http: has no effect in this version");
  });

  it("warns of a rule for a server that is not there, but not of one for a disabled or broken entry", async () => {
    const config = await load({
      mcpServers: { a: { command: "x" }, b: { command: "x", disabled: true }, c: {} },
      policy: { rules: [{ effect: "deny", tools: ["*"], servers: ["a", "b", "c", "fiels"] }] },
    });
    expect(config.warnings).toHaveLength(1);
    expect(config.warnings[0]).toContain("policy.rules[0].servers[3]: matches no entry of mcpServers");
  });

  it("may have no server at all, with a warning", async () => {
    const config = await load({ mcpServers: {} });
    expect(config.servers).toEqual([]);
    expect(config.warnings[0]).toContain("mcpServers: holds no server");
  });

  it("warns of a filter that lets nothing through", async () => {
    const config = await load({ mcpServers: { a: { command: "x", tools: { allow: [] } } } });
    expect(config.servers[0]?.tools.allow).toEqual([]);
    expect(config.warnings[0]).toContain("mcpServers.a.tools.allow: is an empty list and lets nothing through");
  });
});
