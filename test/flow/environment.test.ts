// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the configuration file.
/** Promise: a server gets the environment of its own entry and no other's, and what it is started with is what the file says. */
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { configFile, httpServer, SERVER, type StdioServer, stdioServer, tool } from "../support/config.ts";
import { tempDir } from "../support/dir.ts";
import { type Host, startHost } from "../support/host.ts";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";

const startOf = (server: StdioServer) => server.entries().find((entry) => entry.event === "start")!;
const about = (host: Host, server: string) => host.logs.filter((record) => record["server"] === server);

test("a server gets the safe base and its own variables, never those of another entry or of Switchyard", async () => {
  // J10, L8
  await using dir = await tempDir();
  const script = { tools: [tool("t")] };
  const a = stdioServer(dir, "a", script);
  const b = stdioServer(dir, "b", script);
  const base = {
    LANG: "de_DE.UTF-8",
    LC_ALL: "C.UTF-8",
    TZ: "Asia/Tokyo",
    TMPDIR: dir.path,
    TERM: "dumb",
    // What a company's network needs, by the rule in src/upstream/legs/environment.ts.
    HTTPS_PROXY: "http://proxy.example:3128",
    no_proxy: "localhost",
    NODE_EXTRA_CA_CERTS: "/etc/company-ca.pem",
    SSL_CERT_FILE: "/etc/company-ca.pem",
  };
  const secrets = {
    SECRET_A: "of-entry-a",
    AWS_SECRET_ACCESS_KEY: "of-the-cloud",
    GITHUB_TOKEN: "of-github",
    NODE_OPTIONS: "--no-warnings",
    SWITCHYARD_CONFIG: "/elsewhere.json",
    LD_PRELOAD: "",
    BASH_FUNC_x: "() { :; }",
  };
  await using host = await startHost({
    env: { ...base, ...secrets },
    config: {
      mcpServers: {
        a: { ...a.entry, env: { TOKEN: "${SECRET_A}", TZ: "UTC" }, cwd: dir.path },
        b: { ...b.entry, env: { B_KEY: "of-entry-b" } },
      },
    },
  });
  expect(await host.toolNames()).toEqual(["a__t", "b__t"]);
  const envOf = (server: StdioServer) => startOf(server).env!;
  expect(envOf(a)).toMatchObject({ ...base, TOKEN: "of-entry-a", TZ: "UTC" });
  expect(envOf(b)).toMatchObject({ ...base, B_KEY: "of-entry-b" });
  for (const server of [a, b]) {
    const env = envOf(server);
    expect(env["PATH"]).toBe(process.env["PATH"]);
    expect(env["HOME"]).toBeTruthy();
    for (const name of Object.keys(secrets)) expect(env, name).not.toHaveProperty(name);
    for (const name of ["npm_config_user_agent", "VITEST", "NODE_ENV"]) expect(env).not.toHaveProperty(name);
  }
  expect(Object.values(envOf(b))).not.toContain("of-entry-a");
  expect(Object.values(envOf(a))).not.toContain("of-entry-b");
  expect(startOf(a).cwd).toBe(dir.path);
});

test("variables expand alike in command, args, env, cwd, url and headers, once; what is not set or is misspelt disables its entry alone", async () => {
  // L3, L5
  await using dir = await tempDir();
  const local = stdioServer(dir, "local", { tools: [tool("t")] });
  await using web = await startHttpServer({ name: "web", tools: [tool("t")] });
  const [, script] = local.entry.args as [string, string];
  const env = {
    SY_COMMAND: process.execPath,
    SY_DIR: dir.path,
    SY_SCRIPT: script.slice(dir.path.length + 1),
    SY_TRICKY: "${HOME} $$ ${SY_DIR} $SY_DIR",
    SY_EMPTY: "",
    SY_PORT: String(web.port),
    SY_TOKEN: "t0ken-fr0m-outside",
  };
  const config = {
    mcpServers: {
      local: {
        command: "${SY_COMMAND}",
        args: [SERVER, "${SY_DIR}/${SY_SCRIPT}", "${SY_NOT_SET:-by default}"],
        env: {
          ONCE: "${SY_TRICKY}",
          DOLLARS: "$$ $${SY_DIR} $HOME",
          EMPTY: "<${SY_EMPTY}>",
          DEF: "${SY_NOT_SET:-d:-e}",
        },
        cwd: "${SY_DIR}",
      },
      web: {
        url: "http://127.0.0.1:${SY_PORT}/mcp",
        headers: { Authorization: "Bearer ${SY_TOKEN}", "X-Default": "${SY_NOT_SET:-none}" },
      },
      unset: { command: "${SY_COMMAND}", args: ["${SY_SURELY_NOT_SET}"] },
      unsetToo: { url: "http://127.0.0.1:1/", headers: { "X-Key": "${SY_SURELY_NOT_SET_EITHER}" } },
      misspelt: { comand: "x" },
      foreign: { command: "x", environment: { A: "1" } },
      nothing: {},
      wrongType: { command: ["x"] },
    },
  };
  const file = configFile(dir, config, "my-config.json");
  await using host = await startHost({ config: file, env });
  expect(await host.toolNames()).toEqual(["local__t", "web__t"]);
  const { env: got, cwd } = startOf(local);
  expect(got).toMatchObject({
    ONCE: env.SY_TRICKY,
    DOLLARS: "$ ${SY_DIR} $HOME",
    EMPTY: "<>",
    DEF: "d:-e",
  });
  expect(cwd).toBe(dir.path);
  for (const { headers } of web.requests) {
    expect(headers.authorization).toBe("Bearer t0ken-fr0m-outside");
    expect(headers["x-default"]).toBe("none");
  }
  for (const [server, words] of [
    ["unset", ["SY_SURELY_NOT_SET", "args"]],
    ["unsetToo", ["SY_SURELY_NOT_SET_EITHER", "X-Key"]],
    ["misspelt", ["comand", '"command"']],
    ["foreign", ["environment", '"env"']],
    ["nothing", ["command", "url"]],
    ["wrongType", ["command"]],
  ] as const) {
    const text = JSON.stringify(about(host, server).map(({ msg }) => msg)).replaceAll('\\"', '"');
    for (const word of ["my-config.json", server, ...words]) expect(text, server).toContain(word);
  }
  expect(host.stderr).not.toContain("t0ken-fr0m-outside");
});

