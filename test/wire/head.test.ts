import fc from "fast-check";
import { expect, test } from "vitest";
import { idOfHead } from "../../src/wire/scan.ts";

function of(head: string, tail?: string): ReturnType<typeof idOfHead> {
  return idOfHead(Buffer.from(head), tail === undefined ? undefined : Buffer.from(tail));
}
const NOTHING = { idText: undefined, method: undefined, kind: undefined };

test("the id and method in front of what was cut are found", () => {
  expect(of('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":9,"x":"aaa')).toEqual({
    idText: "7",
    method: "tools/call",
    kind: "request",
  });
  expect(of(' { "id" : "a\\"b" , "result" : { "id" : 9')).toEqual({
    idText: '"a\\"b"',
    method: undefined,
    kind: "response",
  });
  expect(of('{"id":-0,"error":')).toMatchObject({ idText: "-0", kind: "response" });
  expect(of('{"i\\u0064":1,"params":[')).toMatchObject({ idText: "1", kind: "request" });
});

test("an id that is cut itself, or may be, is not guessed", () => {
  for (const head of ['{"id":12', '{"id":"abc', '{"id":', '{"id', "{", "", '{"id":1.', '{"id":"x"']) {
    expect(of(head)).toEqual(NOTHING);
  }
});

test("an id inside of another value is not the message's", () => {
  expect(of('{"jsonrpc":"2.0","result":{"id":5,"y":[{"id":6},')).toEqual({ ...NOTHING, kind: "response" });
  expect(of('{"a":{"id":5},"b":"\\"id\\":6,",')).toEqual(NOTHING);
  expect(of('[{"id":5},')).toEqual(NOTHING);
});

test("an id that is null, an object or there twice is none", () => {
  for (const id of ["null", "{}", "true", "[1]"])
    expect(of(`{"id":${id},"method":"m","params":`).idText).toBeUndefined();
  expect(of('{"id":1,"id":2,"method":"m",').idText).toBeUndefined();
});

test("a message whose id was not found is not taken for a notification", () => {
  expect(of('{"method":"m","params":{"x":"aaa')).toEqual({ idText: undefined, method: "m", kind: undefined });
});

test("an id that stands last is found in the tail", () => {
  const head = '{"jsonrpc":"2.0","result":{"x":"aaa';
  expect(of(head, 'aaa"},"id":7}')).toMatchObject({ idText: "7", kind: "response" });
  expect(of(head, 'aaa"} , "id" : "a\\\\\\"b" } \r')).toMatchObject({ idText: '"a\\\\\\"b"', kind: "response" });
  expect(of('{"method":"m","params":"', ',"id":-1.5e3}')).toEqual({ idText: "-1.5e3", method: "m", kind: "request" });
  expect(of(head, '"id":8,"id":9}').idText).toBe("9");
});

test("a tail that only looks like an id is not one", () => {
  const head = '{"jsonrpc":"2.0","result":{"x":"aaa';
  for (const tail of [
    'a","id":7}}',
    'a"},"xid":7}',
    'a"},"id":null}',
    'a"},"id":{}}',
    'a\\"id\\":7"}',
    '"id":7}',
    ',\\"id":7}',
    ',"x":"id":7}',
    '7"}',
    '"}',
    "7}",
    "}",
    "",
    ',"id":01}',
    ',"id":7',
  ]) {
    expect(of(head, tail).idText, tail).toBeUndefined();
  }
});

test("an id in front is not looked for in the tail", () => {
  expect(of('{"id":1,"result":"', ',"id":2}').idText).toBe("1");
  expect(of('{"id":null,"error":"', ',"id":2}').idText).toBeUndefined();
});

test("whatever is cut out of a message, its id is told rightly or not at all", () => {
  const value = fc.jsonValue({ stringUnit: "binary", maxDepth: 3 });
  const inner = fc.dictionary(fc.constantFrom("id", "a", "method", '","id":1,"'), value);
  const id = fc.oneof(fc.nat(), fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const message = fc.tuple(id, inner, fc.shuffledSubarray(["id", "method", "params", "x"], { minLength: 4 }));
  fc.assert(
    fc.property(message, fc.nat(), fc.nat(), fc.constantFrom(0, 1), ([idValue, body, order], from, size, indent) => {
      const members: Record<string, unknown> = { id: idValue, method: "m", params: body, x: [body] };
      const text = Buffer.from(
        JSON.stringify(Object.fromEntries(order.map((key) => [key, members[key]])), undefined, indent),
      );
      const head = text.subarray(0, from % (text.length + 1));
      const tail = text.subarray(text.length - (size % (text.length + 1)));
      const { idText } = idOfHead(head, tail);
      if (idText !== undefined) expect(idText).toBe(JSON.stringify(idValue));
      if (order[0] === "id" && head.includes('"method"')) expect(idText).toBe(JSON.stringify(idValue));
      if (order.at(-1) === "id" && /,\s*"id":/.test(tail.toString())) expect(idText).toBe(JSON.stringify(idValue));
    }),
    { numRuns: 3000 },
  );
});
