/** Every example checks what it shows and ends with 1 on a mismatch: here each of them runs as a user would run it. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const examples = readdirSync(`${root}examples`).filter((name) => existsSync(`${root}examples/${name}/run.ts`));

/** Resolves with the exit code and everything that was printed. */
function run(script: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", "tsx", script], { cwd: root, windowsHide: true });
    let output = "";
    const keep = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

describe("examples", () => {
  it("are there", () => {
    expect(examples).toEqual(expect.arrayContaining(["demo", "desktop-host", "engineering-ops", "two-servers"]));
  });

  it.each(examples)("%s shows what it says", { timeout: 60_000 }, async (name) => {
    expect(existsSync(`${root}examples/${name}/README.md`)).toBe(true);
    const { code, output } = await run(`examples/${name}/run.ts`);
    expect(code, output).toBe(0);
    expect(output).toContain("as expected");
  });
});
