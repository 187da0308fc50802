import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Dispatcher } from "undici";
import { expect, test } from "vitest";
import { createHttpLeg } from "../../../src/upstream/legs/http.ts";
import { SendOrder, type Ticket } from "../../../src/upstream/legs/send-order.ts";
import { LegError, type Outgoing } from "../../../src/wire/leg.ts";
import { disposable, notification, Recorder, recordingLog, redact, request } from "./recorder.ts";
import { result, startWeb } from "./web.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const root = new URL("../../../", import.meta.url);

/** A forward proxy: absolute-form for http://, CONNECT for https://. */
async function startProxy() {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    response.setHeader("content-type", "application/json");
    response.end('{"jsonrpc":"2.0","id":1,"result":{"by":"proxy"}}');
  });
  server.on("connect", (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    const onward = connect(Number(incoming.url?.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
  };
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}

async function initialize(url: string, baseEnv: NodeJS.ProcessEnv) {
  const target = { type: "http" as const, url, headers: { "x-key": "k" } };
  const leg = createHttpLeg({ server: "s", target, log: recordingLog(), maxMessageBytes: 0, redact, baseEnv });
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  return { leg: disposable(leg), events };
}

test("HTTP_PROXY is used for http://, not for loopback, not where NO_PROXY says so", async () => {
  await using proxy = await startProxy();
  await using web = await startWeb((seen, reply) => reply.json(result(seen, { by: "server" })));
  {
    const { leg, events } = await initialize("http://server.example:81/mcp?a=1", { HTTP_PROXY: proxy.url });
    await using _leg = leg;
    expect((await events.answer(1)).body()).toEqual({ by: "proxy" });
    expect(proxy.asked).toEqual(["POST http://server.example:81/mcp?a=1"]);
  }
  {
    const { leg, events } = await initialize(web.url, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url });
    await using _leg = leg;
    expect((await events.answer(1)).body()).toEqual({ by: "server" });
  }
  const { leg, events } = await initialize("http://server.invalid/", {
    http_proxy: proxy.url,
    NO_PROXY: "x, .invalid",
  });
  await using _leg = leg;
  const error = await events.failure(1);
  expect(error).toMatchObject({ reason: "network", delivered: "no" });
  expect(error.message).toBe("host not found: server.invalid");
  expect(proxy.asked).toHaveLength(1);
});

test("HTTPS_PROXY is a tunnel; ALL_PROXY stands in for both; one that is no URL is named", async () => {
  await using proxy = await startProxy();
  for (const env of [{ HTTPS_PROXY: proxy.url }, { all_proxy: proxy.url }]) {
    const { leg, events } = await initialize("https://server.example:1/mcp", env);
    await using _leg = leg;
    const error = await events.failure(1);
    expect(error).toMatchObject({ reason: "network", delivered: "no" });
    expect(error.message).toContain("the proxy closed the connection");
  }
  expect(proxy.asked).toEqual(["CONNECT server.example:1", "CONNECT server.example:1"]);
  await expect(initialize("https://server.example/", { HTTPS_PROXY: "nonsense" })).rejects.toThrow("HTTPS_PROXY");
});

test("TLS: a certificate of a private authority is refused in words that help, and accepted with NODE_EXTRA_CA_CERTS", async () => {
  const tls = { key: readFileSync(fixture("key.pem")), cert: readFileSync(fixture("cert.pem")) };
  await using web = await startWeb((seen, reply) => reply.json(result(seen)), { tls });
  const { leg, events } = await initialize(web.url, {});
  await using _leg = leg;
  const error = await events.failure(1);
  expect(error).toMatchObject({ reason: "network", delivered: "no" });
  expect(error.message).toContain("NODE_EXTRA_CA_CERTS");
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", fixture("dial.ts"), web.url], {
    cwd: root,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: fixture("cert.pem") },
  });
  expect(stdout.trim()).toBe("frame 1");
});

test("no clock of undici's runs, and a dispatcher that was passed in stays open", async () => {
  const { Agent } = await import("undici");
  await using web = await startWeb((seen, reply) => reply.json(result(seen)));
  const clocks: unknown[] = [];
  class Watched extends Agent {
    override dispatch(...[target, handler]: Parameters<Dispatcher["dispatch"]>): boolean {
      clocks.push([target.headersTimeout, target.bodyTimeout]);
      return super.dispatch(target, handler);
    }
  }
  const fetchDispatcher = new Watched();
  const target = { type: "http" as const, url: web.url, headers: {} };
  const leg = createHttpLeg({ server: "s", target, log: recordingLog(), maxMessageBytes: 0, redact, fetchDispatcher });
  const events = new Recorder();
  await leg.open(events);
  leg.send(request(1, "initialize"));
  await events.answer(1);
  await leg.close(100);
  expect(clocks).toEqual([[0, 0]]);
  expect(fetchDispatcher.destroyed).toBe(false);
  await fetchDispatcher.destroy();
});

test("undici is loaded by the first HTTP leg that is opened, not before", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", fixture("lazy.ts")], {
    cwd: root,
  });
  expect(JSON.parse(stdout)).toEqual({ before: false, after: true });
});

test("a notification leaves after the requests before it are being written; requests wait for nobody", () => {
  const left: string[] = [];
  const tickets: Ticket[] = [];
  const order = new SendOrder((message, _body, ticket) => {
    left.push(message.method ?? "");
    tickets.push(ticket);
  });
  for (const message of [request(1, "a"), request(2, "b"), notification("cancelled"), request(3, "c")])
    order.add(message);
  expect(left).toEqual(["a", "b"]);
  tickets[0]?.started();
  expect(left).toEqual(["a", "b"]);
  tickets[1]?.headed();
  expect(left).toEqual(["a", "b", "cancelled", "c"]);
  expect(order.remove(3)).toBe(false);
});

test("what waits for a server that does not read has a bound", () => {
  const tickets: (() => void)[] = [];
  const order = new SendOrder((_message, _body, ticket) => tickets.push(() => ticket.headed()));
  const big = (id: number): Outgoing => ({
    chunks: [Buffer.alloc(30 * 1024 * 1024)],
    kind: "request",
    id,
    method: "m",
  });
  for (let id = 1; id <= 3; id++) order.add(big(id));
  expect(() => order.add(big(4))).toThrow(LegError);
  expect(() => order.add(big(4))).toThrow(expect.objectContaining({ reason: "full", delivered: "no" }));
  tickets[0]?.();
  order.add(big(5));
  expect(tickets).toHaveLength(4);
});
