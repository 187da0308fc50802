/**
 * Secrets whose values are known: what the configuration expanded from variables or has under `env` and `headers`. Alone
 * (`makeKnownRedactor`) they are what is taken out of the output of commands, where what looks like a secret may be just
 * what was asked for; with what shows by its form (`redact.ts`) out of everything that is kept or logged.
 */
import { escapeRegExp, MASK, type Pattern } from "./patterns.ts";

/** A shorter secret would blank out half of every text. */
const MIN_SECRET = 4;
/** In base64 a shorter one would be found in every picture. */
const MIN_WITHIN_BASE64 = 6;

/** Puts "[redacted]" in the place of each secret. Redact before you cut: half a secret is not found. */
export function makeKnownRedactor(secrets: readonly string[]): (text: string) => string {
  return knownPattern(secrets)?.mask ?? ((text) => text);
}

/** Each secret in every form in which it may stand in a text: as it is, in a URL, in base64, each within JSON. */
export function knownPattern(secrets: readonly string[]): Pattern | undefined {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const value of [secret, secret.trim(), ...longLines(secret)]) {
      if (value.length >= MIN_SECRET) for (const form of formsOf(value)) forms.add(form);
    }
  }
  if (forms.size === 0) return undefined;
  // Of two that begin alike the longer one first, or its rest would stay.
  const sources = [...forms].sort((a, b) => b.length - a.length).map(atAnyLevel);
  const all = new RegExp(sources.join("|"), "g");
  return { hint: [new RegExp(sources.join("|"))], mask: (text) => text.replace(all, MASK) };
}

/**
 * Matches the text itself and the same within JSON within JSON …, where each level doubles the backslashes. Of two
 * repeats of backslashes none follows the other, so that many backslashes are not tried in many ways.
 */
function atAnyLevel(text: string): string {
  let source = "";
  let behind = false;
  // By UTF-16 units, as JSON escapes them.
  for (const unit of text.split("")) {
    const lead = behind ? "" : "\\\\+";
    const code = unit.charCodeAt(0);
    const hex = code.toString(16).padStart(4, "0");
    if (unit === "\\") source += behind ? "" : "\\\\+";
    else if (unit === '"' || unit === "/") source += (behind ? "" : "\\\\*") + unit;
    else if (code < 0x20) source += `(?:\\u${hex}|${lead}(?:[nrtbf]|u${hex}|u${hex.toUpperCase()}))`;
    else if (code < 0x7f) source += escapeRegExp(unit);
    else source += `(?:\\u${hex}|${lead}(?:u${hex}|u${hex.toUpperCase()}))`;
    behind = unit === "\\";
  }
  return source;
}

function longLines(secret: string): string[] {
  if (!/[\r\n]/.test(secret)) return [];
  return secret.split(/[\r\n]+/).filter((line) => line.length >= 8 && !line.startsWith("-----"));
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const forms = [secret, ...inBase64(bytes).flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")])];
  try {
    const uri = encodeURIComponent(secret);
    forms.push(
      uri,
      uri.replaceAll("%20", "+"),
      uri.replace(/%../g, (code) => code.toLowerCase()),
      encodeURI(secret),
    );
  } catch {
    // A lone surrogate has no form in a URL.
  }
  return forms;
}

/**
 * Three bytes are four characters: within a longer text a secret can begin at each of the three, and the characters at its
 * ends are made from its neighbours, too. So these are the ones in between, and for a text that is the secret alone all.
 */
function inBase64(bytes: Buffer): string[] {
  const alone = bytes.toString("base64").replace(/=+$/, "");
  if (bytes.length < MIN_WITHIN_BASE64) return [alone];
  const within = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return whole.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
  return [alone, ...within];
}
