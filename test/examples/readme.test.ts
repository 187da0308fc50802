/** The README shows files and commands; they must be those that work. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonSchema } from "../../src/config/json-schema.ts";
import { loadConfig } from "../../src/config/load.ts";
import { tempDir } from "../support/dir.ts";

/** The part of the JSON Schema that is looked at. */
interface FileSchema {
  readonly properties: Readonly<Record<string, { description?: string; additionalProperties?: FileSchema }>>;
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const readme = read("README.md");

function blocks(language: string): string[] {
  return [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, label]) => label === language)
    .map(([, , text]) => text!);
}

/** First cells of the table under a heading, without the marks. */
function firstCells(heading: string): string[] {
  const section = readme.split(`\n${heading}\n`)[1]!.split(/\n#+ /)[0]!;
  const cells = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell!);
  return cells.flatMap((cell) => cell.split(", ")).map((name) => name.replaceAll("`", ""));
}

describe("README", () => {
  it("has two set-up commands, one line each", () => {
    expect(blocks("sh").map((text) => text.trim())).toEqual(["npm ci && npm run demo", "npm ci && npm test"]);
  });

  it("shows a configuration that loads without a complaint", async () => {
    await using dir = await tempDir();
    const [example] = blocks("jsonc");
    const file = join(dir.path, "switchyard.json");
    await writeFile(file, example!);
    const config = await loadConfig(file, { HOME: dir.path, ISSUES_TOKEN: "not-a-real-one" });
    expect({ broken: config.broken, warnings: config.warnings }).toEqual({ broken: [], warnings: [] });
    expect(config.servers.map(({ name }) => name)).toEqual(["files", "issues"]);
  });

  it("shows rules that load without a complaint", async () => {
    await using dir = await tempDir();
    const file = join(dir.path, "switchyard.json");
    const rules = blocks("jsonc").slice(1).join(",\n").replaceAll(",\n,", ",");
    const servers = `"db": { "command": "x" }, "web": { "command": "x" }`;
    await writeFile(file, `{ "mcpServers": { ${servers} }, "policy": { "rules": [\n${rules}] } }`);
    const config = await loadConfig(file, { HOME: dir.path });
    expect(config.warnings).toEqual([]);
    expect(config.policy.rules.length).toBeGreaterThan(4);
  });

  it("shows the entries that the example of the hosts starts", () => {
    const [desktop, claudeCode, vsCode] = blocks("json").map((text) => JSON.parse(text) as unknown);
    const file = (path: string): unknown => JSON.parse(read(`examples/desktop-host/${path}`));
    expect(claudeCode).toEqual(file("claude-code/.mcp.json"));
    expect(vsCode).toEqual(file("vscode/.vscode/mcp.json"));
    // Cursor's differs in the path alone, Claude Desktop's leaves the file to the user's own.
    const cursor = JSON.stringify(file("cursor/.cursor/mcp.json")).replace(`\${workspaceFolder}`, "/path/to");
    expect(desktop).toEqual(JSON.parse(cursor));
  });

  it("has a row for every key of the configuration file", () => {
    const { properties: top } = jsonSchema() as unknown as FileSchema;
    const rows = new Set(firstCells("### Keys of the top level").map((key) => key.split(".")[0]!));
    // `http` is accepted without effect, and so it stands under the limits.
    expect([...rows].sort()).toEqual(
      Object.keys(top)
        .filter((key) => key !== "http")
        .sort(),
    );

    const { properties: entry } = top["mcpServers"]!.additionalProperties!;
    const own = Object.keys(entry).filter((key) => !entry[key]!.description?.includes("accepted without effect"));
    expect(firstCells("### Keys of an entry").sort()).toEqual(own.sort());
  });
});
