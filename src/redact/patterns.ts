/**
 * What secrets look like when nobody has told us their values. Each pattern has a `hint`, tested on raw JSON text (so it
 * must allow for JSON escapes), and a `mask`, which works on decoded strings. Invariant, held by a test: where `mask`
 * would change something, `hint` matches the raw text. Hints are what every recorded call pays for: each is written so
 * that V8 can skip to a rare character, and there are several small ones because one big alternation is twice as slow.
 */

export const MASK = "[redacted]";

export interface Pattern {
  /** All of them must match, the cheapest first. Empty: another pattern's hint matches wherever this one masks. */
  readonly hint: readonly RegExp[];
  readonly mask: (text: string) => string;
}

/**
 * Names under which a secret sits, wherever in a key they stand. Case does not matter. What must stand before a word is
 * asked behind it: an expression that begins with a look-behind is much slower. A letter behind a backslash is an escape
 * in raw JSON, not part of the word.
 */
const SECRET_WORDS = [
  "pass(?:wor[dt]|wd|phrase|code)",
  "pass(?![a-z])",
  "pwd",
  "secret",
  "token(?!i[sz])",
  "credential",
  "authorization",
  "auth(?<!(?<!\\\\)[a-z]auth)(?![a-z])",
  "cookie",
  "jwt",
  "bearer",
  "connection[-_. ]?string",
  "keys?(?<=(?:api|access|private|auth|encryption|signing|master|account|shared|service|license|client|secret|session|storage|webhook|deploy)[-_. ]?keys?)(?![a-z])",
  "(?:pin|otp|cvv|cvc|pat)(?<!(?<!\\\\)[a-z]...)(?![a-z])",
];
/**
 * Some part of each of the words above, with what may follow: twice as fast, and mostly all that is needed. The rest is
 * longer than KEY_REST, as a stem is shorter than its word.
 */
const STEMS = "(?:pass|pwd|secret|token|cred|auth|cookie|jwt|bearer|connection|key|pin|otp|cv[vc]|pat)";
const STEM_REST = "[^\"'\\\\:=\\x00-\\x1f]{0,60}";
/** Counts, positions and kinds of tokens: names that hold a word of above and no secret. */
const OPEN_KEYS =
  /(?:max|min|total|num|prompt|completion|input|output|cached?|page|next|prev|previous|continuation|sync|progress|cancell?ation)[-_. ]?tokens?$|tokens?[-_. ]?(?:count|limit|usage|type|budget|length)s?$/i;

/** After the word, up to the end of the key. */
const KEY_REST = "[^\"'\\\\:=\\x00-\\x1f]{0,40}";
/** The same in a text: anything only if it is quoted, or prose and paths before a colon would count as keys. */
const TEXT_KEY_REST = `(?:[\\w.-]{0,40}(?=\\\\*["']?\\s*[:=])|${KEY_REST}(?=\\\\*["']\\s*[:=]))`;

export interface KeyTest {
  /** Is what stands under this key a secret? Numbers under "tokens" are counts. */
  readonly isSecret: (key: string, value: unknown) => boolean;
  readonly patterns: readonly Pattern[];
}

/** `extra`: `redactKeys` of the configuration; found as whole words, in any case, with any separator, in camelCase. */
export function keyPatterns(extra: readonly string[]): KeyTest {
  const sources = [{ stems: STEMS, words: `(?:${SECRET_WORDS.join("|")})`, flags: "i" }];
  const own = extra.map(anyCase).filter((word) => word !== "");
  if (own.length > 0) sources.push({ stems: "", words: `(?:${own.join("|")})`, flags: "" });
  const keys = sources.map(({ words, flags }) => new RegExp(`${words}${KEY_REST}$`, flags));
  return {
    isSecret(key, value) {
      if (typeof value === "boolean" || value === null) return false;
      if (typeof value === "number" && /tokens$/i.test(key)) return false;
      return keys.some((expression) => expression.test(key)) && !OPEN_KEYS.test(key);
    },
    // Parameters first: what stands in a URL ends elsewhere than what stands in a text.
    patterns: [
      parameters((name) => keys.some((expression) => expression.test(name)) && !OPEN_KEYS.test(name)),
      ...sources.map(({ stems, words, flags }) => assignments(stems, words, flags)),
    ],
  };
}

