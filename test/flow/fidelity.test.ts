/** Promise: what we need not change arrives byte for byte: numbers, key order, duplicates, escapes, unknown fields. */
import { expect, test } from "vitest";
import { stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { RpcError, startHost } from "../support/host.ts";
import { rawAt, rawEntries } from "../support/raw.mjs";
import { until } from "../support/until.ts";

/** Everything that a parser would change. One line, since it is part of a message on stdio. */
const HOSTILE =
  '{"big":9223372036854775808,"neg":-0,"one":1.0,"exp":1e21,"EXP":1E+2,"tiny":5e-324,"long":0.1000000000000000055511151231257827,' +
  '"over":1e999,"dup":1,"dup":"2","dup":[3],"z":1,"a":2,"10":"ten","2":"two","esc":"\\u00e9\\/\\ud83d\\ude00\\b\\u0000\\"\\\\",' +
  '"lone":"\\ud800","plain":"é😀\u2028\u2029\u0085\u007f","__proto__":{"x":1.0},"constructor":null,"toString":true,"":[],"o":{},' +
  '"id":7,"method":"tools/call","params":{"name":"x"},"jsonrpc":"1.0","result":{},"isError":false,"cursor":"c","progressToken":"p",' +
  '"nested":[[[{"name":"f__x","uri":"file:///x","k":[1.50,{"k":0e0}]}]]], "space" : [ 1 , 2 ]\t}';

test("arguments and parameters reach the server byte for byte, and only name and token are ours", async () => {
  // H5, issue 2 "Frames"
  await using dir = await tempDir();
  const server = stdioServer(dir, "f", {
    tools: [tool("echo"), tool('quote"d')],
    prompts: [{ name: "p" }],
    templates: [{ uriTemplate: "x://{id}", name: "x" }],
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  });
  await using host = await startHost({ config: { mcpServers: { f: server.entry } } });
  const { 'quote"d': quoted } = Object.fromEntries(
    (await host.toolNames()).map((name) => [name.includes("quote") ? 'quote"d' : name, name]),
  );
  const reply = await host.request(
    "tools/call",
    `{"vendor":1.0,"arguments":${HOSTILE},"vendor":2.0,"name":"f__echo","_meta":{"a.b/c":${HOSTILE},"progressToken":1.0,"traceparent":"00-1","a.b/c":0.0}}`,
  );
  expect(reply.error).toBeUndefined();
  const params = rawAt(server.received("tools/call")[0]!.raw, "params")!;
  const token = rawAt(params, "_meta", "progressToken");
  expect(params).toBe(
    `{"vendor":1.0,"arguments":${HOSTILE},"vendor":2.0,"name":"echo","_meta":{"a.b/c":${HOSTILE},"progressToken":${token},"traceparent":"00-1","a.b/c":0.0}}`,
  );
  expect(token).not.toBe("1.0");
  // What the tool echoed is the same text once more, inside a string.
  expect((reply.result!["content"] as { text: string }[])[0]!.text).toBe(params);

  // Members in any order, a name written with escapes, white space, unknown members beside params.
  host.send(
    `\t{ "x" : ${HOSTILE} , "params" : { "arguments" : ${HOSTILE} , "\\u006eame" : "f\\u005f_\\u0065cho" } , "method" : "tools\\/call" , "id" : "odd" , "jsonrpc" : "2.0" } `,
  );
  expect((await host.response("odd")).error).toBeUndefined();
  const second = server.received("tools/call")[1]!;
  expect(rawAt(second.raw, "params", "arguments")).toBe(HOSTILE);
  expect(second.message.params!["name"]).toBe("echo");

  // An original name that needs escapes.
  await host.call(quoted!);
  expect(server.received("tools/call")[2]!.message.params!["name"]).toBe('quote"d');

  // Without arguments none are made up, without _meta none is added.
  await host.request("tools/call", '{"name":"f__echo"}');
  expect(rawAt(server.received("tools/call")[3]!.raw, "params")).toBe('{"name":"echo"}');

  // The other requests that go to one server.
  await host.request("prompts/get", `{"arguments":${HOSTILE},"name":"f__p","_meta":{"v":1.0}}`);
  expect(rawAt(server.received("prompts/get")[0]!.raw, "params")).toBe(
    `{"arguments":${HOSTILE},"name":"p","_meta":{"v":1.0}}`,
  );
  const reading = `{"v":${HOSTILE},"uri":"x:\\/\\/1"}`;
  expect((await host.request("resources/read", reading)).error).toBeUndefined();
  const read = rawAt(server.received("resources/read")[0]!.raw, "params")!;
  expect(rawAt(read, "v")).toBe(HOSTILE);
  expect(JSON.parse(rawAt(read, "uri")!)).toBe("x://1");
  const completing = `"argument":{"name":"id","value":"1.0"},"context":{"arguments":${HOSTILE}}`;
  await host.request("completion/complete", `{"ref":{"type":"ref/prompt","name":"f__p","v":1.0},${completing}}`);
  const completed = rawAt(server.received("completion/complete")[0]!.raw, "params");
  expect(completed).toBe(`{"ref":{"type":"ref/prompt","name":"p","v":1.0},${completing}}`);
});

test("results and errors reach the host byte for byte, tool errors as results and protocol errors as errors", async () => {
  // H1, H2, H5, H9, R10, R108
  await using dir = await tempDir();
  const results: Record<string, string> = {
    rich: `{"_meta":{"v/x":${HOSTILE}},"future":${HOSTILE},"structuredContent":${HOSTILE},"isError":true,"content":[{"type":"text","text":"t","annotations":{"x":1.0}},{"type":"hologram","data":${HOSTILE}},{"type":"audio","data":"AA==","mimeType":"audio/wav","_meta":{}},{"text":"order","type":"text"}]}`,
    bare: "{}",
    spaced: '{ "content" : [ ] , "structuredContent" : [ 1.0 ] }',
    twice: '{"vendor":1,"content":[],"vendor":2.0,"isError":false,"vendor":{}}',
    breaks: '{"content":[{"type":"text","text":"no"}],"structuredContent":{"n":"not a number"},"isError":true}',
  };
  const errors: Record<string, string> = {
    url: `{"code":-32042,"message":"go\\u00e9 there","data":{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://x/","message":"m"}],"v":${HOSTILE}},"more":1.0}`,
    own: '{"data":null,"message":"","code":1}',
    plain: '{"code":-32603,"message":"boom"}',
  };
  const contents = `{"contents":[{"uri":"x://1","blob":"AA==","mimeType":"m","v":${HOSTILE}}],"v":${HOSTILE}}`;
  const messages = `{"description":"d","messages":[{"role":"user","content":{"type":"new","v":${HOSTILE}}}],"v":1.0}`;
  const server = stdioServer(dir, "f", {
    tools: [...Object.keys(results), ...Object.keys(errors)].map((name) =>
      tool(name, {
        outputSchema: { type: "object", properties: { n: { $ref: "https://nowhere.invalid/x" } }, pattern: "(" },
      }),
    ),
    prompts: [{ name: "p" }],
    resources: [{ uri: "x://1", name: "x" }],
    on: {
      ...Object.fromEntries(Object.entries(results).map(([name, text]) => [name, [{ result: text }]])),
      ...Object.fromEntries(Object.entries(errors).map(([name, text]) => [name, [{ error: text }]])),
      "resource:x://1": [{ result: contents }],
      "prompt:p": [{ result: messages }],
    },
  });
  // R159: -32042 is for hosts that can do it.
  const capabilities = { elicitation: { form: {}, url: {} } };
  await using host = await startHost({ config: { mcpServers: { f: server.entry } }, capabilities });
  for (const [name, text] of Object.entries(results)) {
    const reply = await host.request("tools/call", { name: `f__${name}` });
    expect(rawAt(reply.raw, "result"), name).toBe(text);
  }
  for (const [name, text] of Object.entries(errors)) {
    const reply = await host.request("tools/call", { name: `f__${name}` });
    expect(rawAt(reply.raw, "error"), name).toBe(text);
    expect(reply.result).toBeUndefined();
  }
  expect(rawAt((await host.request("resources/read", { uri: "x://1" })).raw, "result")).toBe(contents);
  expect(rawAt((await host.request("prompts/get", { name: "f__p" })).raw, "result")).toBe(messages);
  // H9: an error of ours is told apart.
  const ours = await host.request("tools/call", { name: "f__nope" });
  expect(ours.error).toMatchObject({ code: -32602, data: { source: "switchyard" } });
});

test("definitions pass with every field, known and unknown, and in their order; only the name is another", async () => {
  // H3, H4, R10, R111
  await using dir = await tempDir();
  const schemas = [
    '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"D":{"type":"string"}},"properties":{"b":{"$ref":"#/definitions/D"},"a":{"anyOf":[true,false,{"const":1.0}]}},"additionalProperties":false,"x-vendor":1e21}',
    '{"$defs":{"N":{"$anchor":"n","type":["integer","null"],"maximum":9223372036854775807}},"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"urn:x","type":"object","properties":{"z":{"$ref":"#n"},"y":{"$dynamicRef":"#d"}},"if":{"required":["z"]},"then":{"minProperties":1.0},"dependentSchemas":{},"unevaluatedProperties":false,"allOf":[{"not":{}}]}',
  ];
  const tools = schemas.map(
    (schema, i) =>
      `{"title":"T","icons":[{"src":"https://x/i.png","sizes":["48x48"]}],"name":"t${i}","description":"d\\u00e9 \\ud83d\\ude00","annotations":{"title":"a","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"futureHint":1.0},"inputSchema":${schema},"outputSchema":${schema},"execution":{"taskSupport":"optional"},"_meta":{"v/x":${HOSTILE}},"future":${HOSTILE}}`,
  );
  tools.push(
    '{"inputSchema":{"type":"object"},"name":"last"}',
    '{ "name" : "spaced" , "inputSchema" : { "type" : "object" } }',
  );
  const prompts = [
    `{"arguments":[{"name":"x","title":"X","required":false,"future":1.0}],"title":"P","name":"p","icons":[],"_meta":{"v":${HOSTILE}},"future":[${HOSTILE}]}`,
  ];
  const resources = [
    `{"size":12.0,"uri":"file:///r\\u00e9","title":"R","name":"r","annotations":{"audience":["user"],"priority":1.0,"lastModified":"2025"},"icons":[],"mimeType":"m","description":"d","_meta":{"v":${HOSTILE}},"future":${HOSTILE}}`,
  ];
  const templates = [
    `{"title":"X","uriTemplate":"x:\\/\\/{+path}{?q*}","name":"x","mimeType":"m","annotations":{},"icons":[],"_meta":{},"future":${HOSTILE}}`,
  ];
  const server = stdioServer(dir, "f", { tools, prompts, resources, templates });
  await using host = await startHost({ config: { mcpServers: { f: server.entry } } });
  const listed = async (method: string, key: string) =>
    rawEntries(rawAt((await host.request(method)).raw, "result", key)!).map(([, text]) => text);
  const named = (text: string) => text.replace(/"name"( ?: ?)"(t0|t1|last|spaced|p)"/, '"name"$1"f__$2"');
  expect(await listed("tools/list", "tools")).toEqual(tools.map(named));
  expect(await listed("prompts/list", "prompts")).toEqual(prompts.map(named));
  expect(await listed("resources/list", "resources")).toEqual(resources);
  expect(await listed("resources/templates/list", "resourceTemplates")).toEqual(templates);
});

test("questions, their answers and notifications pass byte for byte in both directions", async () => {
  // R10, R152; D1 is tested elsewhere: here only the bytes.
  await using dir = await tempDir();
  const server = stdioServer(dir, "f", { tools: [tool("do")], capabilities: { tools: {}, logging: {} } });
  await using host = await startHost({
    config: { mcpServers: { f: server.entry } },
    capabilities: { sampling: {}, roots: {}, elicitation: {} },
  });
  const question = `{"messages":[{"role":"user","content":{"type":"text","text":"q"}}],"maxTokens":1e2,"metadata":${HOSTILE},"_meta":{"v":1.0}}`;
  const given = `{"model":"m","role":"assistant","content":{"type":"text","text":"a"},"stopReason":"x","future":${HOSTILE}}`;
  host.answer("sampling/createMessage", () => given);
  host.answer("roots/list", () => {
    throw new RpcError(-1, "user said no", { why: [1, { deep: null }] });
  });
  host.answer("elicitation/create", () => `{"action":"accept","content":${HOSTILE}}`);
  const schema = `{"type":"object","properties":{"n":{"type":"number","maximum":9223372036854775808}}}`;
  const steps = [
    {
      ask: [
        { method: "sampling/createMessage", params: question },
        { method: "roots/list" },
        {
          method: "elicitation/create",
          params: `{"requestedSchema":${schema},"message":"how many?","_meta":{"v":1.0}}`,
        },
      ],
    },
    { log: `{"data":${HOSTILE},"level":"error","logger":"db","future":1.0}` },
    { progress: 1, extra: `"total":100.0,"message":"m\\u00e9","future":${HOSTILE}` },
    { notify: { method: "notifications/vendor/thing", params: HOSTILE } },
    { answers: true },
  ];
  const reply = await host.request("tools/call", { name: "f__do", arguments: { steps } }, { token: "t\u00e9" });
  expect(rawAt(host.requests[0]!.raw, "params")).toBe(question);
  // R156: the one thing added is who asks.
  const form = rawAt(host.requests[2]!.raw, "params")!;
  expect(rawAt(form, "requestedSchema")).toBe(schema);
  expect(rawAt(form, "_meta", "v")).toBe("1.0");
  expect(rawAt(form, "message")).toMatch(/f.*how many\?"$/);
  const answers = JSON.parse((reply.result!["content"] as { text: string }[])[0]!.text) as string[];
  expect(rawAt(answers[0]!, "result")).toBe(given);
  expect(JSON.parse(rawAt(answers[1]!, "error")!)).toEqual({
    code: -1,
    message: "user said no",
    data: { why: [1, { deep: null }] },
  });
  expect(rawAt(answers[2]!, "result", "content")).toBe(HOSTILE);
  const log = rawAt(host.notified("notifications/message")[0]!.raw, "params")!;
  expect(log).toBe(`{"data":${HOSTILE},"level":"error","logger":"f/db","future":1.0}`);
  const progress = rawAt(host.notified("notifications/progress")[0]!.raw, "params")!;
  expect(progress).toBe(
    `{"progressToken":"t\u00e9","progress":1,"total":100.0,"message":"m\\u00e9","future":${HOSTILE}}`,
  );
  // Vendor notifications pass.
  const vendor = await host.notification("notifications/vendor/thing");
  expect(rawAt(vendor.raw, "params")).toBe(HOSTILE);
  await until(() => server.received("").length === 3, { what: "three answers" });
});
