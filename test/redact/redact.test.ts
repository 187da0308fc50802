import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byLine } from "../../src/redact/lines.ts";
import { makeRedactor } from "../../src/redact/redact.ts";

const plain = makeRedactor({ secrets: [], redactKeys: ["ssn", "internalCode"] });
const SENTINEL = "Zq7sentinel4Kw";

function jsonOf(value: unknown): unknown {
  return JSON.parse(plain.json(JSON.stringify(value)));
}

describe("texts", () => {
  test.each([
    `ghp_${SENTINEL}abcdefghij`,
    `github_pat_${SENTINEL}_abc`,
    `glpat-${SENTINEL}`,
    `sk-ant-api03-${SENTINEL}`,
    `sk_live_${SENTINEL}`,
    `xoxb-123-${SENTINEL}`,
    `eyJhbGciOiJIUzI1NiJ9.${SENTINEL}.sig-${SENTINEL}`,
    `eyJhbGciOiJIUzI1NiJ9.${SENTINEL}`,
    `ya29.${SENTINEL}_abcdef`,
    `-----BEGIN RSA PRIVATE KEY-----\n${SENTINEL}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN PRIVATE KEY-----\n${SENTINEL}`,
    `Bearer ${SENTINEL}`,
    `bearer  ${SENTINEL}==`,
    `Basic ${Buffer.from(`user:${SENTINEL}`).toString("base64")}`,
    `https://user:${SENTINEL}@example.com/x`,
    `https://${SENTINEL}@example.com`,
    `postgres://u:p@${SENTINEL}@db/x`,
    `https://e.com/?a=1&access_token=${SENTINEL}&b=2`,
    `https://e.com/?key=${SENTINEL}`,
    `https://e.com/cb#code=${SENTINEL}`,
    `https://s3/x?X-Amz-Signature=${SENTINEL}&y`,
    `password=${SENTINEL}`,
    `password: "${SENTINEL} and more ${SENTINEL}"`,
    `--api-key=${SENTINEL}`,
    `{"client_secret": "${SENTINEL}", broken`,
    `prose {"credentials": {"user": "${SENTINEL}"}} prose`,
    `prose {\\"password\\": \\"${SENTINEL} x\\"} prose`,
    `Authorization: Token ${SENTINEL}`,
    `Cookie: a=${SENTINEL}; b=${SENTINEL}`,
    `DB_PASSWORD='${SENTINEL}'`,
    `userSsn: ${SENTINEL}`,
    `internal-code = ${SENTINEL}`,
    `prose {\\"a\\": \\"ghp_\\\\u005a${SENTINEL.slice(1)}abcdefghij\\"}`,
    `https://e.com/?api_token='(${SENTINEL})!&a=1`,
    `docs://a?filter=${encodeURIComponent(JSON.stringify({ password: { x: `a'${SENTINEL}` } }))}`,
    `https://e.com/login?to=${encodeURIComponent(`https://u:${SENTINEL}@h/`)}`,
    `x=${encodeURIComponent(encodeURIComponent(`{"api_key":"${SENTINEL}"}`))}`,
  ])("%j is masked", (text) => {
    for (const masked of [
      plain.text(text),
      plain.text(`before\n${text}`),
      plain.text(`(${text}`),
      plain.text(`"${text}"`),
    ]) {
      expect(masked).toContain("[redacted]");
      expect(masked).not.toContain(SENTINEL);
      expect(masked).not.toContain(Buffer.from(`user:${SENTINEL}`).toString("base64"));
    }
  });

  test.each([
    "Basic understanding of a bearer token and basic authentication",
    "The author passes; a token is needed. Keyboard, monkey, compass.",
    "task-management-for-the-whole-team",
    "maxTokens: 4000, total_tokens=12, nextPageToken: abc",
    "https://example.com/a/b?page=2&q=x#top, mail me@example.com",
    "npm_config_registry and hf_hub",
    "src/auth/session.ts:12",
    "password: true",
    "https://e.com/?a=%22x%22&next=%2Fa%3Fb%3D1 100%25 sure",
  ])("%j stays as it is", (text) => {
    expect(plain.text(text)).toBe(text);
  });

  test("what stands around a secret stays", () => {
    expect(plain.text(`curl -H "Authorization: Bearer ${SENTINEL}" https://u:p@e.com/x?api_key=${SENTINEL}&n=1`)).toBe(
      'curl -H "Authorization: [redacted]" https://[redacted]@e.com/x?api_key=[redacted]&n=1',
    );
  });

  test("masking once more changes nothing", () => {
    const text = `Bearer ${SENTINEL} password=x https://u:p@h/ {"token":"a b"} Cookie: a`;
    expect(plain.text(plain.text(text))).toBe(plain.text(text));
  });

  test("hostile texts take linear time", () => {
    const words = [
      "password",
      "bearer ",
      "basic+",
      "://",
      "eyJ",
      "eyJ-",
      "a",
      "A",
      " ",
      "token=",
      "sk-",
      "?key=",
      "-----BEGIN ",
      "%25",
      "%",
      "?token=",
      "?a%22=",
    ];
    const marks = ["\\", '"', "{", ": ", "pass\\", 'x\\\\"', "cookie:", "key", "\n"];
    const redactor = makeRedactor({ secrets: ['x\\\\\\"\\\n\\é', "\\\\\\\\"], redactKeys: ["ssn"] });
    for (const part of [...words, ...marks]) {
      const started = performance.now();
      redactor.text(`\\u${part.repeat(16_384 / part.length)}`);
      redactor.json(JSON.stringify(`${part.repeat(8_000 / part.length)}\u0001`));
      expect(performance.now() - started, part).toBeLessThan(400);
    }
  });
});