const MAX_ENCODED = 3;

/** `?access_token=x&` in a URL, or in a form: all of it, also what would end a value in a text. */
function parameters(isSecret: (name: string) => boolean): Pattern {
  return {
    // That of the assignments matches: a name of a secret, and "=".
    hint: [],
    mask: (text) =>
      text.replace(/([?&;#])([^=?&;#\s"'\\<>]{1,60})=([^&#\s"\\<>]+)/g, (whole, before: string, name: string) =>
        isSecret(name) ? `${before}${name}=${MASK}` : whole,
      ),
  };
}

/**
 * Percent-encoded text, each component of a URL for itself: what would be masked once it is decoded goes as a whole. Only
 * where something is encoded that may hide a secret from the other patterns: quotes, colons, "=", "@", "\\", "%" itself.
 */
export function encoded(text: (decoded: string) => string): Pattern {
  const hiding = /%(?:2[25]|3[ad]|40|5c)/i;
  let depth = 0;
  const hides = (part: string): boolean => {
    const decoded = decode(part);
    if (decoded === undefined) return false;
    // Nobody encodes four times over for another reason than to hide it.
    if (depth === MAX_ENCODED) return true;
    depth++;
    try {
      return text(decoded) !== decoded;
    } finally {
      depth--;
    }
  };
  return {
    hint: [hiding],
    mask: (whole) => whole.replace(/[^\s?&=#/"<>\\]+/g, (part) => (hiding.test(part) && hides(part) ? MASK : part)),
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** `password=x`, `"token": "x"`, `api_key: x` within a text, also where the text holds escaped JSON. */
function assignments(stems: string, words: string, flags: string): Pattern {
  const value = [
    '"(?:[^"\\\\]|\\\\.)*"?',
    "'(?:[^'\\\\]|\\\\.)*'?",
    '(?<escape>\\\\+)"[\\s\\S]*?(?:(?<!\\\\)\\k<escape>"|$)',
    "[{[][^}\\]]*[}\\]]?",
    "(?:[Bb]earer|[Bb]asic|[Tt]oken|[Dd]igest|[Nn]egotiate)\\s+[^\\s,;&\"'<>\\\\]+",
    "[^\\s,;&\"'<>()\\]}\\\\]+",
  ].join("|");
  const expression = new RegExp(`(${words}${TEXT_KEY_REST})(\\\\*["']?\\s*[:=]\\s*)(${value})`, `g${flags}`);
  return {
    hint: (stems === "" ? [words + KEY_REST] : [stems + STEM_REST, words + KEY_REST]).map(
      (key) => new RegExp(`${key}\\\\*["']?(?:\\s|\\\\+[nrt])*[:=]`, flags),
    ),
    mask: (text) =>
      text.replace(expression, (whole: string, key: string, between: string, found: string, ...rest: unknown[]) => {
        // The key from its beginning: a prefix in the expression would cost quadratic time on long words.
        const at = rest.find((item) => typeof item === "number") as number;
        const name = `${/[\w.-]*$/.exec(text.slice(Math.max(0, at - 40), at))![0]}${key}`;
        if (OPEN_KEYS.test(name) || /^(?:true|false|null|undefined|none)$/i.test(found)) return whole;
        if (/tokens$/i.test(name) && /^\d+$/.test(found)) return whole;
        const quote = /^(?:\\*["'])/.exec(found)?.[0] ?? "";
        return `${key}${between}${quote}${MASK}${quote}`;
      }),
  };
}

/** `apiKey`, `api_key`, `api-key` -> an expression for all its spellings as a word of its own within a key. */
function anyCase(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  if (words.length === 0) return "";
  const body = words.map((word) => [...word].map(eitherCase).join("")).join("[-_. ]?");
  const first = [...words[0]!][0]!;
  return `(?:(?<!(?<!\\\\)[A-Za-z0-9])|(?=${escapeRegExp(first.toUpperCase())})(?<=[a-z0-9]))${body}s?(?![a-z])`;
}

function eitherCase(letter: string): string {
  const lower = letter.toLowerCase();
  const upper = letter.toUpperCase();
  return lower === upper ? escapeRegExp(letter) : `[${lower}${upper}]`;
}

export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** A place where a word can begin: also behind an escape that is still one, in JSON within a text. */
const BEGIN = "(?:(?<![A-Za-z0-9])|(?<=\\\\[nrtbf]))";

/** Secrets that show by their own form. */
export const SHAPES: readonly Pattern[] = [
  // Escapes can hide anything; texts with them are parsed. Changes nothing itself.
  { hint: [/\\[u/]/], mask: (text) => text },
  shape(/-----BEGIN/, "-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"),
  shape(
    /[_.-](?<=(?:gh[pousr]|github_pat|npm|hf|[srp]k_live|[srp]k_test|whsec|shp(?:at|ca|pa|ss)|glpat|sk|xox[a-z]|xapp|pypi|dop_v1)[_-]|(?:SG|ya29)\.)[A-Za-z0-9_-]{8}/,
    "(?:gh[pousr]|github_pat|shp(?:at|ca|pa|ss)|dop_v1|whsec)_[A-Za-z0-9_]{10,}|(?:npm|hf)_[A-Za-z0-9]{20,}|" +
      "[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|(?:glpat|xox[a-z]|xapp|pypi)-[A-Za-z0-9_-]{10,}|" +
      `${BEGIN}sk-[A-Za-z0-9_-]{16,}|${BEGIN}(?:SG|ya29)\\.[\\w-]{8}[\\w.-]{8,}`,
  ),
  shape(/A(?:KIA|SIA)[0-9A-Z]{8}|AIza[\w-]{8}/, "A(?:KIA|SIA)[0-9A-Z]{12,}|AIza[\\w-]{30,}"),
  // Only where a word begins: from each of many "eyJ" in one word to its end would be quadratic.
  shape(/eyJ[\w-]{8}/, "(?<!(?<!\\\\)[\\w-])eyJ[\\w-]{8,}\\.[\\w-]+(?:\\.[\\w-]*)*"),
  {
    hint: [/:\/\/[^\s/?#"]*@/],
    mask: (text) => text.replace(/:\/\/[^\s/?#"'<>]*@/g, `://${MASK}@`),
  },
  {
    hint: [/=(?<=[?&;#](?:key|sig|code|pwd|pass|sid|x-amz-signature|x-goog-signature|signature)=)/i],
    mask: (text) =>
      text.replace(
        /([?&;#](?:key|sig|code|pwd|pass|sid|x-amz-signature|x-goog-signature|signature)=)[^&#\s"'<>\\]+/gi,
        `$1${MASK}`,
      ),
  },
  {
    hint: [/bearer(?:\s|\\[nrt]|%20|\+)+[\w.~+/-]/i],
    mask: (text) =>
      text.replace(/(bearer(?:\s|%20|\+)+)([A-Za-z0-9._~+/=-]{6,})/gi, (whole, scheme: string, value: string) =>
        /^[a-z]{1,19}[.,]?$/.test(value) ? whole : scheme + MASK,
      ),
  },
  {
    hint: [/basic(?:\s|\\[nrt]|%20|\+)+[\w+/-]/i],
    mask: (text) =>
      text.replace(/(basic(?:\s|%20|\+)+)([A-Za-z0-9+/_-]{8,}={0,2})/gi, (whole, scheme: string, value: string) =>
        /[\d=]|.[A-Z]/.test(value) ? scheme + MASK : whole,
      ),
  },
  {
    // "cookie" is a word of the keys.
    hint: [],
    mask: (text) => text.replace(/(\b(?:set-)?cookie:\s*)[^\r\n"\\]+/gi, `$1${MASK}`),
  },
];

function shape(hint: RegExp, source: string): Pattern {
  const expression = new RegExp(source, "g");
  return { hint: [hint], mask: (text) => text.replace(expression, MASK) };
}
