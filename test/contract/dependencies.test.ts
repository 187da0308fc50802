import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const SRC = path.resolve(import.meta.dirname, "../../src");
const FLOW = ["downstream", "pipeline", "router", "upstream"];
/** What a flow folder may import besides itself. */
const SHARED = ["wire", "redact", "exchange.ts", "errors.ts", "log.ts", "config/types.ts"];
/** Each npm package has one door: the folder that may import it. */
const DOORS: Record<string, string[]> = {
  "p-queue": ["pipeline/limits"],
  picomatch: ["pipeline/policy"],
  "lru-cache": ["router"],
  zod: ["config"],
  "jsonc-parser": ["config"],
  commander: ["cli"],
  pino: ["cli"],
  undici: ["upstream/legs"],
  "@bufbuild/cel": ["pipeline/policy"],
  "@bufbuild/re2": ["pipeline/policy"],
  "rate-limiter-flexible": ["pipeline/limits"],
};

interface Import {
  readonly from: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function imports(): Import[] {
  const found: Import[] = [];
  for (const entry of readdirSync(SRC, { recursive: true, encoding: "utf8" })) {
    if (!entry.endsWith(".ts")) continue;
    const text = readFileSync(path.join(SRC, entry), "utf8");
    const pattern = /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"|import\("([^"]+)"\)/g;
    for (const match of text.matchAll(pattern)) {
      const target = match[2] ?? match[3]!;
      const resolved = target.startsWith(".") ? path.join(path.dirname(entry), target) : target;
      found.push({ from: entry, target: resolved, typeOnly: match[1] !== undefined });
    }
  }
  return found;
}

test("flow folders never import each other", () => {
  const wrong = imports().filter(({ from, target }) => {
    const folder = from.split("/")[0]!;
    if (!FLOW.includes(folder) || target.startsWith("node:") || (!target.includes("/") && !target.endsWith(".ts")))
      return false;
    if (target.startsWith("@") || !target.endsWith(".ts")) return false;
    return (
      !target.startsWith(`${folder}/`) && !SHARED.some((shared) => target === shared || target.startsWith(`${shared}/`))
    );
  });
  expect(wrong).toEqual([]);
});

test("wire knows MCP as data: it imports no flow folder", () => {
  const wrong = imports().filter(
    ({ from, target, typeOnly }) =>
      from.startsWith("wire/") && target.endsWith(".ts") && !target.startsWith("wire/") && !typeOnly,
  );
  expect(wrong).toEqual([]);
});

test("each npm package has one door", () => {
  const wrong = imports().filter(({ from, target }) => {
    if (target.startsWith(".") || target.startsWith("node:") || target.endsWith(".ts")) return false;
    const doors = DOORS[target];
    return doors === undefined || !doors.some((door) => from.startsWith(`${door}/`));
  });
  expect(wrong).toEqual([]);
});

test("no source file runs away: 340 lines at most", () => {
  const long = readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((entry) => entry.endsWith(".ts"))
    .map((entry) => ({ entry, lines: readFileSync(path.join(SRC, entry), "utf8").split("\n").length }))
    .filter(({ lines }) => lines > 340);
  expect(long).toEqual([]);
});
