import { expect, test } from "vitest";
import { Frame } from "../../src/wire/frame.ts";
import { type ScanFault, scan } from "../../src/wire/scan.ts";

function frameOf(text: string): Frame {
  const frame = scan(Buffer.from(text));
  if (!(frame instanceof Frame)) throw new Error(`${frame.fault}: ${frame.reason}`);
  return frame;
}

function faultOf(text: string): ScanFault {
  const fault = scan(Buffer.from(text));
  if (fault instanceof Frame) throw new Error(`taken for a ${fault.kind}`);
  return fault;
}

test("a request is found with its id, method and the members of its params", () => {
  const frame = frameOf(
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"name":"b"}]}}}',
  );
  expect(frame).toMatchObject({ kind: "request", idText: "7", method: "tools/call", bodyKey: "params" });
  expect(frame.keys).toEqual(["name", "arguments"]);
  expect(frame.text("arguments")).toBe('{"x":[1,{"name":"b"}]}');
  expect(frame.bodyText).toBe('{"name":"a","arguments":{"x":[1,{"name":"b"}]}}');
});

test("the order of the members does not matter", () => {
  const frame = frameOf('{"params":{"uri":"u"},"method":"resources/read","id":"9","jsonrpc":"2.0"}');
  expect(frame).toMatchObject({ kind: "request", idText: '"9"', method: "resources/read", bodyKey: "params" });
  expect(frame.string("uri")).toBe("u");
});

test("a message without an id is a notification, with or without params", () => {
  expect(frameOf('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toMatchObject({
    kind: "notification",
    idText: undefined,
    bodyKey: undefined,
    keys: [],
  });
  expect(frameOf('{"jsonrpc":"2.0","method":"x","params":[]}')).toMatchObject({ bodyText: "[]", keys: [] });
});

test("a response is found with its result or its error", () => {
  const result = frameOf('{"jsonrpc":"2.0","id":0,"result":{"content":[],"isError":true}}');
  expect(result).toMatchObject({ kind: "response", idText: "0", bodyKey: "result", isError: false });
  expect(result.value("isError")).toBe(true);
  const error = frameOf('{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}');
  expect(error).toMatchObject({ kind: "response", bodyKey: "error", isError: true });
  expect(error.keys).toEqual(["code", "message"]);
});

test("a number is delivered exactly as it was written", () => {
  const frame = frameOf('{"jsonrpc":"2.0","id":1.0e2,"result":{"big":9223372036854775807,"one":1.0,"small":1e-999}}');
  expect(frame.idText).toBe("1.0e2");
  expect(frame.text("big")).toBe("9223372036854775807");
  expect(frame.text("one")).toBe("1.0");
  expect(frame.text("small")).toBe("1e-999");
});

test("escaped keys and methods are decoded", () => {
  const frame = frameOf(
    '{"json\\u0072pc":"2.\\u0030","\\u0069d":1,"method":"tools\\/call","params":{"n\\u0061me":"a","\\ud83d":1}}',
  );
  expect(frame).toMatchObject({ kind: "request", idText: "1", method: "tools/call" });
  expect(frame.keys).toEqual(["name", "\ud83d"]);
});

test("white space around a message is not part of the frame, which shares the memory it was read from", () => {
  const bytes = Buffer.from(' \t\r\n{"jsonrpc":"2.0","method":"m"} \r\n');
  const frame = scan(bytes) as Frame;
  expect(frame.bytes.toString()).toBe('{"jsonrpc":"2.0","method":"m"}');
  expect(frame.bytes.buffer).toBe(bytes.buffer);
});

test("a frame never holds a line break, and no span moves when one is taken out", () => {
  const text = '{\r\n  "jsonrpc": "2.0",\n  "id": 1,\r  "result": {\n "a" : "line\\nbreak\u2028" }\n}';
  const bytes = Buffer.from(text);
  const frame = scan(bytes) as Frame;
  expect(frame.bytes.toString()).toBe(text.replaceAll(/[\r\n]/g, " "));
  expect(frame.string("a")).toBe("line\nbreak\u2028");
  expect(bytes.toString()).toBe(text);
});

test.each(["", "  ", "{", '{"a"', "nul", "{}{}", '{"a":1,}', "\ufeff{}", '"\t"', "01", "Starting server..."])(
  "%j is no JSON",
  (text) => {
    expect(faultOf(text)).toMatchObject({ fault: "syntax", idText: undefined });
  },
);

