import { expect, it } from "vitest";
import { load, loadEntry, problemsOf, refusal } from "./support.ts";

it("pin and maxResultBytes are off, unless the top level or the entry says otherwise; the entry wins", async () => {
  expect(await loadEntry({ command: "x" })).toMatchObject({ pin: "off", maxResultBytes: 0 });
  const config = await load({
    pin: "enforce",
    maxResultBytes: 25_000,
    mcpServers: { a: { command: "x" }, b: { command: "x", pin: "off", maxResultBytes: 0 } },
  });
  expect(config.servers).toMatchObject([
    { name: "a", pin: "enforce", maxResultBytes: 25_000 },
    { name: "b", pin: "off", maxResultBytes: 0 },
  ]);
});

it("a mode or a size that is none is said to be wrong, in an entry for that entry alone", async () => {
  expect((await problemsOf({ command: "x", pin: "on" })).join()).toMatch(/pin/);
  expect((await problemsOf({ command: "x", maxResultBytes: -1 })).join()).toMatch(/maxResultBytes/);
  expect(await refusal({ pin: true, mcpServers: {} })).toMatch(/pin/);
});

it("a rule may ask", async () => {
  const rules = [{ effect: "ask", tools: ["write*"] }];
  const config = await load({ mcpServers: { a: { command: "x" } }, policy: { rules } });
  expect(config.policy.rules).toEqual(rules);
  expect(await refusal({ mcpServers: {}, policy: { default: "ask" } })).toMatch(/policy\.default/);
});
