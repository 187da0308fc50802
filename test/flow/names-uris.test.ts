/** Promise: URIs stay as the servers wrote them; where two servers have the same one, each is still read from its own. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";

const SHARED = "file:///shared";
const PAGE = "ui://app/page";
const linking = {
  content: [
    { type: "text", text: `see ${SHARED}` },
    { type: "resource_link", uri: SHARED, name: "shared" },
    { type: "resource", resource: { uri: SHARED, text: `inside ${SHARED}` } },
    { type: "resource_link", uri: "b://unlisted", name: "new" },
  ],
  structuredContent: { uri: SHARED },
};

async function read(host: Host, uri: string) {
  const reply = await host.request("resources/read", { uri });
  return (reply.result?.["contents"] as { uri: string; text: string }[] | undefined)?.[0];
}

test("a URI that two servers list is read from each under what was listed, and only links to it are rewritten", async () => {
  await using dir = await tempDir();
  const resources = [
    { uri: SHARED, name: "s" },
    { uri: PAGE, name: "p", mimeType: "text/html;profile=mcp-app" },
  ];
  const templates = [{ uriTemplate: "log://{day}", name: "log" }];
  const a = stdioServer(dir, "a", { resources, templates });
  const b = stdioServer(dir, "b", {
    resources: [...resources, { uri: "file:///only-b", name: "o" }],
    templates: [...templates, { uriTemplate: "only-b://{x}/y", name: "x" }],
    tools: [
      tool("link"),
      tool("ui", { _meta: { ui: { resourceUri: PAGE, visibility: ["model"] }, "ui/resourceUri": PAGE } }),
      tool("hidden-ui", { _meta: { ui: { resourceUri: "ui://app/hidden" } } }),
    ],
    on: {
      link: [{ result: linking }],
      "resource:b://unlisted": [{ result: { contents: [{ uri: "b://unlisted", text: "b, unlisted" }] } }],
      "resource:ui://app/hidden": [
        { result: { contents: [{ uri: "ui://app/hidden", mimeType: "m", text: "h", _meta: { ui: { csp: {} } } }] } },
      ],
    },
  });
  const config = { mcpServers: { a: a.entry, b: b.entry } };
  let aliases: string[] = [];
  {
    await using host = await startHost({ config });
    const listed = (await host.listAll("resources/list", "resources")).map(({ uri }) => uri as string);
    // A7, R117: five entries, five URIs; the first in the order of the file keeps it.
    expect(listed).toHaveLength(5);
    expect(new Set(listed).size).toBe(5);
    expect(listed.slice(0, 2)).toEqual([SHARED, PAGE]);
    expect(listed[4]).toBe("file:///only-b");
    const [alias, uiAlias] = listed.slice(2, 4) as [string, string];
    aliases = [alias, uiAlias];
    for (const uri of aliases) expect(URL.canParse(uri), uri).toBe(true);
    expect(uiAlias).toMatch(/^ui:\/\//);
    // A7, R115: each listed entry is read from its own server, which gets its own URI; the answer has the host's.
    expect(await read(host, SHARED)).toMatchObject({ uri: SHARED, text: `a:${SHARED}` });
    expect(await read(host, PAGE)).toMatchObject({ uri: PAGE, text: `a:${PAGE}` });
    expect(await read(host, alias)).toMatchObject({ uri: alias, text: `b:${SHARED}` });
    expect(await read(host, uiAlias)).toMatchObject({ uri: uiAlias, text: `b:${PAGE}` });
    expect(await read(host, "file:///only-b")).toMatchObject({ text: "b:file:///only-b" });
    // A template that only b has; one that both have.
    expect(await read(host, "only-b://1/y")).toMatchObject({ text: "b:only-b://1/y" });
    expect(await read(host, "log://monday")).toMatchObject({ uri: "log://monday", text: "a:log://monday" });
    const patterns = (await host.listAll("resources/templates/list", "resourceTemplates")).map(
      ({ uriTemplate }) => uriTemplate as string,
    );
    expect(new Set(patterns).size).toBe(3);
    const logOfB = patterns.find((pattern) => pattern !== "log://{day}" && pattern.includes("{day}"))!;
    const monday = logOfB.replace("{day}", "monday");
    expect(await read(host, monday)).toMatchObject({ uri: monday, text: "b:log://monday" });

    // §4.4, R118: links of b's results are b's; text and structuredContent are left alone.
    expect(await host.call("b__link")).toEqual({
      ...linking,
      content: [
        linking.content[0],
        { ...linking.content[1], uri: alias },
        { type: "resource", resource: { uri: alias, text: `inside ${SHARED}` } },
        linking.content[3],
      ],
    });
    // R116: a link to what is in no list can be read.
    expect(await read(host, "b://unlisted")).toMatchObject({ text: "b, unlisted" });
    // H4, R121, R122: links in a tool's _meta follow the alias.
    const ui = (await host.listAll("tools/list", "tools")).find(({ name }) => name === "b__ui")!;
    expect(ui["_meta"]).toEqual({ ui: { resourceUri: uiAlias, visibility: ["model"] }, "ui/resourceUri": uiAlias });
    expect(await read(host, "ui://app/hidden")).toEqual({
      uri: "ui://app/hidden",
      mimeType: "m",
      text: "h",
      _meta: { ui: { csp: {} } },
    });
    // R119: what nobody has is not found, with the host's URI.
    const missing = await host.request("resources/read", { uri: "nobody://has/this" });
    expect(missing.error).toMatchObject({ code: -32002, data: { uri: "nobody://has/this" } });
    // Not a URI at all, or not there: an error of the request, not of a server.
    for (const params of ["{}", '{"uri":5}', '{"uri":null}']) {
      expect((await host.request("resources/read", params)).error?.code, params).toBe(-32602);
    }
  }
  // R117: aliases do not change over a restart, not even when the other server is the first to be ready.
  a.rewrite({ name: "a", resources, templates, startDelayMs: 200 });
  await using host = await startHost({ config });
  const listed = (await host.listAll("resources/list", "resources")).map(({ uri }) => uri as string);
  expect(listed.slice(2, 4)).toEqual(aliases);
});
