/**
 * What of one entry is a secret: every value under `env` and `headers`, user and query of the URL, and tokens written
 * into arguments. Expanded variables are added by `expand.ts`. When in doubt it is one: the price is a "[redacted]".
 */
import { isOpenName } from "./expand.ts";

const secretName = /token|secret|passw|passphrase|api[-_]?key|credential|private|cookie|auth|pin\b/i;
const openHeader = /^(accept|accept-.*|content-type|user-agent|mcp-protocol-version|cache-control|connection)$/i;
/** Plain words that are a setting's value. As secrets they would blank out half of every message. */
const openWord =
  /^(true|false|null|none|auto|default|yes|enabled?|disabled?|https?|stdio|streamable-http|json|text|utf-?8|production|development|staging|test|debug|info|warn|warning|error|trace|silent|verbose|localhost|127\.0\.0\.1|0\.0\.0\.0)$/i;
/** A port, mostly; a secret only if what it is called says so. */
const shortNumber = /^\d{1,5}$/;

/** Of an entry after expansion, valid or not. */
export function secretsOfEntry(entry: unknown): string[] {
  if (typeof entry !== "object" || entry === null) return [];
  const { env, headers, url, args, command } = entry as Record<string, unknown>;
  return [
    ...valuesOf(env).flatMap(([name, value]) => (isOpenName(name) ? [] : named(name, value))),
    ...valuesOf(headers).flatMap(([name, value]) => (openHeader.test(name) ? [] : ofHeader(name, value))),
    ...(typeof url === "string" ? ofUrl(url) : []),
    ...ofArguments([command, ...(Array.isArray(args) ? args : [])].filter((item) => typeof item === "string")),
  ];
}

/** Values that are too short to be told from other text are left to the redactor. */
function named(name: string, value: string): string[] {
  return openWord.test(value) || (shortNumber.test(value) && !secretName.test(name)) ? [] : [value];
}

function ofHeader(name: string, value: string): string[] {
  const [, scheme, rest] = /^(Bearer|Basic|Token|ApiKey|Digest)\s+(\S.*)$/i.exec(value.trim()) ?? [];
  if (rest === undefined) return named(name, value);
  const secrets = [value, rest];
  if (scheme?.toLowerCase() === "basic") {
    const pair = Buffer.from(rest, "base64").toString("utf8");
    secrets.push(pair, pair.slice(pair.indexOf(":") + 1));
  }
  return secrets;
}

function ofUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  const user = decode(url.username);
  const password = decode(url.password);
  const secrets = [...url.searchParams].flatMap(([name, value]) => named(name, value));
  // As typed, too: the parser changes what it decodes ("+" is a space).
  for (const pair of url.search.slice(1).split("&")) {
    const at = pair.indexOf("=");
    secrets.push(...named(pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)));
  }
  if (user !== "") secrets.push(user);
  // `user:password` so that its base64 form, the Basic header, is known too.
  if (password !== "") secrets.push(password, `${user}:${password}`);
  // Some services put the key into the path (…/s/<key>/mcp); nothing else there is that long.
  secrets.push(...url.pathname.split("/").filter((part) => part.length >= 32 && /\d/.test(part)));
  return secrets;
}

/** `--api-key=x`, `--token x`, `--header "Authorization: Bearer x"`, and URLs. */
function ofArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const secrets: string[] = [];
    const flag = args[index - 1];
    if (flag?.startsWith("-") && !flag.includes("=") && secretName.test(flag) && !arg.startsWith("-"))
      secrets.push(arg);
    const [, name, value] = /^-{0,2}([\w.-]+)=(.+)$/s.exec(arg) ?? [];
    if (name !== undefined && value !== undefined && secretName.test(name)) secrets.push(value);
    const [, header, content] = /^([\w-]+):\s*(\S.*)$/s.exec(arg) ?? [];
    if (header !== undefined && content !== undefined && secretName.test(header))
      secrets.push(...ofHeader(header, content));
    if (/^[a-z][a-z+.-]*:\/\//i.test(arg)) secrets.push(...ofUrl(arg));
    return secrets;
  });
}

function valuesOf(value: unknown): [string, string][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    typeof item === "string" ? [[name, item] as [string, string]] : [],
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