test("invalid UTF-8 is no JSON, in a key, a string and outside of both", () => {
  const bytes = Buffer.from('{"jsonrpc":"2.0","method":"m","params":{"key":"value"}}');
  for (const at of ["key", "value", "m"].map((word) => bytes.indexOf(`"${word}"`) + 1).concat(0, 5, bytes.length - 1)) {
    for (const byte of [0x80, 0xc3, 0xff]) {
      const broken = Buffer.from(bytes);
      broken[at] = byte;
      expect(scan(broken)).toMatchObject({ fault: "syntax" });
    }
  }
});

test("arrays are batches and other values are no objects", () => {
  expect(faultOf("[]").fault).toBe("batch");
  expect(faultOf('[{"jsonrpc":"2.0","id":1,"method":"ping"}]').fault).toBe("batch");
  for (const text of ["0", '"x"', "null", "true"]) expect(faultOf(text).fault).toBe("not-object");
});

test.each([
  ['{"id":1,"method":"m"}', "1"],
  ['{"jsonrpc":"1.0","id":"a","method":"m"}', '"a"'],
  ['{"jsonrpc":2.0,"id":1,"method":"m"}', "1"],
  ['{"jsonrpc":"2.0","id":1}', "1"],
  ['{"jsonrpc":"2.0","id":1,"method":null}', "1"],
  ['{"jsonrpc":"2.0","id":null,"method":"m"}', undefined],
  ['{"jsonrpc":"2.0","id":[1],"method":"m"}', undefined],
  ['{"jsonrpc":"2.0","id":-1,"method":"m","params":null}', "-1"],
  ['{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}', "1"],
  ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "1"],
  ['{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', "1"],
  ['{"jsonrpc":"2.0","id":1,"method":"m","error":{}}', "1"],
  ['{"jsonrpc":"2.0","id":null,"result":{}}', undefined],
  ['{"jsonrpc":"2.0","result":{}}', undefined],
  ['{"jsonrpc":"2.0","id":{},"error":{}}', undefined],
  ["{}", undefined],
])("%s is malformed, and its id is known all the same", (text, idText) => {
  expect(faultOf(text)).toMatchObject({ fault: "malformed", idText });
});

test("a fault names the method, so that a broken notification is told from a broken request", () => {
  expect(faultOf('{"jsonrpc":"2.0","method":"m","params":1}')).toMatchObject({ idText: undefined, method: "m" });
  expect(faultOf('{"jsonrpc":"2.0","method":1}')).not.toHaveProperty("method");
});

test("an error for a request that could not be read is a response, with id null or with none", () => {
  expect(frameOf('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}')).toMatchObject({
    kind: "response",
    idText: "null",
  });
  expect(frameOf('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}')).toMatchObject({
    kind: "response",
    idText: undefined,
  });
});

const escaped = (key: string): string => `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`;

test.each(["jsonrpc", "id", "method", "params", "result", "error"])("a message may have %s only once", (key) => {
  const whole = { jsonrpc: "2.0", id: 3, method: "m", params: {} };
  for (const twin of [key, escaped(key)]) {
    const text = JSON.stringify({ ...whole, [key]: key === "id" ? 3 : { x: 1 } });
    const fault = faultOf(`{"${twin}":3,${text.slice(1)}`);
    expect(fault).toMatchObject({ fault: "duplicate", idText: "3" });
    expect(fault.reason).toContain(key);
  }
});

test("of two ids in a refused message the last is told, as JSON.parse would", () => {
  expect(faultOf('{"jsonrpc":"2.0","id":1,"method":"m","id":2}')).toMatchObject({ fault: "duplicate", idText: "2" });
});

const routing = [
  "name uri cursor ref level requestId progressToken _meta arguments message mode url elicitationId task taskId",
  "isError nextCursor",
].map((words) => words.split(" ")) as [string[], string[]];

test.each(routing[0])("params may have %s only once", (key) => {
  for (const twin of [key, escaped(key)]) {
    const params = `{"${key}":1,"other":{},"${twin}":2}`;
    expect(faultOf(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`)).toMatchObject({
      fault: "duplicate",
      method: "m",
    });
    expect(frameOf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":${params}}}`).kind).toBe("request");
    if (!routing[1].includes(key)) expect(frameOf(`{"jsonrpc":"2.0","id":1,"result":${params}}`).kind).toBe("response");
  }
});

