// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { describe, expect, it } from "vitest";
import { jsonSchema } from "../../src/config/json-schema.ts";

type Part = {
  description?: string;
  default?: unknown;
  properties?: Record<string, Part>;
  items?: Part;
  additionalProperties?: Part | boolean;
  [key: string]: unknown;
};

const schema = jsonSchema() as Part;
const validate = new AjvJsonSchemaValidator().getValidator(schema);
const accepts = (value: unknown) => validate(value).valid;
const at = (...path: string[]): Part =>
  path.reduce(
    (part, key) =>
      key === "*" ? (part.additionalProperties as Part) : key === "[]" ? part.items! : part.properties![key]!,
    schema,
  );

describe("the JSON Schema", () => {
  it("is of 2020-12 and forbids unknown keys", () => {
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      additionalProperties: false,
    });
    expect(at("mcpServers", "*")).toMatchObject({ additionalProperties: false });
  });

  it("describes every key", () => {
    const bare: string[] = [];
    const walk = (part: Part, path: string) => {
      for (const [key, inner] of Object.entries(part.properties ?? {})) {
        if (!inner.description) bare.push(`${path}.${key}`);
        walk(inner, `${path}.${key}`);
      }
      if (part.items) walk(part.items, `${path}[]`);
      if (typeof part.additionalProperties === "object") walk(part.additionalProperties, `${path}.*`);
    };
    walk(schema, "");
    expect(bare).toEqual([]);
  });

  it("gives the defaults of the interface", () => {
    const defaults = (part: Part) =>
      Object.fromEntries(Object.entries(part.properties!).map(([key, inner]) => [key, inner.default]));
    expect(defaults(at("timeouts"))).toEqual({
      connectMs: 30_000,
      requestMs: 0,
      totalMs: 0,
      resetOnProgress: true,
      startupMs: 1_500,
      drainMs: 5_000,
    });
    expect(defaults(at("names"))).toEqual({ maxLength: 64, hostPrefix: 17, separator: "__" });
    expect(defaults(at("page"))).toEqual({ items: 1_000, bytes: 4_194_304 });
    expect(at("mcpServers", "*", "queueLimit").default).toBe(1_000);
    expect(at("policy", "default").default).toBe("allow");
    expect(at("audit", "payloads").default).toBe("redacted");
  });

  const servers = {
    files: {
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/docs"],
      env: { TOKEN: "${FILES_TOKEN:-none}" },
      cwd: "/srv",
    },
    issues: { type: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer ${ISSUES_TOKEN}" } },
    old: { type: "sse", url: "https://example.com/sse" },
  };

  it("accepts the examples of the interface", () => {
    expect(accepts({ mcpServers: servers })).toBe(true);
    const rules = [
      { effect: "allow", servers: ["files"], tools: ["read_*", "list_*"] },
      {
        effect: "deny",
        tools: ["*"],
        when: "tool.annotations.destructiveHint == true",
        reason: "destructive tools are off",
      },
      { effect: "allow", clients: ["ci-*"], servers: ["*"], resources: ["docs://**"] },
    ];
    expect(accepts({ mcpServers: servers, policy: { default: "deny", rules } })).toBe(true);
  });

  it.each<[string, unknown]>([
    ["no servers", {}],
    ["an unknown key", { mcpServers: {}, x: 1 }],
    ["an entry with an unknown key", { mcpServers: { a: { command: "x", comand: "y" } } }],
    ["an entry with neither command nor url", { mcpServers: { a: {} } }],
    ["an entry with both", { mcpServers: { a: { command: "x", url: "http://a" } } }],
    ["a text for a number", { mcpServers: {}, maxMessageBytes: "1" }],
  ])("refuses %s", (_, value) => {
    expect(accepts(value)).toBe(false);
  });
});