test("a command is found beside our Node where the host's PATH is short, with the same PATH for the child; a failure prints what was searched", async () => {
  // L2
  await using dir = await tempDir();
  const short = stdioServer(dir, "short", { tools: [tool("t")] });
  const own = stdioServer(dir, "own", { tools: [tool("t")] });
  await using host = await startHost({
    env: { PATH: `${dir.path}:/nonexistent/bin` },
    config: {
      mcpServers: {
        short: { command: "node", args: short.entry.args },
        own: { command: "node", args: own.entry.args, env: { PATH: dirname(process.execPath) } },
        missing: { command: "no-such-command-anywhere" },
        strict: { command: "node", args: own.entry.args, env: { PATH: "/nonexistent/of-the-entry" } },
      },
    },
  });
  expect(await host.toolNames()).toEqual(["short__t", "own__t"]);
  const path = startOf(short).env!["PATH"]!.split(":");
  expect(path.slice(0, 2)).toEqual([dir.path, "/nonexistent/bin"]);
  expect(path).toContain(dirname(process.execPath));
  expect(startOf(own).env!["PATH"]).toBe(dirname(process.execPath));
  const text = (server: string) =>
    JSON.stringify(about(host, server).filter((record) => record["stage"] !== undefined));
  expect(text("missing")).toContain("no-such-command-anywhere");
  expect(text("missing")).toContain(`${dir.path}:/nonexistent/bin`);
  expect(text("strict")).toContain("/nonexistent/of-the-entry");
});

test("servers behind a company's proxy or with a private authority are reached with the usual variables, and TLS is never left unchecked", async () => {
  // L8
  const asked: string[] = [];
  const proxy = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const { method, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port: plain.port, path: "/mcp", method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  // A client may ask for a tunnel for plain HTTP as well.
  proxy.on("connect", (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    const onward = connect(plain.port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  await using plain = await startHttpServer({ name: "plain", tools: [tool("t")] });
  proxy.listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  await using _proxy = {
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
  const fixture = (name: string) => fileURLToPath(new URL(`../upstream/legs/fixtures/${name}`, import.meta.url));
  const tls = { key: readFileSync(fixture("key.pem")), cert: readFileSync(fixture("cert.pem")) };
  await using secure = await startHttpServer({ name: "secure", tools: [tool("t")] }, { tls });
  await using direct = await startHttpServer({ name: "direct", tools: [tool("t")] });
  const config = {
    mcpServers: {
      secure: httpServer(secure.url),
      company: httpServer("http://mcp.company.invalid/mcp"),
      direct: httpServer(direct.url),
    },
  };
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  {
    await using host = await startHost({
      config,
      env: { HTTP_PROXY: proxyUrl, NO_PROXY: "127.0.0.1", NODE_EXTRA_CA_CERTS: fixture("cert.pem") },
    });
    expect(await host.toolNames()).toEqual(["secure__t", "company__t", "direct__t"]);
    expect(await host.callText("secure__t")).toBe("secure:t");
    expect(await host.callText("company__t")).toBe("plain:t");
    expect(asked.length).toBeGreaterThan(0);
    for (const line of asked) expect(line).toContain("mcp.company.invalid");
  }
  const before = secure.requests.length;
  await using host = await startHost({ config: { mcpServers: { secure: config.mcpServers.secure } } });
  expect(await host.toolNames()).toEqual([]);
  await until(() => about(host, "secure").some((record) => record["stage"] !== undefined), { what: "the refusal" });
  expect(host.stderr).toContain("NODE_EXTRA_CA_CERTS");
  expect(secure.requests.length).toBe(before);
});
