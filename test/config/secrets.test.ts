// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is tested.
/** Field report J4: what is a secret, and that it is not seen in any of its forms. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeKnownRedactor } from "../../src/redact/known.ts";
import { redactValue } from "../../src/redact/value.ts";
import { load, loadEntry } from "./support.ts";

describe("a secret", () => {
  it("is every value under env and headers, and a token without its scheme", async () => {
    const stdio = await loadEntry({ command: "x", env: { A: "alpha-secret", B: "beta-secret" } });
    expect(stdio.secrets).toEqual(["alpha-secret", "beta-secret"]);
    const http = await loadEntry({ url: "http://a", headers: { Authorization: "Bearer tok-1", "X-Key": "key-1" } });
    expect(http.secrets).toEqual(["Bearer tok-1", "tok-1", "key-1"]);
  });

  it("is the pair and the password in a Basic header", async () => {
    const basic = Buffer.from("user:pass-word").toString("base64");
    const { secrets } = await loadEntry({ url: "http://a", headers: { authorization: `Basic ${basic}` } });
    expect(secrets).toEqual([`Basic ${basic}`, basic, "user:pass-word", "pass-word"]);
  });

  it("is what a variable held, wherever it was used, but for the variables that hold places", async () => {
    const { secrets } = await loadEntry(
      { command: "x", args: ["${HOME}/a", "--x=${MY_VALUE}"] },
      { HOME: "/home/me", MY_VALUE: "v-123" },
    );
    expect(secrets).toEqual(["v-123"]);
  });

  it("is user, password and query of the url, decoded and as written, and a key in its path", async () => {
    const key = "0123456789abcdef0123456789abcdef";
    const { secrets } = await loadEntry({ url: `https://me:p%40ss@a/${key}/mcp?api_key=a%20b&mode=http` });
    expect(secrets).toEqual(["a b", "a%20b", "me", "p@ss", "me:p@ss", key]);
  });

  it("is a token among the arguments", async () => {
    const args = [
      "mcp-remote",
      "https://u:pw12@a/mcp",
      "--header",
      "Authorization: Bearer tok-2",
      "--api-key",
      "key-2",
      "--token=tok-3",
      "-v",
    ];
    const { secrets } = await loadEntry({ command: "npx", args });
    expect(secrets).toEqual(expect.arrayContaining(["pw12", "tok-2", "key-2", "tok-3"]));
    expect(secrets).not.toContain("-v");
    expect(secrets).not.toContain("mcp-remote");
  });

  it("is not a plain word or a port, unless what it is called says so", async () => {
    const { secrets } = await loadEntry({
      command: "x",
      env: { DEBUG: "true", PORT: "8080", NODE_ENV: "anything", PIN: "1234" },
    });
    expect(secrets).toEqual(["1234"]);
  });

  it("of a broken or disabled entry is one too", async () => {
    const config = await load(
      {
        mcpServers: { a: { env: { T: "secret-a" } }, b: { command: "x", disabled: true, env: { T: "secret-b" } } },
        $schema: "${S}",
      },
      { S: "secret-s" },
    );
    expect(config.secrets).toEqual(["secret-s", "secret-a", "secret-b"]);
  });
});

describe("the redactor", () => {
  const secret = 'p"a s/s+wörd\\';
  const redact = makeKnownRedactor([secret]);

  it.each([
    ["as it is", secret],
    ["as JSON", JSON.stringify(secret).slice(1, -1)],
    ["as JSON in JSON", JSON.stringify(JSON.stringify(secret)).slice(1, -1)],
    ["URI-encoded", encodeURIComponent(secret)],
    ["URI-encoded in lower case", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ["as a form's field", new URLSearchParams({ a: secret }).toString().slice(2)],
    ["in base64", Buffer.from(secret).toString("base64")],
    ["in base64url", Buffer.from(secret).toString("base64url")],
  ])("finds a secret %s", (_, form) => {
    const clean = redact(`before ${form} after ${form}`);
    expect(clean).not.toContain("rd");
    expect(clean).toMatch(/^before \S*\[redacted\]\S* after/);
  });

  it("takes the longest first, so that nothing of the longer one is left", () => {
    expect(makeKnownRedactor(["abcd", "abcdefgh"])("abcdefgh abcd")).toBe("[redacted] [redacted]");
  });

  it("leaves texts alone where there are no secrets, or only short ones", () => {
    expect(makeKnownRedactor([])("text")).toBe("text");
    expect(makeKnownRedactor(["", "abc"])("abc")).toBe("abc");
  });

  it("finds the lines of a key of several lines, one by one", () => {
    const redactKey = makeKnownRedactor(["-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n"]);
    expect(redactKey("stderr: kqhkiG9w0BAQEF")).toBe("stderr: [redacted]");
    expect(redactKey("-----BEGIN KEY-----")).toBe("-----BEGIN KEY-----");
  });

  it("takes secrets literally", () => {
    expect(makeKnownRedactor(["a.c*[x]"])("abc a.c*[x]")).toBe("abc [redacted]");
  });

  it("leaves none of the secrets in any text made of them", () => {
    const word = fc.string({ minLength: 4, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), fc.string(), (secrets, rest) => {
        const clean = makeKnownRedactor(secrets)(secrets.join(rest)).replaceAll("[redacted]", "\0");
        for (const one of secrets) if (!"[redacted]".includes(one)) expect(clean).not.toContain(one);
      }),
    );
  });
});

describe("a value", () => {
  const redact = makeKnownRedactor(["s3cret", "123456"]);

  it("is redacted in depth, keys and numbers included, and stays JSON", () => {
    const clean = redactValue(
      { a: ["x s3cret"], "k-s3cret": { n: 123456, m: 1234567, t: true, z: null } },
      { text: redact },
    );
    expect(JSON.parse(JSON.stringify(clean))).toEqual({
      a: ["x [redacted]"],
      "k-[redacted]": { n: "[redacted]", m: 1234567, t: true, z: null },
    });
  });

  it("may be an error, hold itself, or be something that JSON has no form for", () => {
    const loop: Record<string, unknown> = { big: 10n, bytes: new Uint8Array(3), set: new Set(["s3cret"]), f: () => 1 };
    loop["self"] = loop;
    loop["error"] = Object.assign(new Error("bad s3cret", { cause: new Error("s3cret") }), { code: "E" });
    const text = JSON.stringify(redactValue(loop, { text: redact }));
    expect(text).not.toContain("s3cret");
    expect(JSON.parse(text)).toMatchObject({
      big: "10",
      bytes: "[3 bytes]",
      set: ["[redacted]"],
      self: "[circular]",
      error: { type: "Error", message: "bad [redacted]", code: "E", cause: { message: "[redacted]" } },
    });
  });

  it("keeps a thing that stands in two places in both", () => {
    const shared = { a: 1 };
    expect(JSON.stringify(redactValue([shared, shared], { text: redact }))).toBe('[{"a":1},{"a":1}]');
  });
});
