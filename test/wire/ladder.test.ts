/** Promise: an older host gets nothing that its revision does not know, and loses nothing that it could have had. */
import { expect, test } from "vitest";
import { rewrite } from "../../src/wire/edits.ts";
import { Frame } from "../../src/wire/frame.ts";
import { downgradeQuestion, downgradeResult } from "../../src/wire/ladder.ts";
import { scan } from "../../src/wire/scan.ts";

const ALL = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
const [OLDEST, SECOND, THIRD, LATEST] = ALL;
const REST = '"z":9223372036854775808,"a": 1.0 ,"z":"\\u00e9é","10":1e400,"2":[ ]';

function scanned(text: string): Frame {
  const frame = scan(Buffer.from(text));
  if (!(frame instanceof Frame)) throw new Error(frame.reason);
  return frame;
}

function answer(result: string): Frame {
  return scanned(`{"jsonrpc":"2.0","id":"x","result":${result}}`);
}

function called(result: string, revision: string): string | undefined {
  return downgradeResult(answer(result), "tools/call", revision).bodyText;
}

function question(method: string, params: string): Frame {
  return scanned(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
}

/** The params that the host gets, or the sentence why it gets none. */
function asked(method: string, params: string, revision: string): string {
  const frame = question(method, params);
  const older = downgradeQuestion(frame, revision);
  if ("refuse" in older) return older.refuse;
  return scanned(Buffer.concat(rewrite(frame, 1, older.edits)).toString()).bodyText!;
}

const elicit = (properties: string, revision: string) =>
  asked(
    "elicitation/create",
    `{"message":"m","requestedSchema":{"type":"object","properties":${properties}}}`,
    revision,
  );
const sample = (messages: string, revision: string, more = "") =>
  asked("sampling/createMessage", `{"messages":${messages},"maxTokens":1${more}}`, revision);

test("a host of the revision that knows everything gets the very same frame", () => {
  const frame = answer('{"content":[{"type":"audio"},{"type":"resource_link"}],"structuredContent":{}}');
  expect(downgradeResult(frame, "tools/call", LATEST)).toBe(frame);
  expect(downgradeResult(frame, "tools/call", THIRD)).toBe(frame);
});

test("a result with nothing new is the very same frame for every host", () => {
  const text =
    '{"content":[{"type":"text","text":"resource_link audio \\u001b[0m"},{"type":"image","data":"","mimeType":"i"}]}';
  for (const revision of ALL) {
    for (const method of ["tools/call", "prompts/get", "tools/list", "resources/read", "completion/complete"]) {
      const frame = answer(text);
      expect(downgradeResult(frame, method, revision)).toBe(frame);
    }
    const error = scanned('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","structuredContent":1}}');
    expect(downgradeResult(error, "tools/call", revision)).toBe(error);
  }
});

test("a link becomes a text of name and URI and keeps its annotations and what is unknown; the rest stays byte for byte", () => {
  const link = `{"type":"resource_link","uri":"file:///a\\u0031","name":"N \\"q\\"","title":"T","mimeType":"m","annotations":{"priority":1.0},"_meta":{"n":9007199254740993},"x":1e400}`;
  const text = `{"type":"text","text":"N \\"q\\": file:///a\\u0031","annotations":{"priority":1.0},"_meta":{"n":9007199254740993},"x":1e400}`;
  const around = (block: string) =>
    `{${REST},"content": [ {"type":"text",${REST}}, ${block} , {"type":"image"}],"isError":false}`;
  for (const revision of [OLDEST, SECOND]) expect(called(around(link), revision)).toBe(around(text));
});

test("a link is recognised however it is written, and one without a name is its URI", () => {
  expect(called('{"content":[{"t\\u0079pe":"resource\\u005flink","uri":"a:b"}]}', SECOND)).toBe(
    '{"content":[{"type":"text","text":"a:b"}]}',
  );
});

test("audio becomes a note for a host of 2024-11-05 and reaches one of 2025-03-26", () => {
  const result =
    '{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav","annotations":{"audience":["user"]}}]}';
  expect(called(result, SECOND)).toBe(result);
  expect(called(result, OLDEST)).toBe(
    `{"content":[{"type":"text","text":"[audio left out (audio/wav): this host's protocol revision has none]","annotations":{"audience":["user"]}}]}`,
  );
});

test("a prompt's messages are treated like a tool's content", () => {
  const prompt = (block: string) =>
    `{${REST},"messages":[{"role":"user","content":${block},${REST}},{"role":"user","content":{"type":"text","text":"t"}}]}`;
  const down = downgradeResult(
    answer(prompt('{"type":"resource_link","uri":"a:b","name":"n"}')),
    "prompts/get",
    SECOND,
  );
  expect(down.bodyText).toBe(prompt('{"type":"text","text":"n: a:b"}'));
});

test("structured content is dropped where a text is there, wherever it stands and however often", () => {
  const text = '"content":[{"type":"text","text":"t"}]';
  for (const [before, after] of [
    [`{"structuredContent":{"a":1},${text}}`, `{${text}}`],
    [`{${text} , "structuredContent" : {"a":1} , ${REST}}`, `{${text} , ${REST}}`],
    [`{${text},"structuredContent":{"a":1} }`, `{${text} }`],
    [
      `{"structuredContent":1,"structuredContent":2,${text},"structured\\u0043ontent":3,"structuredContent":4}`,
      `{${text}}`,
    ],
    [
      `{${REST},${text},"_meta":{"structuredContent":1},"structuredContent":{}}`,
      `{${REST},${text},"_meta":{"structuredContent":1}}`,
    ],
  ] as const) {
    for (const revision of [OLDEST, SECOND]) expect(called(before, revision)).toBe(after);
    expect(called(before, THIRD)).toBe(before);
  }
});

test("structured content without a text becomes one, with its numbers and keys as they were", () => {
  const block = '{"type":"text","text":"{\\"b\\":9223372036854775808,\\"a\\":1.0,\\"b\\":\\"\\\\u00e9\\"}"}';
  const value = '"structuredContent":{"b":9223372036854775808,"a":1.0,"b":"\\u00e9"}';
  for (const [before, after] of [
    [`{"content":[],${value}}`, `{"content":[${block}]}`],
    [`{"content":[],"structuredContent":null}`, `{"content":[]}`],
    [`{${value},"content":[ ]}`, `{"content":[ ${block}]}`],
    [`{"content":[{"type":"image"}],${value}}`, `{"content":[{"type":"image"},${block}]}`],
    [
      `{"content":[{"type":"resource_link","uri":"a:b"}],${value}}`,
      `{"content":[{"type":"text","text":"a:b"},${block}]}`,
    ],
    [`{${value}}`, `{"content":[${block}]}`],
    [`{${value},"isError":false}`, `{"content":[${block}],"isError":false}`],
    [`{"isError":false,${value}}`, `{"content":[${block}],"isError":false}`],
  ] as const) {
    expect(called(before, SECOND)).toBe(after);
  }
});

test("listed tools lose their output schema and nothing else", () => {
  const tool = (schema: string) =>
    `{"name":"t","inputSchema":{"properties":{"outputSchema":{"const":1.0}}}${schema},${REST}}`;
  const list = (schema: string) => `{"tools":[ ${tool(schema)},${tool(schema)}],"nextCursor":"c"}`;
  const frame = answer(list(',"outputSchema":{"type":"object"}'));
  expect(downgradeResult(frame, "tools/list", SECOND).bodyText).toBe(list(""));
  expect(downgradeResult(frame, "tools/list", THIRD)).toBe(frame);
});

test("questions to a host of the latest revision are not touched", () => {
  for (const [method, params] of [
    ["elicitation/create", '{"mode":"url","url":"u","elicitationId":"e","message":"m"}'],
    ["sampling/createMessage", '{"messages":[{"role":"user","content":[]}],"tools":[]}'],
    ["roots/list", "{}"],
  ] as const) {
    expect(downgradeQuestion(question(method, params), LATEST)).toEqual({ edits: [] });
  }
  expect(downgradeQuestion(question("roots/list", "{}"), OLDEST)).toEqual({ edits: [] });
});

test("titled choices become enum and enumNames in their place", () => {
  const property = (choices: string) =>
    `{"n":{"type":"number","minimum":1.0},"c":{"type":"string", ${choices} ,"default":"a"}}`;
  const schema = (choices: string) =>
    `{"message":"m","requestedSchema":{"type":"object","properties":${property(choices)}}}`;
  const titled = '"oneOf" : [{"const":"a","title":"\\u0041"},{"title":"B","const":"b"},{"const":"c"}]';
  expect(elicit(property(titled), THIRD)).toBe(schema('"enum":["a","b","c"],"enumNames":["\\u0041","B","c"]'));
  const plain = '"enum":["a"]';
  expect(elicit(property(plain), THIRD)).toBe(schema(plain));
});

test("a choice of several values and a URL cannot be asked, and the refusal says why", () => {
  expect(elicit('{"ok":{"type":"string"},"cs":{"type":"array","items":{"enum":["a"]}}}', THIRD)).toBe(
    'the question lets the user choose several values (property "cs"), which this host cannot take: it speaks revision 2025-06-18, and that came with 2025-11-25',
  );
  expect(asked("elicitation/create", '{"mode":"url","url":"u","message":"m"}', THIRD)).toContain("open a URL");
});

test("a sampling message of several blocks becomes consecutive messages with all its other members", () => {
  const one = (content: string) => `{"role":"assistant", "content": ${content} ,${REST}}`;
  const [a, b] = ['{"type":"text","text":"a","n":1.0}', '{"type":"image","data":"x"}'];
  const plain = '{"role":"user","content":{"type":"text","text":"t"}}';
  for (const revision of [OLDEST, SECOND, THIRD]) {
    expect(sample(`[${plain}, ${one(`[ ${a} , ${b} ]`)}]`, revision)).toBe(
      `{"messages":[${plain}, ${one(a)},${one(b)}],"maxTokens":1}`,
    );
    expect(sample(`[${one(`[${b}]`)}]`, revision)).toBe(`{"messages":[${one(b)}],"maxTokens":1}`);
  }
});

test("a sampling message without a block is left out", () => {
  const [none, some] = ['{"role":"user","content":[]}', '{"role":"user","content":{"type":"text","text":"t"}}'];
  for (const [before, after] of [
    [`[${none},${some},${none},${none},${some}]`, `[${some},${some}]`],
    [`[${none},${none}]`, "[]"],
    [`[${some},${none}]`, `[${some}]`],
  ] as const) {
    expect(sample(before, THIRD)).toBe(`{"messages":${after},"maxTokens":1}`);
  }
});

test("audio in a sampling message becomes a note for the oldest hosts, also where the message is taken apart", () => {
  const down = sample(
    '[{"role":"user","content":[{"type":"audio","data":"AAAA"},{"type":"text","text":"t"}]}]',
    OLDEST,
  );
  expect(down).toBe(
    `{"messages":[{"role":"user","content":{"type":"text","text":"[audio left out (unknown type): this host's protocol revision has none]"}},{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":1}`,
  );
});

test("sampling with tools is refused, whether they are offered or were used", () => {
  const use = '[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{}}}]';
  expect(sample("[]", THIRD, ',"tools":[]')).toContain("offers tools");
  expect(sample("[]", THIRD, ',"toolChoice":{}')).toContain("offers tools");
  expect(sample(use, THIRD)).toContain("tool calls");
});
