// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
/** Field report L3. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandAll } from "../../src/config/expand.ts";
import { loadEntry, problemsOf } from "./support.ts";

const expand = (text: string, env: NodeJS.ProcessEnv = {}) => expandAll(text, env, []).value;

describe("expansion", () => {
  it.each([
    ["${A}", "1"],
    ["x${A}y${B}z", "x1y2z"],
    ["${C:-def}", "def"],
    ["${A:-def}", "1"],
    ["${C:-}", ""],
    ["${C:-a:-b}", "a:-b"],
    ["${C:-a$$b}", "a$b"],
    ["$$", "$"],
    ["$${A}", "${A}"],
    ["$$$${A}", "$${A}"],
    ["$$${A}", "$1"],
    ["$A $ 5$", "$A $ 5$"],
    ["{A}", "{A}"],
    ["${EMPTY}|${EMPTY:-def}", "|"],
  ])("of %s is %s", (text, expected) => {
    expect(expand(text, { A: "1", B: "2", EMPTY: "" })).toBe(expected);
  });

  it("reaches command, args, env, url, headers and cwd alike, and no key", async () => {
    const env = { V: "value" };
    const stdio = await loadEntry({ command: "${V}", args: ["${V}"], env: { "${V}": "${V}" }, cwd: "/${V}" }, env);
    expect(stdio.target).toEqual({
      type: "stdio",
      command: "value",
      args: ["value"],
      env: { "${V}": "value" },
      cwd: "/value",
    });
    const http = await loadEntry({ url: "http://a/${V}", headers: { A: "Bearer ${V}" } }, env);
    expect(http.target).toMatchObject({ url: "http://a/value", headers: { A: "Bearer value" } });
  });

  it("of a variable that is not set is that entry's error, naming file, key and variable", async () => {
    expect(await problemsOf({ command: "x", args: ["a", "${NOT_SET}"] })).toEqual([
      "switchyard.json:7: mcpServers.files.args[1]: the environment variable NOT_SET is not set and has no default. " +
        "Set NOT_SET where switchyard is started, or write ${NOT_SET:-default}.",
    ]);
  });

  it("names a variable once, not also what its absence makes wrong", async () => {
    expect(await problemsOf({ url: "${NOT_SET}" })).toHaveLength(1);
  });

  it.each(["${", "${A", "${}", "${1A}", "${A:=b}", "${A-b}", "${A:-${B}}", "${A B}"])("refuses %s", (text) => {
    const { problems } = expandAll(text, { A: "1", B: "2" }, ["k"]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ path: ["k"] });
  });

  it("does not find what every object has", () => {
    expect(expandAll("${constructor}", {}, []).problems).toHaveLength(1);
  });

  it("never happens twice: what a variable holds arrives as it is", () => {
    const piece = fc.oneof(fc.constantFrom("$", "$$", "${A}", "${B:-x}", "${", "}", "A"), fc.string());
    const value = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(value, value, (a, b) => {
        const { value: expanded, problems } = expandAll(["${A}|${B}", "${B:-no}"], { A: a, B: b }, []);
        expect(problems).toEqual([]);
        expect(expanded).toEqual([`${a}|${b}`, b]);
      }),
    );
  });

  it("leaves a text alone whose dollar signs were doubled", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("$", "{", "}", "A", ":", "-") })), (text) => {
        const { value, problems } = expandAll(text.replaceAll("$", "$$$$"), { A: "1" }, []);
        expect(problems).toEqual([]);
        expect(value).toBe(text);
      }),
    );
  });

  it("keeps what is no text", () => {
    expect(expandAll({ a: [1, true, null, "${A}"] }, { A: "x" }, []).value).toEqual({ a: [1, true, null, "x"] });
  });
});
