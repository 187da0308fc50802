/**
 * Checkpoints: every so many records a line that is signed with an Ed25519 key. Whoever has not got the key cannot write
 * the file anew so that it passes. The signature covers the bytes of its line up to `,"signature":`; `prev` stands among
 * them, and with it all that was written before.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { Fault } from "../../errors.ts";
import { type Begins, type Link, lineAt } from "./line.ts";

export interface Signer {
  readonly keyId: string;
  readonly every: number;
  readonly sign: (text: string) => string;
}

/** What a checkpoint says. */
export interface Checkpoint {
  readonly key: string;
  /** The process that signed wrote the records from here on itself. */
  readonly from: number;
  readonly every: number;
}

const SIGNATURE = /^,"signature":"([0-9a-f]{128})"\}$/;
const SIGNATURE_LENGTH = ',"signature":""}'.length + 128;

/** @throws Fault INTERNAL with the reason, which says nothing of what is in the file */
export function loadSigner(file: string, every = 1): Signer {
  const key = loadKey(file, createPrivateKey, "private");
  const keyId = idOf(createPublicKey(key));
  return { keyId, every, sign: (text) => sign(null, Buffer.from(text), key).toString("hex") };
}

/** @throws Fault INTERNAL */
export function loadPublicKey(file: string): { id: string; key: KeyObject } {
  const key = loadKey(file, createPublicKey, "public");
  return { id: idOf(key), key };
}

/** `from`: first record that no earlier checkpoint of this process covers. */
export function signedLine(link: Link, from: number, signer: Signer, begins: Begins | undefined): string {
  const rest = `"event":"checkpoint","from":${from},"every":${signer.every},"key":"${signer.keyId}"`;
  const text = lineAt(link, { time: new Date().toISOString(), rest }, begins).slice(0, -1);
  return `${text},"signature":"${signer.sign(text)}"}`;
}

/** What a line with `"event":"checkpoint"` says, if it says it rightly. */
export function checkpointOf(record: Readonly<Record<string, unknown>>): Checkpoint | undefined {
  const { key, from, every } = record;
  if (typeof key !== "string" || !Number.isSafeInteger(from) || !Number.isSafeInteger(every)) return undefined;
  return { key, from: from as number, every: every as number };
}

/** Byte for byte: a signature in other letters, or with anything behind it, is none. */
export function isSignedBy(line: Buffer, key: KeyObject): boolean {
  const at = line.length - SIGNATURE_LENGTH;
  const [, signature] = SIGNATURE.exec(line.toString("latin1", Math.max(at, 0))) ?? [];
  return signature !== undefined && verify(null, line.subarray(0, at), key, Buffer.from(signature, "hex"));
}

/** The first 16 hex digits of the SHA-256 of the public key (SPKI, DER). */
function idOf(key: KeyObject): string {
  const der = key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex").slice(0, 16);
}

function loadKey(file: string, parse: (pem: Buffer) => KeyObject, kind: string): KeyObject {
  let pem: Buffer;
  try {
    pem = readFileSync(file);
  } catch (error) {
    throw new Fault("INTERNAL", `the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  let key: KeyObject | undefined;
  try {
    key = parse(pem);
  } catch {
    // Also for one that is encrypted: nobody is there to be asked for its passphrase.
  }
  if (key?.asymmetricKeyType !== "ed25519") {
    throw new Fault("INTERNAL", `the file holds no Ed25519 ${kind} key in PEM form without a passphrase`);
  }
  return key;
}
