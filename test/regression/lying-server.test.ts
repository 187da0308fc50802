import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { startHost } from "../support/host.ts";

test("a server's notification named like a member of every object harms nobody", async () => {
  await using dir = await tempDir();
  const odd = stdioServer(dir, "odd", { tools: [tool("do")] });
  const ok = stdioServer(dir, "ok", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { odd: odd.entry, ok: ok.entry } } });
  await host.toolNames();
  for (const method of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    await host.call("odd__do", { steps: [{ notify: { method } }] });
    expect((await host.call("ok__do", { steps: [] })).error).toBeUndefined();
  }
});

test("an answer that no host could parse ends the call with an error that names the server", async () => {
  await using dir = await tempDir();
  const liar = stdioServer(dir, "liar", { tools: [tool("do")] });
  await using host = await startHost({ config: { mcpServers: { liar: liar.entry } } });
  await host.toolNames();
  const bodies = [
    '"error":"boom"',
    '"error":{}',
    '"error":{"code":1.5,"message":"m"}',
    '"error":{"code":-1}',
    '"error":null',
  ];
  for (const body of [...bodies, '"result":null', '"result":[]', '"result":5']) {
    const id = Number(liar.received("tools/call").at(-1)?.message.id ?? 0);
    const before = liar.received().at(-1)?.message.id;
    const next = Math.max(id, Number(before ?? 0)) + 1;
    const steps = [{ raw: `{"jsonrpc":"2.0","id":${next},${body}}` }, { silent: true }];
    const reply = await host.request("tools/call", { name: "liar__do", arguments: { steps } });
    expect(reply.error, body).toMatchObject({ code: -32603, data: { source: "switchyard", server: "liar" } });
  }
});
