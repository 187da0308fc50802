import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSealer } from "../../src/wire/seal.ts";

describe("a sealed value", () => {
  it("comes back, whatever it is, under any replica with the key", () => {
    const key = Buffer.alloc(32, 7);
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, context) => {
        const text = createSealer(key).seal(value, context);
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(createSealer(key).unseal(text, context)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("does not open with any one letter altered, added or taken away", () => {
    const sealer = createSealer();
    const text = sealer.seal(["server", "cursor", 3], "c");
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let at = 0; at < text.length; at++) {
      for (const letter of [...letters.slice(0, 5), ...letters.slice(-5), " ", "=", "+"]) {
        if (letter !== text[at]) {
          expect(sealer.unseal(text.slice(0, at) + letter + text.slice(at + 1), "c")).toBeUndefined();
        }
        expect(sealer.unseal(text.slice(0, at) + letter + text.slice(at), "c")).toBeUndefined();
      }
      expect(sealer.unseal(text.slice(0, at) + text.slice(at + 1), "c")).toBeUndefined();
    }
  });

  it("does not open in another context, with another key, or if it never was one", () => {
    const sealer = createSealer();
    const text = sealer.seal(1, "a");
    expect(sealer.unseal(text, "b")).toBeUndefined();
    expect(createSealer().unseal(text, "a")).toBeUndefined();
    fc.assert(fc.property(fc.string(), (any) => sealer.unseal(any, "a") === undefined));
  });

  it("looks different each time", () => {
    const sealer = createSealer();
    expect(sealer.seal(1, "a")).not.toBe(sealer.seal(1, "a"));
  });

  it("needs a key of 32 bytes", () => {
    expect(() => createSealer(Buffer.alloc(16))).toThrow(/32 bytes/);
  });
});
