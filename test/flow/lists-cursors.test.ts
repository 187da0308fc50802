/** Promise: a merged list is walked page by page with cursors of our own, without loss or repetition, over restarts too. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { until } from "../support/until.ts";

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const tools = (from: number, to: number) => range(from, to).map((i) => tool(`t${i}`));

async function page(host: Host, method: string, key: string, cursor?: unknown) {
  const reply = await host.request(method, cursor === undefined ? {} : { cursor });
  const items = (reply.result?.[key] as { name: string }[] | undefined)?.map(({ name }) => name);
  return { items, next: reply.result?.["nextCursor"] as string | undefined, error: reply.error };
}

test("pages end at page.items, join without loss, and a cursor serves only the list it came from", async () => {
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [...tools(0, 10), tool("do")], pageSize: 4 });
  const none = stdioServer(dir, "none", { tools: [] });
  const two = stdioServer(dir, "two", { tools: tools(0, 9), prompts: tools(0, 9), pageSize: 5 });
  const config = { mcpServers: { one: one.entry, none: none.entry, two: two.entry }, page: { items: 3 } };
  await using host = await startHost({ config });
  const expected = [...range(0, 10).map((i) => `one__t${i}`), "one__do", ...range(0, 9).map((i) => `two__t${i}`)];

  // R89, R90
  const walk: string[] = [];
  const cursors: string[] = [];
  for (let next: string | undefined; ; ) {
    const got = await page(host, "tools/list", "tools", next);
    expect(got.error).toBeUndefined();
    expect(got.items!.length).toBeLessThanOrEqual(3);
    walk.push(...got.items!);
    next = got.next;
    if (next === undefined) break;
    cursors.push(next);
    expect(cursors.length).toBeLessThan(20);
  }
  expect(walk).toEqual(expected);
  expect(await host.toolNames()).toEqual(expected);
  // A cursor says the same when it is used again, and it gives away nothing of the servers' own.
  expect((await page(host, "tools/list", "tools", cursors[1])).items).toEqual(expected.slice(6, 9));
  for (const cursor of cursors) expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/c%2F|one|two/);

  // R92: altered, cut, foreign, of another list, no string.
  const cursor = cursors[0]!;
  const at = cursor.length >> 1;
  const altered = `${cursor.slice(0, at)}${cursor[at] === "A" ? "B" : "A"}${cursor.slice(at + 1)}`;
  const wrong = [
    altered,
    cursor.slice(0, -1),
    `${cursor}A`,
    "",
    "c%2F1==",
    "c%2F4==",
    "again",
    7,
    {},
    [],
    true,
    [cursor],
  ];
  for (const value of wrong) {
    expect((await page(host, "tools/list", "tools", value)).error?.code, JSON.stringify(value)).toBe(-32602);
  }
  expect((await page(host, "prompts/list", "prompts", cursor)).error?.code).toBe(-32602);
  expect((await page(host, "resources/list", "resources", cursor)).error?.code).toBe(-32602);
  // No cursor of ours ever reached a server.
  const theirs = [...one.received("tools/list"), ...two.received("tools/list")].map(
    ({ message }) => message.params?.["cursor"],
  );
  for (const value of theirs) expect([undefined, "c%2F1==", "c%2F2=="]).toContain(value);
});

test("a server that restarts in the middle of a walk loses and repeats nothing, though its cursors are others now", async () => {
  // R91, R93
  await using dir = await tempDir();
  const one = stdioServer(dir, "one", { tools: [...tools(0, 10), tool("do")], pageSize: 4 });
  const two = stdioServer(dir, "two", { tools: tools(0, 3) });
  await using host = await startHost({
    config: { mcpServers: { one: one.entry, two: two.entry }, page: { items: 5 } },
  });
  const first = await page(host, "tools/list", "tools");
  expect(first.items).toEqual(range(0, 5).map((i) => `one__t${i}`));
  const all = [...tools(0, 10), tool("do")];
  one.rewrite({
    name: "one",
    pages: {
      tools: [
        { items: all.slice(0, 3), next: "other-1" },
        { items: all.slice(3, 7), cursor: "other-1", next: "other-2" },
        { items: all.slice(7), cursor: "other-2" },
      ],
    },
  });
  await host.request("tools/call", { name: "one__do", arguments: { steps: [{ exit: 0 }] } });
  await until(() => one.starts().length === 2, { what: "the restart" });
  const rest: string[] = [];
  for (let next = first.next; next !== undefined; ) {
    const got = await page(host, "tools/list", "tools", next);
    expect(got.error).toBeUndefined();
    rest.push(...got.items!);
    next = got.next;
  }
  expect(rest).toEqual([...range(5, 10).map((i) => `one__t${i}`), "one__do", ...range(0, 3).map((i) => `two__t${i}`)]);
  expect(await host.toolNames()).toEqual([...first.items!, ...rest]);
});

test("a page ends at page.bytes too, and an item larger than that still has its page", async () => {
  await using dir = await tempDir();
  const big = stdioServer(dir, "big", {
    tools: range(0, 6).map((i) => tool(`t${i}`, { description: "d".repeat(i === 3 ? 9000 : 1500) })),
  });
  await using host = await startHost({ config: { mcpServers: { big: big.entry }, page: { bytes: 4096 } } });
  const sizes: number[] = [];
  const names: string[] = [];
  for (let next: string | undefined; ; ) {
    const got = await page(host, "tools/list", "tools", next);
    expect(got.items!.length).toBeGreaterThan(0);
    sizes.push(got.items!.length);
    names.push(...got.items!);
    next = got.next;
    if (next === undefined) break;
  }
  expect(names).toEqual(range(0, 6).map((i) => `big__t${i}`));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
  expect(sizes.length).toBeGreaterThanOrEqual(3);
});
