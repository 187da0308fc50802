import { describe, expect, it } from "vitest";
import type { Explained } from "../../src/explain.ts";
import { clientOf, failed, ready, run } from "./run.ts";

const config = { mcpServers: { db: { command: "x", env: { TOKEN: "s3cret-value" } } } };
const explained: Explained = {
  name: "db__query",
  client: "claude-code",
  kind: "tool",
  server: "db",
  original: "query",
  effect: "allow",
  rule: "rules[0]",
  dependsOnArguments: true,
  limits: [{ calls: 5, perMs: 10_000, burst: 2, rule: "rules[0]" }],
  matched: [
    { rule: "rules[0]", effect: "allow", says: "holds", limit: { calls: 5, perMs: 10_000, burst: 2 } },
    { rule: "rules[1]", effect: "deny", says: "depends on the arguments", when: "args.sql.contains('s3cret-value')" },
    { rule: "rules[2]", effect: "deny", says: "other callers", reason: "not for ci" },
  ],
};

describe("explain", () => {
  it("says whose it is, which rules reach it, which decides, which limits hold and what is answered, uncut", async () => {
    const { engine, closed } = clientOf({ explain: () => explained, servers: () => [ready("db")] });
    const { code, stdout, stderr } = await run(["explain", "db__query"], { config, engine, columns: 40 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(
      [
        "name        db__query",
        "is          tool query of server db",
        "for         client claude-code",
        "effect      allow, unless the arguments say otherwise (see --args)",
        "decided by  rules[0]",
        "limit       5 in 10.0 s, and 2 more in 100.0 s (rules[0])",
        "answer      that of db",
        "",
        "rules that match",
        "  rules[0]  allow  holds; limit 5 in 10.0 s, and 2 more in 100.0 s",
        "  rules[1]  deny   depends on the arguments; when args.sql.contains('[redacted]')",
        "  rules[2]  deny   other callers; not for ci",
        "",
      ].join("\n"),
    );
    expect(closed()).toBe(true);
  });

  it("gives the same as JSON, without secrets", async () => {
    const { engine } = clientOf({ explain: () => explained, servers: () => [ready("db")] });
    const { stdout } = await run(["explain", "db__query", "--json"], { config, engine });
    expect(JSON.parse(stdout)).toMatchObject({ server: "db", original: "query", effect: "allow", rule: "rules[0]" });
    expect(stdout).not.toContain("s3cret");
  });

  it("hands on the client's name and the text of the arguments", async () => {
    let asked: unknown[] = [];
    const { engine } = clientOf({
      servers: () => [ready("db")],
      explain: (...args) => {
        asked = args;
        return explained;
      },
    });
    let clientName: string | undefined;
    const startClient: typeof engine.startClient = async (options) => {
      clientName = options.clientName;
      return engine.startClient!(options);
    };
    const args = '{"a":1,"a":2}';
    const argv = ["explain", "db__query", "--args", args, "--client", "claude-code"];
    expect((await run(argv, { config, engine: { startClient } })).code).toBe(0);
    expect(asked).toEqual(["db__query", args]);
    expect(clientName).toBe("claude-code");
  });

  it("says that a name is unknown, what is near, and where a URI would be looked for", async () => {
    const error = { code: -32002, message: "Resource not found: docs://b" };
    const { engine } = clientOf({
      explain: (name) => ({ name, unknown: true, near: "docs://a", lookedForAt: ["db"], error }),
      servers: () => [failed("db")],
    });
    const { code, stdout, stderr } = await run(["explain", "docs://b"], { config, engine });
    expect(code).toBe(1);
    expect(stdout).toBe(
      [
        "docs://b is in no list.",
        'Did you mean "docs://a"?',
        "A read would look for it at db, one after the other.",
        "Where nobody has it the answer is: error -32002: Resource not found: docs://b",
        "",
      ].join("\n"),
    );
    expect(stderr).toContain("db: backoff: what it has is not known");
  });

  it("refuses arguments that are no JSON object with exit code 2", async () => {
    const { code, stderr } = await run(["explain", "db__query", "--args", "{"], {
      config,
      engine: clientOf({}).engine,
    });
    expect(code).toBe(2);
    expect(stderr).toContain("the arguments are not JSON");
  });
});

describe("list --hidden", () => {
  it("shows only what is hidden, each with what hides it", async () => {
    const hidden = [{ server: "db", kind: "tool", original: "drop", why: "hidden by policy, rules[1]: no drops" }];
    const tools = [{ publicName: "db__query", server: "db", original: "query", definition: {} }];
    const catalogue = async () => ({ tools, prompts: [], resources: [], templates: [], hidden });
    const { engine } = clientOf({ catalogue, servers: () => [ready("db")] });
    const { stdout } = await run(["list", "--hidden"], { config, engine, columns: 100 });
    expect(stdout).toBe("hidden (1)\n  drop  db  tool  hidden by policy, rules[1]: no drops\n");
    const asJson = JSON.parse((await run(["list", "--hidden", "--json"], { config, engine })).stdout) as object;
    expect(asJson).toMatchObject({ tools: [], hidden });
  });
});
