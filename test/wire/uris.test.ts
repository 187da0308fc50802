/** Promise: only what the protocol calls a resource URI is rewritten, and nothing else of the message changes. */
import { expect, test } from "vitest";
import { Frame } from "../../src/wire/frame.ts";
import { scan } from "../../src/wire/scan.ts";
import { rewriteUris, uiResourceUris, uriSpans } from "../../src/wire/uris.ts";

function answer(result: string, key = "result"): Frame {
  const frame = scan(Buffer.from(`{"jsonrpc":"2.0","id":1,"${key}":${result}}`));
  if (!(frame instanceof Frame)) throw new Error(frame.reason);
  return frame;
}

function uris(frame: Frame): string[] {
  return uriSpans(frame).map(([start, end]) => frame.bytes.toString("utf8", start, end));
}

/** The result with every URI in `«»`. */
function marked(result: string): string | undefined {
  const frame = rewriteUris(answer(result), (uri) => `«${uri}»`);
  return frame.bodyText;
}

test("the URIs of what was read are found, but not those inside of a text or a blob", () => {
  const result =
    '{"contents":[{"uri":"a://1","text":"{\\"uri\\":\\"a://1\\"}"},{"blob":"YTovLzE=","uri":"a://2","_meta":{"uri":"a://3"}}]}';
  expect(uris(answer(result))).toEqual(['"a://1"', '"a://2"']);
});

test("links and embedded resources of a tool's result are found, and nothing else of it", () => {
  const result = `{"structuredContent":{"uri":"s://1","content":[{"type":"resource_link","uri":"s://2"}]},"content":[
    {"type":"text","text":"t://1","uri":"t://2"},{"uri":"l://1","type":"resource_link","name":"l://n","icons":[{"src":"i://1"}]},
    {"type":"resource","uri":"no://1","resource":{"text":"<a href=r://1>","uri":"r://1"}},{"type":"image","data":"","uri":"no://2"},
    {"type":"\\u0072esource_link","u\\u0072i":"e://1"},7,{"type":"resource_link","uri":7},{"type":"resource","resource":"r"}],"_meta":{"uri":"m://1"}}`;
  expect(uris(answer(result))).toEqual(['"l://1"', '"r://1"', '"e://1"']);
});

test("the content of a prompt's message may be one block or several", () => {
  const link = (uri: string) => `{"type":"resource_link","name":"n","uri":"${uri}"}`;
  const result = `{"messages":[{"role":"user","content":${link("a://1")}},{"content":[${link("a://2")},${link("a://3")}],"uri":"no://1"},{"content":"x"},7]}`;
  expect(uris(answer(result))).toEqual(['"a://1"', '"a://2"', '"a://3"']);
});

test("a tool's result inside of a sampling message is looked into, its arguments and structured content are not", () => {
  const text = `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[
    {"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{"uri":"no://1"}}},
    {"role":"user","content":[{"type":"tool_result","toolUseId":"1","structuredContent":{"uri":"no://2"},"content":[{"type":"resource","resource":{"uri":"a://1","text":""}}]}]}]}}`;
  const frame = scan(Buffer.from(text));
  expect(uris(frame as Frame)).toEqual(['"a://1"']);
});

test("an error has no resource URIs that are rewritten here", () => {
  const frame = answer('{"code":-32002,"message":"m","content":[{"type":"resource_link","uri":"a://1"}]}', "error");
  expect(uris(frame)).toEqual([]);
  expect(rewriteUris(frame, () => "b://1")).toBe(frame);
});

test("a message in which nothing changes is the same frame", () => {
  const frame = answer('{"contents":[{"uri":"a://\\u0031"}]}');
  expect(rewriteUris(frame, (uri) => uri)).toBe(frame);
});

test("all but the URIs stays byte for byte, and the new frame's spans are right", () => {
  const rest = '"z":9223372036854775808,"a": 1.0 ,"z":"\\u00e9é","10":1e400,"2":[ ]';
  expect(marked(`{${rest},"contents":[ {"uri" : "a://\\u0031",${rest}} ],"_meta":{"n":-0}}`)).toBe(
    `{${rest},"contents":[ {"uri" : "«a://1»",${rest}} ],"_meta":{"n":-0}}`,
  );
  const frame = rewriteUris(answer('{"contents":[{"uri":"a"}],"after":12345678901234567890}'), () => "longer");
  expect(frame.text("after")).toBe("12345678901234567890");
  expect(frame.idText).toBe("1");
});

test("an alias that needs escapes is written as JSON", () => {
  expect(rewriteUris(answer('{"contents":[{"uri":"a"}]}'), () => 'a"\n\ud800').text("contents")).toBe(
    '[{"uri":"a\\"\\n\\ud800"}]',
  );
});

test("a long result keeps its long parts", () => {
  const blob = "A".repeat(3_000_000);
  const frame = rewriteUris(answer(`{"contents":[{"blob":"${blob}","uri":"a"}]}`), () => "b");
  expect(frame.text("contents")).toBe(`[{"blob":"${blob}","uri":"b"}]`);
});

test("the pages that a tool names are found under the nested and the flat key, each once", () => {
  const pages = (tool: string) => uiResourceUris(Buffer.from(tool));
  expect(pages('{"name":"t","_meta":{"ui":{"resourceUri":"ui://a"},"ui/resourceUri":"ui://a"}}')).toEqual(["ui://a"]);
  expect(
    pages('{"_meta":{"ui\\/resourceUri":"ui:\\/\\/b","ui":{"visibility":["app"],"resourceUri":"ui://a"}}}'),
  ).toEqual(["ui://a", "ui://b"]);
  for (const tool of [
    '{"name":"t"}',
    '{"_meta":null}',
    '{"_meta":{"ui":{"resourceUri":7},"ui/resourceUri":null}}',
    '{"_meta":{"ui":"ui://a"}}',
    '{"inputSchema":{"_meta":{"ui":{"resourceUri":"ui://a"}}}}',
  ]) {
    expect(pages(tool)).toEqual([]);
  }
});
