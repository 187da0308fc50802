import * as v2 from "@modelcontextprotocol/client";
import * as v1 from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { allRows, rowOf } from "../../src/wire/methods.ts";

/** Methods that a schema module names as literals, read from its exported zod schemas. */
function methodsIn(module: Record<string, unknown>): Set<string> {
  const methods = new Set<string>();
  for (const value of Object.values(module)) {
    const shape = (value as { shape?: Record<string, { value?: unknown; def?: { values?: unknown[] } }> })?.shape;
    const literal = shape?.method?.value ?? shape?.method?.def?.values?.[0];
    if (typeof literal === "string") methods.add(literal);
  }
  return methods;
}

test("every method of the v1 SDK's schemas has a row", () => {
  const methods = methodsIn(v1 as unknown as Record<string, unknown>);
  expect(methods.size).toBeGreaterThan(25);
  expect([...methods].filter((method) => rowOf(method) === undefined)).toEqual([]);
});

test("every method of the v2 SDK's schemas has a row, those of revision 2026-07-28 among them", () => {
  const methods = methodsIn(v2.specTypeSchemas as unknown as Record<string, unknown>);
  expect(methods).toContain("server/discover");
  expect(methods).toContain("subscriptions/listen");
  expect([...methods].filter((method) => rowOf(method) === undefined)).toEqual([]);
});

test("a method has one row, and what is audited is what names or lists something", () => {
  const rows = allRows();
  expect(new Set(rows.map((row) => row.method)).size).toBe(rows.length);
  expect(rows.filter((row) => row.audited).map((row) => row.method)).toEqual([
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
  ]);
});
