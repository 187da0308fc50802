// The server behind everything that is measured: raw JSON-RPC on stdio, answers prepared in advance. argv: name, tools.
import { createInterface } from "node:readline";

const [name = "s1", count = "20"] = process.argv.slice(2);

const text = { type: "string", description: "What to answer with" };
const bytes = { type: "integer", minimum: 0, description: "Length of the text" };
const tools = ["echo", "text", "progress"];
for (let n = tools.length; n < Number(count); n++) tools.push(`filler_${n}`);
const definitions = tools.map((tool) => ({
  name: tool,
  title: `Tool ${tool} of ${name}`,
  description: `A tool of the benchmark server ${name} with a description of about the usual length, for lists that weigh what real ones do.`,
  inputSchema: { type: "object", properties: { text, bytes, style: { enum: ["plain", "escaped"] } } },
  annotations: { readOnlyHint: true },
}));

const plain = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkr";
const escaped = JSON.stringify(
  '{"path": "C:\\files\\notes.txt", "lines": ["first\n", "zweite Zeile: ä, ö, ü\t"]}\n',
).slice(1, -1);
const prepared = new Map();

/** The whole result as bytes: a text of `length` characters (as JSON) in one block. */
function textResult(length, style) {
  const key = `${style} ${length}`;
  let result = prepared.get(key);
  if (result === undefined) {
    const unit = style === "escaped" ? escaped : plain;
    let body = unit.repeat(Math.ceil(length / unit.length));
    // An escape must not be cut in two: whole units and a filling of plain characters.
    body = body.slice(0, Math.floor(length / unit.length) * unit.length).padEnd(length, "x");
    result = Buffer.from(`{"content":[{"type":"text","text":"${body}"}]}}\n`);
    prepared.set(key, result);
  }
  return result;
}

const send = (json) => process.stdout.write(`${json}\n`);
const answer = (id, result) => send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`);

function call(id, params) {
  const { name: tool, arguments: args = {}, _meta: meta } = params;
  if (tool === "text") {
    process.stdout.cork();
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`);
    process.stdout.write(textResult(args.bytes, args.style));
    process.stdout.uncork();
    return;
  }
  if (tool === "progress") {
    const token = JSON.stringify(meta?.progressToken);
    for (let n = 1; n <= 100 && token !== undefined; n++) {
      const rest = `"progress":${n},"total":100,"message":"step ${n} of 100"`;
      send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},${rest}}}`);
    }
  }
  answer(id, { content: [{ type: "text", text: args.text ?? "done" }] });
}

function receive(line) {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call") call(id, params);
  else if (method === "tools/list") answer(id, { tools: definitions });
  else if (method === "initialize") {
    const { protocolVersion } = params;
    answer(id, {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: `bench-${name}`, version: "1.0.0" },
    });
  } else if (method === "ping") answer(id, {});
  else if (id !== undefined) {
    send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: `Method not found: ${method}` } }));
  }
}

createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }).on("line", receive);
process.stdin.on("end", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));
