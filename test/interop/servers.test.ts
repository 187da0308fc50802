/**
 * Promise: the servers that people really run, six of them behind one entry, answer as they do by themselves. Each has its
 * own way of being awkward: roots that replace folders, a capability that is not there, noise on stdout, a huge page.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TempDir, tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { rawAt } from "../support/raw.mjs";
import { until } from "../support/until.ts";
import { outcome, Pair } from "./pair.ts";
import { formPdf } from "./pdf.ts";
import {
  direct,
  fetching,
  filesystem,
  memory,
  PATIENCE,
  PDF_PAGE,
  pdf,
  runner,
  Shared,
  START_MS,
  thinking,
} from "./peers.ts";

const VIEW = "ui://pdf-viewer/mcp-app.html";
const GRAPH = "memory://knowledge-graph";
const UPDATED = "notifications/resources/updated";
const NAMES = ["files", "graph", "thinking", "web", "runner", "pdf"] as const;
type Name = (typeof NAMES)[number];

describe("six servers behind one entry", () => {
  const shared = new Shared();
  let dir: TempDir;
  let proxied: Host;
  let pairs: Record<Name, Pair>;
  /** What the host grants, and what filesystem's own arguments name. */
  let granted: string;
  let given: string;
  let firstListMs: number;

  beforeAll(async () => {
    dir = shared.keep(await tempDir());
    [granted, given] = [dir.file("granted"), dir.file("given")];
    for (const folder of [granted, given, dir.file("runner"), dir.file("runner-direct")]) await mkdir(folder);
    await writeFile(`${granted}/poem.txt`, "Ünter den Linden\r\nline 2\u2028still line 2\n");
    await writeFile(`${granted}/pixel.png`, Buffer.from("89504e470d0a1a0a", "hex"));
    await writeFile(`${granted}/form.pdf`, formPdf());
    await writeFile(`${given}/secret.txt`, "not for this host");
    const entries = (which: "direct" | "proxied") => ({
      files: filesystem(given),
      graph: memory(dir.file(`${which}.jsonl`)),
      thinking: thinking(),
      web: fetching(),
      runner: runner(dir.file(which === "direct" ? "runner-direct" : "runner")),
      pdf: pdf(),
    });
    // They ask for the roots as soon as they are initialized, so the answer must be ready before.
    const options = { capabilities: { roots: { listChanged: true }, elicitation: {} }, initialize: false };
    const config = { mcpServers: entries("proxied"), timeouts: PATIENCE };
    const hosts = [startHost({ config, ...options }), ...NAMES.map((name) => direct(entries("direct")[name], options))];
    const started = await Promise.all(
      hosts.map(async (starting) => {
        const host = await shared.start(starting);
        host.answer("roots/list", () => ({ roots: [{ uri: pathToFileURL(granted).href, name: "granted" }] }));
        await host.initialize();
        return host;
      }),
    );
    proxied = started[0]!;
    const began = performance.now();
    await proxied.request("resources/list", {});
    firstListMs = performance.now() - began;
    pairs = Object.fromEntries(
      NAMES.map((name, i) => [name, new Pair({ direct: started[i + 1]!, proxied, server: name })]),
    ) as Record<Name, Pair>;
  }, START_MS);
  afterAll(() => shared.end());

  test("the lists are those of the servers, byte for byte, one after the other in the order of the file", async () => {
    const counts: number[] = [];
    for (const name of NAMES) counts.push(await pairs[name].sameList("tools/list"));
    expect(counts).toEqual([14, 9, 1, 6, 1, 9]);
    const servers = (await proxied.toolNames()).map((name) => name.split("__")[0]);
    expect(servers).toEqual(NAMES.flatMap((name, i) => Array.from({ length: counts[i]! }, () => name)));
    const resources = await proxied.listAll("resources/list", "resources");
    expect(resources.map(({ uri }) => uri)).toEqual([GRAPH, VIEW]);
    expect(await proxied.listAll("resources/templates/list", "resourceTemplates")).toEqual([]);
    expect(await proxied.listAll("prompts/list", "prompts")).toEqual([]);
  });

  test("filesystem works in the folders that the host grants as roots, and in no others", async () => {
    const { files } = pairs;
    for (const peer of files.both) {
      await until(async () => (await peer.callText(files.nameAt(peer, "list_allowed_directories"))).includes(granted), {
        what: "the host's roots at the server",
      });
    }
    const allowed = await files.sameCall("list_allowed_directories");
    expect(JSON.stringify(allowed)).not.toContain(given);
    const path = `${granted}/poem.txt`;
    expect(await files.sameCall("read_text_file", { path })).toMatchObject({
      structuredContent: { content: await readFile(path, "utf8") },
    });
    await files.sameCall("read_text_file", { path, head: 1 });
    await files.sameCall("read_media_file", { path: `${granted}/pixel.png` });
    await files.sameCall("read_media_file", { path: `${granted}/form.pdf` });
    await files.sameCall("read_multiple_files", { paths: [path, `${granted}/none`] });
    await files.sameCall("list_directory", { path: granted });
    await files.sameCall("directory_tree", { path: granted });
    await files.sameCall("search_files", { path: granted, pattern: "*.txt" });
    await files.sameCall("get_file_info", { path });
    const fresh = `${granted}/sub/new.txt`;
    await files.sameCall("create_directory", { path: `${granted}/sub` });
    await files.sameCall("write_file", { path: fresh, content: "one\ntwo\n" });
    await files.sameCall("edit_file", { path: fresh, edits: [{ oldText: "two", newText: "2" }], dryRun: true });
    expect(await readFile(fresh, "utf8")).toBe("one\ntwo\n");
    for (const refused of [`${given}/secret.txt`, `${granted}/none.txt`, "relative.txt"]) {
      expect(await files.sameCall("read_text_file", { path: refused })).toMatchObject({ isError: true });
    }
  });

  test("memory keeps one graph, tells what has changed to who subscribed, and answers with structured content", async () => {
    const { graph } = pairs;
    expect((await graph.same("resources/subscribe", { uri: GRAPH })).result).toEqual({});
    const mark = graph.mark();
    const entities = [
      { name: "Ada", entityType: "person", observations: ["wrote notes", "ünïcode \u2028 here"] },
      { name: "Engine", entityType: "machine", observations: [] },
    ];
    expect(await graph.sameCall("create_entities", { entities })).toHaveProperty("structuredContent.entities");
    await graph.sameNotification(mark, UPDATED, ({ uri }) => uri === GRAPH);
    await graph.sameCall("create_relations", { relations: [{ from: "Ada", to: "Engine", relationType: "programs" }] });
    await graph.sameCall("add_observations", { observations: [{ entityName: "Engine", contents: ["is analytical"] }] });
    await graph.sameCall("search_nodes", { query: "analytical" });
    await graph.sameCall("open_nodes", { names: ["Ada"] });
    await graph.sameCall("delete_observations", { deletions: [{ entityName: "Ada", observations: ["wrote notes"] }] });
    const unknown = { observations: [{ entityName: "Nobody", contents: ["x"] }] };
    expect(await graph.sameCall("add_observations", unknown)).toMatchObject({ isError: true });
    const read = await graph.same("resources/read", { uri: GRAPH });
    expect(JSON.stringify(read.result)).toContain("analytical");
    await graph.sameCall("read_graph");
    await graph.same("resources/unsubscribe", { uri: GRAPH });
    // The other server with resources has no subscriptions; the proxy as a whole has.
    const other = await proxied.request("resources/subscribe", { uri: VIEW });
    expect(other.error?.code).toBe(-32602);
  });

  test("sequential thinking remembers its thoughts from call to call", async () => {
    const thought = (n: number, more: object = {}) =>
      pairs.thinking.sameCall("sequentialthinking", {
        thought: `step ${n}`,
        nextThoughtNeeded: n < 3,
        thoughtNumber: n,
        totalThoughts: 3,
        ...more,
      });
    await thought(1);
    await thought(2, { branchFromThought: 1, branchId: "b" });
    expect(await thought(3)).toMatchObject({ structuredContent: { thoughtHistoryLength: 3, branches: ["b"] } });
    expect(await pairs.thinking.sameCall("sequentialthinking", { thought: 1 })).toMatchObject({ isError: true });
  });

  test("a server that offers resources and then knows no such method costs no time, no error and no other's list", async () => {
    const { web } = pairs;
    expect(web.direct.initializeResult["capabilities"] as object).toHaveProperty("resources");
    expect((await web.direct.request("resources/list", {})).error?.code).toBe(-32601);
    for (const method of ["resources/list", "resources/templates/list"]) {
      const reply = await proxied.request(method, {});
      expect(reply.error).toBeUndefined();
    }
    // The first list did not wait for it: that would have taken the 20 s that these tests allow for the start.
    expect(firstListMs).toBeLessThan(10_000);
    const complaints = proxied.logs.filter(
      ({ level, server }) => server === "web" && /warn|error|fatal/.test(`${level}`),
    );
    expect(complaints).toEqual([]);
    // It refuses private addresses; there is no other here.
    expect(await web.sameCall("fetch_txt", { url: "http://127.0.0.1:1/" })).toMatchObject({ isError: true });
    const invalid = await web.same("tools/call", { name: "fetch_json", arguments: { url: "no url" } });
    expect(invalid.error?.code).toBe(-32603);
  });

  test("a server that prints on stdout works, and what it printed is in the log under its name", async () => {
    const call = async (code: string) => {
      const args = { languageId: "javascript", code };
      const own = await pairs.runner.direct.request("tools/call", { name: "run-code", arguments: args });
      const relayed = await proxied.request("tools/call", { name: "runner__run-code", arguments: args });
      expect(outcome(relayed)).toBe(outcome(own).replaceAll(dir.file("runner-direct"), dir.file("runner")));
      return relayed.result!;
    };
    expect(await call("console.log(6 * 7, '\\u2028')")).toMatchObject({ content: [{ text: "42 \u2028\n" }] });
    expect(await call("throw new Error('no')")).toMatchObject({ isError: true });
    // Three lines so far at least: a banner, and two for each call.
    expect(pairs.runner.direct.garbage.length).toBeGreaterThanOrEqual(3);
    const printed = proxied.logs.filter(({ server }) => server === "runner").map((record) => JSON.stringify(record));
    for (const line of ["Code Runner MCP Server running on stdio", "Executing command"]) {
      expect(printed.filter((record) => record.includes(line))).not.toEqual([]);
    }
    expect(proxied.garbage).toEqual([]);
  });

  test("a page of 4.36 MB is read byte for byte, with the settings that a host needs to show it", async () => {
    const own = await pairs.pdf.direct.request("resources/read", { uri: VIEW });
    const relayed = await proxied.request("resources/read", { uri: VIEW });
    const result = rawAt(relayed.raw, "result")!;
    expect(result.length).toBeGreaterThan(4_300_000);
    // Not `toBe`: nobody wants to see the difference of two such texts.
    expect(result === rawAt(own.raw, "result")).toBe(true);
    const [content] = relayed.result!["contents"] as {
      text: string;
      _meta: { ui: { csp: object } };
      mimeType: string;
    }[];
    expect(content!.text === (await readFile(PDF_PAGE, "utf8"))).toBe(true);
    expect(content).toMatchObject({
      uri: VIEW,
      mimeType: "text/html;profile=mcp-app",
      _meta: { ui: { csp: { connectDomains: ["https://unpkg.com"] } } },
    });
    // A tool names the page, and the page the tools that only it may call.
    const tools = await proxied.listAll("tools/list", "tools");
    const meta = (name: string): unknown => tools.find((tool) => tool["name"] === `pdf__${name}`)!["_meta"];
    expect(meta("display_pdf")).toEqual({ ui: { resourceUri: VIEW }, "ui/resourceUri": VIEW });
    expect(meta("read_pdf_bytes")).toEqual({ ui: { visibility: ["app"] } });
  });

  test("a PDF of a granted folder is shown, and its form is put before the user first", async () => {
    const { pdf: pair } = pairs;
    const url = `${granted}/form.pdf`;
    for (const peer of pair.both) {
      await until(async () => JSON.stringify(await peer.call(pair.nameAt(peer, "list_pdfs"))).includes(granted), {
        what: "the host's roots at the server",
      });
    }
    await pair.sameCall("list_pdfs");
    expect(await pair.sameCall("read_pdf_bytes", { url, offset: 0, byteCount: 20 })).toMatchObject({
      structuredContent: { byteCount: 20, hasMore: true },
    });
    const mark = pair.mark();
    pair.answer("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
    const shown = await pair.sameCall("display_pdf", { url, elicit_form_inputs: true });
    expect(shown).toMatchObject({
      _meta: { interactEnabled: true },
      structuredContent: { formFieldValues: { name: "Ada" } },
    });
    pair.expectSameQuestions(mark, 1);
    expect(await pair.sameCall("read_pdf_bytes", { url: `${given}/none.pdf` })).toMatchObject({ isError: true });
  });

  test("all of them at once, and nothing came that nobody asked for", async () => {
    const calls = Array.from({ length: 8 }, () => [
      proxied.callText("files__read_text_file", { path: `${granted}/poem.txt` }),
      proxied.call("graph__read_graph"),
      proxied.call("pdf__list_pdfs"),
      proxied.request("resources/read", { uri: GRAPH }),
    ]);
    await Promise.all(calls.flat());
    expect(proxied.strays).toEqual([]);
    expect(proxied.logs.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
  });
});

test("without roots of the host filesystem keeps the folder of its arguments", async () => {
  await using dir = await tempDir();
  await writeFile(dir.file("a.txt"), "mine");
  await using host = await startHost({
    config: { mcpServers: { files: filesystem(dir.path) }, timeouts: PATIENCE },
  });
  expect(await host.callText("files__list_allowed_directories")).toContain(dir.path);
  expect(await host.callText("files__read_text_file", { path: dir.file("a.txt") })).toBe("mine");
  expect(host.requests).toEqual([]);
});