test("of a text that comes line by line, the lines of a private key are masked, too, and no others", () => {
  const redact = byLine(plain.text);
  const key = [`-----BEGIN PRIVATE KEY-----`, `${SENTINEL}AAAA`, `${SENTINEL}BBBB=`, "-----END PRIVATE KEY-----"];
  expect(["before", ...key, "after", `x ${key.join(" ")} y`, "last"].map(redact)).toEqual([
    "before",
    ...Array.from({ length: 4 }, () => "[redacted]"),
    "after",
    "x [redacted] y",
    "last",
  ]);
  redact("-----BEGIN RSA PRIVATE KEY-----");
  const lines = Array.from({ length: 300 }, () => redact("a server goes on"));
  expect(lines.filter((line) => line === "[redacted]")).toHaveLength(200);
});

describe("JSON", () => {
  test("everything under a key that names a secret goes, whatever its type; truth values, counts and other keys stay", () => {
    const secret = {
      password: SENTINEL,
      DB_PASSWORD: [SENTINEL],
      accessToken: { a: { b: SENTINEL } },
      "x-api-key": SENTINEL,
      privateKey: SENTINEL,
      Authorization: SENTINEL,
      auth: SENTINEL,
      pin: 1234,
      "set-cookie": [SENTINEL],
      userSsn: SENTINEL,
      INTERNAL_CODE: SENTINEL,
      "internal code": SENTINEL,
    };
    const open = {
      password_required: true,
      secret: null,
      maxTokens: 4000,
      tokens: 12,
      nextPageToken: "abc",
      token_type: "opaque",
      author: "me",
      lessNumber: 1,
      key: "value",
      passing: "x",
    };
    const masked = jsonOf({ deep: [{ ...secret, ...open }] }) as { deep: Record<string, unknown>[] };
    for (const key of Object.keys(secret)) expect(masked.deep[0]![key]).toBe("[redacted]");
    for (const [key, value] of Object.entries(open)) expect(masked.deep[0]![key]).toEqual(value);
  });

  test("JSON within a text is looked into", () => {
    const inner = JSON.stringify({ a: { password: { deep: SENTINEL } }, note: "stays" }, null, 2);
    const twice = JSON.stringify([JSON.stringify([inner])]);
    const masked = plain.json(JSON.stringify({ content: [{ type: "text", text: twice }] }));
    expect(masked).not.toContain(SENTINEL);
    expect(masked).toContain("stays");
  });

  test("__proto__ is a key like any other, and twins hide nothing", () => {
    const raw = `{"__proto__":{"password":"${SENTINEL}"},"a":"ghp_${SENTINEL}x","a":1}`;
    expect(plain.json(raw)).toBe('{"__proto__":{"password":"[redacted]"},"a":1}');
  });

  test("nothing to hide: the very text comes back, unparsed", () => {
    const raw = '{"a":1.0,"b":9223372036854775808,"a":[ ],"n":"\\n\\t"}';
    expect(plain.json(raw)).toBe(raw);
  });

  test("what is nested too deep to look at is not kept", () => {
    const deep = `${"[".repeat(8_000)}"ghp_${SENTINEL}x"${"]".repeat(8_000)}`;
    expect(plain.json(deep)).not.toContain(SENTINEL);
    expect(plain.json(JSON.stringify(deep))).not.toContain(SENTINEL);
    JSON.parse(plain.json(deep));
  });
});

