/**
 * Small values that a peer keeps for us and gives back: cursors now, request states and task ids later. AES-256-GCM, so
 * the peer can neither read nor alter them, and every replica with the same key can open them.
 *
 * Text = base64url( version byte | 12 bytes nonce | ciphertext | 16 bytes tag ). What the value was sealed for (`context`)
 * is authenticated with it: a cursor of one list cannot be used on another.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const VERSION = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES;

export interface Sealer {
  /** `value` is anything that JSON can carry. */
  seal(value: unknown, context: string): string;
  /** The value, or undefined for a text that this key did not seal for this context. Never throws, tells no reason. */
  unseal(text: string, context: string): unknown;
}

/** `key`: 32 bytes, shared by replicas; without one a random key, so that sealed texts end with the process. */
export function createSealer(key: Buffer = randomBytes(KEY_BYTES)): Sealer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a sealing key has ${KEY_BYTES} bytes, not ${key.length}`);
  return {
    seal(value, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bound(context));
      const parts = [cipher.update(JSON.stringify(value), "utf8"), cipher.final()];
      return Buffer.concat([Buffer.of(VERSION), nonce, ...parts, cipher.getAuthTag()]).toString("base64url");
    },
    unseal(text, context) {
      const bytes = Buffer.from(text, "base64url");
      // Node's decoder skips what is not base64url and ignores the spare bits of the last letter: only the one spelling
      // that `seal` wrote is taken, or an altered letter could go unseen.
      if (bytes.length < HEAD_BYTES + TAG_BYTES || bytes[0] !== VERSION || bytes.toString("base64url") !== text) {
        return undefined;
      }
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(1, HEAD_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(bound(context))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const plain = Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
        return JSON.parse(plain.toString("utf8")) as unknown;
      } catch {
        return undefined;
      }
    },
  };
}

function bound(context: string): Buffer {
  return Buffer.from(`switchyard/${VERSION}\0${context}`, "utf8");
}