test.each(routing[1])("a result may have %s only once", (key) => {
  for (const twin of [key, escaped(key)]) {
    const result = `{"${twin}":1,"${key}":2}`;
    expect(faultOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`).fault).toBe("duplicate");
    expect(frameOf(`{"jsonrpc":"2.0","method":"m","params":${result}}`).kind).toBe("notification");
  }
});

test("other keys may stand twice and are relayed as they came", () => {
  const text = '{"jsonrpc":"2.0","x":1,"x":2,"id":1,"result":{"y":1,"y":2}}';
  const frame = frameOf(text);
  expect(frame.bytes.toString()).toBe(text);
  expect(frame.keys).toEqual(["y", "y"]);
  expect(frame.value("y")).toBe(2);
});

test("a key __proto__ is a key like any other", () => {
  const frame = frameOf('{"__proto__":{"id":5},"jsonrpc":"2.0","method":"m","params":{"__proto__":{"name":"x"}}}');
  expect(frame.kind).toBe("notification");
  expect(frame.keys).toEqual(["__proto__"]);
  expect(frame.has("name")).toBe(false);
  expect(({} as Record<string, unknown>)["name"]).toBeUndefined();
});

test("names with one hash are told apart", () => {
  // "Aa" and "BB" are the same in base 31.
  const frame = frameOf('{"jsonrpc":"2.0","method":"AaAa","params":{"AaBB":1,"BBAa":2,"BBBB":3,"AaAa":4}}');
  expect(frame.method).toBe("AaAa");
  expect(frame.keys).toEqual(["AaBB", "BBAa", "BBBB", "AaAa"]);
});

test("a million open arrays or objects are crossed without recursion", () => {
  const depth = 1_000_000;
  const deep = (open: string, inner: string, close: string): string => open.repeat(depth) + inner + close.repeat(depth);
  for (const value of [deep("[", "", "]"), deep('{"a":', "1", "}"), deep('[{"a":', "[]", "}]")]) {
    expect(frameOf(`{"jsonrpc":"2.0","id":1,"result":{"x":${value}}}`).keys).toEqual(["x"]);
    expect(faultOf(`{"jsonrpc":"2.0","id":1,"result":{"x":${value.slice(0, -1)}}}`).fault).toBe("syntax");
  }
  expect(faultOf(deep("[", "", "]")).fault).toBe("batch");
  expect(faultOf("[".repeat(depth)).fault).toBe("syntax");
  expect(faultOf(deep("[", "{]}", "]")).fault).toBe("syntax");
});

/** Best of three, in ms. */
function timeOf(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3; i++) {
    const from = performance.now();
    run();
    best = Math.min(best, performance.now() - from);
  }
  return best;
}

test.each([
  ["one long string", "QUJDREVG"],
  ["backslashes", "\\\\\\\\"],
  ["escaped quotes", '\\"'],
  ["escaped quotes far apart", `\\"${"x".repeat(100)}`],
  ["backslashes far apart", `\\n${"x".repeat(100)}`],
  ["short strings", '","'],
  ["long strings", `${"x".repeat(100)}","`],
  ["objects", '",{"a":[]},"'],
])("the time for %s grows with the length and no faster", (_, unit) => {
  const text = (size: number): Buffer =>
    Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"x":["'),
      Buffer.alloc(size - (size % unit.length), unit),
      Buffer.from('"]}}'),
    ]);
  const small = text(1 << 20);
  const large = text(1 << 23);
  expect(scan(large)).toBeInstanceOf(Frame);
  const ratio = timeOf(() => scan(large)) / timeOf(() => scan(small));
  // 8 if linear; 64 if quadratic.
  expect(ratio).toBeLessThan(30);
});

test("a message of 64 MiB takes four times as long as one of 16 MiB", () => {
  const text = (size: number): Buffer =>
    Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"x":"'),
      Buffer.alloc(size, "QUJDREVG"),
      Buffer.from('"}}'),
    ]);
  const small = text(1 << 24);
  const large = text(1 << 26);
  expect(scan(large)).toBeInstanceOf(Frame);
  expect(timeOf(() => scan(large)) / timeOf(() => scan(small))).toBeLessThan(12);
});