/** The same JSON text with some characters written as escapes. */
function escaped(text: string, picks: readonly boolean[]): string {
  let at = 0;
  return text.replace(/[A-Za-z0-9/_-]/g, (char) => {
    if (picks[at++ % picks.length] !== true) return char;
    return char === "/" ? "\\/" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

describe("sentinels put anywhere never come out", () => {
  const core = fc
    .string({ unit: fc.constantFrom(..."abXY019/+_-"), minLength: 3, maxLength: 6 })
    .map((text) => `${SENTINEL}${text}`);
  const known = fc
    .tuple(fc.string({ unit: "grapheme", maxLength: 4 }), core, fc.string({ unit: "grapheme", maxLength: 4 }))
    .map((parts) => parts.join(""));
  const hidden = (secret: string): fc.Arbitrary<unknown> =>
    fc.oneof(
      fc.constant(secret),
      fc.string().map((text) => `${text} ${secret} ${text}`),
      fc.constant({ [secret]: 1 }),
      fc.constant(encodeURIComponent(secret)),
      fc.constant(Buffer.from(secret).toString("base64")),
      fc.constant(JSON.stringify({ x: [secret] })),
      fc.constant(`${JSON.stringify({ x: secret })} and text`),
    );
  const around = (leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 6, withCrossShrink: true },
        leaf,
        fc.tuple(fc.jsonValue({ maxDepth: 1 }), tie("node")),
        fc.record({ a: tie("node"), "k\n": fc.string() }),
        fc.tuple(tie("node")).map(([node]) => ({ type: "text", text: JSON.stringify(node) })),
      ),
    })).node;

  test("known values, in any form, at any depth, however the JSON is escaped", () => {
    fc.assert(
      fc.property(
        known.chain((secret) => fc.tuple(fc.constant(secret), around(hidden(secret)))),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
        ([secret, value], picks) => {
          const redactor = makeRedactor({ secrets: [secret], redactKeys: [] });
          const masked = redactor.json(escaped(JSON.stringify(value), picks));
          expect(masked).not.toMatch(/[\n\r]/);
          JSON.parse(masked);
          expect(masked).not.toContain(SENTINEL);
          expect(masked).not.toContain(Buffer.from(SENTINEL).toString("base64").slice(0, 12));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("values under keys that name secrets, and secrets by their shape", () => {
    const leaf = core
      .map((secret) => secret.replace(/[/+]/g, "x"))
      .chain((secret) =>
        fc.constantFrom<unknown>(
          { password: secret },
          { Client_Secret: { nested: [secret] } },
          { apiKey: 1, API_KEY: secret },
          `ghp_${secret}`,
          { [`sk-${secret}ab`]: true },
          `Authorization: Bearer ${secret}`,
          `see https://u:${secret}@e.com/`,
          `https://e.com/?token=${secret}`,
        ),
      );
    fc.assert(
      fc.property(around(leaf), fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), (value, picks) => {
        expect(plain.json(escaped(JSON.stringify(value), picks))).not.toContain(SENTINEL);
      }),
      { numRuns: 300 },
    );
  });

  test("what the fast path lets through, the slow path would not have changed", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "password",
        "pass",
        "token",
        "api key",
        "auth",
        "key",
        "Bearer",
        "basic",
        "cookie",
        "ghp_",
        "sk-",
        "eyJ",
        "pin",
      ),
      fc.constantFrom(
        ": ",
        "=",
        ":",
        '"',
        "'",
        "\\",
        "\n",
        " ",
        "://",
        "@",
        "?",
        "&",
        ".",
        "_",
        "-",
        "{",
        "}",
        "[",
        "]",
        "/",
      ),
      fc.constantFrom("abcdefghijk", "A1b2C3d4E5f6G7h8", "ssn", "SSN", "internalCode", "SG", "ya29"),
      fc.string({ maxLength: 3 }),
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    const json = fc.jsonValue({ maxDepth: 2, stringUnit: "grapheme" });
    const value = fc.oneof(text, fc.dictionary(text, fc.oneof(text, json)), fc.array(text), json);
    fc.assert(
      fc.property(value, (one) => {
        const raw = JSON.stringify(one);
        const fast = plain.json(raw);
        // "\u0041" takes the whole to the slow path.
        const slow = plain.json(`["\\u0041",${raw}]`).slice('["A",'.length, -1);
        expect(fast === raw ? JSON.stringify(JSON.parse(raw)) : fast).toBe(slow);
      }),
      { numRuns: 3_000 },
    );
  });
});
