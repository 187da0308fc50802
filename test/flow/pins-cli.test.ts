/** Promise: `switchyard pin` shows a person what changed, word by word and with what cannot be seen, and takes the decision. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { switchyard } from "../support/command.ts";
import { configFile, type Script, stdioServer, tool } from "../support/config.ts";
import { type TempDir, tempDir } from "../support/dir.ts";

const script = (more: Partial<Script> = {}): Script => ({
  tools: [tool("a", { description: "Reads one file from the disk and gives its text back" }), tool("b")],
  prompts: [{ name: "tell" }],
  instructions: "Be careful.",
  ...more,
});

interface Data {
  servers: {
    name: string;
    same: number;
    absent?: string;
    damaged?: string;
    changes: {
      kind: string;
      name: string;
      publicName?: string;
      state: string;
      accepted: boolean;
      pinned?: string;
      current?: string;
      diff?: { path: string; parts: { op: string; text: string }[] }[];
      unseen: { where: string; what: string; count: number }[];
    }[];
  }[];
}

function place(dir: TempDir, more: object = {}) {
  const one = stdioServer(dir, "one", script());
  const two = stdioServer(dir, "two", script());
  const config = configFile(dir, { mcpServers: { one: one.entry, two: two.entry }, ...more });
  const pin = (...args: string[]) => switchyard(["pin", "--config", config, "--log-level", "error", ...args], dir);
  const data = async (...args: string[]) => JSON.parse((await pin("--json", ...args)).stdout) as Data;
  return { one, two, config, file: `${config}.pins.json`, pin, data };
}

test("pin pins whatever the mode is, says so once, and is content as long as nothing changes", async () => {
  await using dir = await tempDir();
  const { pin, file } = place(dir);
  const first = await pin();
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toMatch(/one: 0 as pinned, 4 pinned now\ntwo: 0 as pinned, 4 pinned now/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  const again = await pin();
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toMatch(/one: 4 as pinned\n/);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("a change is shown word by word, with characters that cannot be seen; nothing is accepted by looking", async () => {
  await using dir = await tempDir();
  const { one, pin, data, file } = place(dir);
  await pin();
  const before = readFileSync(file, "utf8");
  const hidden = "\u{E0073}\u{E0065}\u{E006E}\u{E0064}";
  const description = `Reads one file from the network and gives its text back\u200B${hidden}`;
  one.rewrite(
    script({
      tools: [tool("a", { description, annotations: { readOnlyHint: false } }), tool("b"), tool("s\u0435nd")],
      prompts: [],
      instructions: "Be careless.",
    }),
  );
  const shown = await pin("--diff");
  expect(shown.code).toBe(1);
  expect(shown.stdout).toContain("CHANGED: tool a (one__a)");
  expect(shown.stdout).toContain("[-disk-]{+network+} and gives its text [-back-]{+back\\u{200B}\\u{E0073}");
  expect(shown.stdout).toMatch(/annotations\.readOnlyHint:\n\s+\{\+false\+\}/);
  expect(shown.stdout).toContain("NOT TO BE SEEN in description: U+200B zero width");
  expect(shown.stdout).toContain("tag character (s)");
  expect(shown.stdout).toContain("NEW: tool s\u0435nd");
  expect(shown.stdout).toContain("letters of several alphabets");
  expect(shown.stdout).toContain("gone: prompt tell");
  expect(shown.stdout).toMatch(/CHANGED: instructions/);
  expect(shown.stdout).toContain("Be [-careful.-]{+careless.+}");
  expect(shown.stdout).not.toMatch(/\u200B|\u{E0073}/u);
  expect(readFileSync(file, "utf8")).toBe(before);

  const { servers } = await data("--diff");
  const [changed] = servers[0]!.changes;
  expect(changed).toMatchObject({ kind: "tool", name: "a", publicName: "one__a", state: "changed", accepted: false });
  expect(changed!.pinned).toMatch(/^[0-9a-f]{64}$/);
  expect(changed!.current).not.toBe(changed!.pinned);
  expect(changed!.diff!.map(({ path }) => path)).toEqual(["annotations.readOnlyHint", "description"]);
  expect(servers[1]).toMatchObject({ name: "two", same: 4, changes: [] });
});

test("accept takes a public name, SERVER/NAME or a whole server, and nothing beside it", async () => {
  await using dir = await tempDir();
  const { one, two, pin, data } = place(dir);
  await pin();
  const other = script({ tools: [tool("a", { description: "another" }), tool("b", { title: "B" }), tool("c")] });
  one.rewrite(other);
  two.rewrite(other);
  const open = (found: Data, server: number) =>
    found.servers[server]!.changes.filter(({ accepted }) => !accepted).map(({ name }) => name);
  const first = await data("--accept", "one__a", "one/b");
  expect(open(first, 0)).toEqual(["c"]);
  expect(open(first, 1)).toEqual(["a", "b", "c"]);
  expect(open(await data(), 0)).toEqual(["c"]);
  // "c" is new in both; a bare name must not decide for two servers.
  const both = await pin("--accept", "c");
  expect(both.code).toBe(2);
  expect(both.stderr).toMatch(/several servers have it.*one\/c, two\/c/);
  const none = await pin("--accept", "one__b");
  expect(none.code).toBe(2);
  expect(none.stderr).toMatch(/nothing that changed has this name/);
  expect(open(await data("--accept", "two"), 1)).toEqual([]);
  expect((await pin("--accept-all")).code).toBe(0);
  expect((await pin()).code).toBe(0);
});

test("a server that is not there keeps its pins; damaged pins are made anew only when a person says so", async () => {
  await using dir = await tempDir();
  const { config, file, pin, data } = place(dir);
  await pin();
  const pinned = readFileSync(file, "utf8");
  const whole = JSON.parse(readFileSync(config, "utf8")) as { mcpServers: Record<string, object> };
  writeFileSync(
    config,
    JSON.stringify({ ...whole, mcpServers: { ...whole.mcpServers, two: { command: "/no/such/program" } } }),
  );
  const away = await pin("--accept-all");
  expect(away.code).toBe(1);
  expect(away.stdout).toMatch(/two: not there: /);
  expect(readFileSync(file, "utf8")).toBe(pinned);

  writeFileSync(config, JSON.stringify(whole));
  writeFileSync(file, pinned.replace("Reads one file", "Reads two files"));
  const found = await data();
  expect(found.servers[0]!.damaged).toMatch(/digest and text of tools "a" do not match/);
  expect((await pin()).code).toBe(1);
  expect((await pin("--accept", "one")).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(pinned);

  writeFileSync(file, "");
  const refused = await pin();
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/is damaged: .*--accept-all/);
  expect((await pin("--accept-all")).code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(pinned);
});

test("list says which pin hides an item and why; list and call do not pin what they see", async () => {
  await using dir = await tempDir();
  const { one, config, file, pin } = place(dir, { pin: "enforce" });
  const run = (...args: string[]) => switchyard([...args, "--config", config, "--log-level", "error"], dir);
  expect((await run("call", "one__b")).code).toBe(0);
  expect(() => statSync(file)).toThrow();
  await pin();
  one.rewrite(script({ tools: [tool("a", { description: "another" }), tool("b")] }));
  const listed = await run("list");
  expect(listed.stdout).toMatch(
    /hidden \(1\)\n\s+a\s+one\s+tool\s+hidden by pin: the tool changed: pinned sha256 [0-9a-f]+/,
  );
  expect(listed.stdout).not.toContain("one__a ");
  expect((await run("call", "one__a")).stderr).toContain("Unknown tool: one__a");
});
