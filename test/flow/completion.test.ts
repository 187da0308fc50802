/** Promise: completions come from the server that owns the prompt or template, asked in its own words. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";

test("completion refs are mapped to their owner, who is asked with its own names, and never more than 100 values come", async () => {
  // C11, R124, R125, spec §4.5
  await using dir = await tempDir();
  const script = { capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} } };
  const template = (uriTemplate: string) => ({ uriTemplate, name: "t" });
  const a = stdioServer(dir, "a", {
    ...script,
    tools: [tool("x")],
    prompts: [{ name: "p" }, { name: "odd name" }],
    templates: [template("log://{day}"), template("both://{x}"), template("file:///{+path}")],
    resources: [{ uri: "x://r", name: "r" }],
  });
  const older = stdioServer(dir, "older", {
    ...script,
    versions: ["2025-03-26"],
    prompts: [{ name: "p" }, { name: "many" }, { name: "bad" }],
    templates: [template("both://{x}")],
    on: {
      "method:completion/complete": {
        sequence: [
          [{ result: { completion: { values: ["1"], vendor: 1 } } }],
          [{ result: { completion: { values: ["2"] } } }],
          [
            {
              result: {
                completion: { values: Array.from({ length: 150 }, (_, i) => `v${i}`), total: 150, hasMore: false },
                _meta: { v: 1 },
              },
            },
          ],
          [{ error: { code: -32602, message: "bad argument", data: [1] } }],
        ],
      },
    },
  });
  const without = stdioServer(dir, "without", {
    capabilities: { prompts: {}, resources: {} },
    prompts: [{ name: "p" }],
    templates: [template("w://{x}")],
    resources: [],
  });
  await using host = await startHost({
    config: { mcpServers: { a: a.entry, older: older.entry, without: without.entry } },
  });
  expect(host.initializeResult["capabilities"]).toMatchObject({ completions: {} });
  const prompts = (await host.listAll("prompts/list", "prompts")).map(({ name }) => name as string);
  const templates = (await host.listAll("resources/templates/list", "resourceTemplates")).map(
    ({ uriTemplate }) => uriTemplate as string,
  );
  const argument = { name: "x", value: "é" };
  const context = { arguments: { other: "1" } };
  const complete = (ref: object, more: object = {}) => host.request("completion/complete", { ref, argument, ...more });
  const values = async (ref: object, more: object = {}) =>
    ((await complete(ref, more)).result!["completion"] as { values: string[] }).values;
  const asked = (server: typeof a) => rawAt(server.received("completion/complete").at(-1)!.raw, "params");

  // The owner answers with the ref that it got.
  expect(await values({ type: "ref/prompt", name: "a__p" }, { context })).toEqual([
    'a:{"type":"ref/prompt","name":"p"}',
  ]);
  expect(JSON.parse(asked(a)!)).toEqual({ ref: { type: "ref/prompt", name: "p" }, argument, context });
  const odd = prompts.find((name) => name.startsWith("a__odd"))!;
  expect(await values({ type: "ref/prompt", name: odd })).toEqual(['a:{"type":"ref/prompt","name":"odd name"}']);
  for (const uri of ["log://{day}", "file:///{+path}", "x://r", "both://{x}"]) {
    expect(await values({ type: "ref/resource", uri })).toEqual([`a:{"type":"ref/resource","uri":"${uri}"}`]);
  }

  // The second owner of a template has an alias for it. An older server does not know `context`.
  const alias = templates.filter((text) => text.includes("both")).at(-1)!;
  expect(alias).not.toBe("both://{x}");
  expect((await complete({ type: "ref/resource", uri: alias }, { context })).result).toEqual({
    completion: { values: ["1"], vendor: 1 },
  });
  expect(JSON.parse(asked(older)!)).toEqual({ ref: { type: "ref/resource", uri: "both://{x}" }, argument });
  expect(await values({ type: "ref/prompt", name: "older__p" }, { context })).toEqual(["2"]);
  expect(JSON.parse(asked(older)!)).toEqual({ ref: { type: "ref/prompt", name: "p" }, argument });

  const many = await complete({ type: "ref/prompt", name: "older__many" });
  expect(many.result).toEqual({
    completion: { values: Array.from({ length: 100 }, (_, i) => `v${i}`), total: 150, hasMore: true },
    _meta: { v: 1 },
  });
  const bad = await complete({ type: "ref/prompt", name: "older__bad" });
  expect(bad.error).toEqual({ code: -32602, message: "bad argument", data: [1] });

  // An owner that completes nothing is not asked, and that is no error.
  const nothing = { completion: { values: [], total: 0, hasMore: false } };
  expect((await complete({ type: "ref/prompt", name: "without__p" })).result).toEqual(nothing);
  expect((await complete({ type: "ref/resource", uri: "w://{x}" })).result).toEqual(nothing);
  expect(without.received("completion/complete")).toEqual([]);

  // What nobody has, or is no ref, is an error.
  const count = a.received("completion/complete").length;
  for (const ref of [
    { type: "ref/prompt", name: "p" },
    { type: "ref/prompt", name: "a__nothing" },
    { type: "ref/prompt" },
    { type: "ref/tool", name: "a__x" },
    {},
  ]) {
    expect((await complete(ref)).error?.code).toBe(-32602);
  }
  expect((await host.request("completion/complete", { argument })).error?.code).toBe(-32602);
  expect((await host.request("completion/complete", { ref: "a__p", argument })).error?.code).toBe(-32602);
  expect(a.received("completion/complete")).toHaveLength(count);
  expect(host.strays).toEqual([]);
});
