/**
 * The shape of the file: what may stand where, in which unit, with which default. Checks after expansion and feeds
 * `switchyard schema`. The files that import zod (100 ms) are reached by `await import()` only.
 */
import * as z from "zod";
import {
  defaultMaxResultBytes,
  defaultNames,
  defaultPage,
  defaultPin,
  defaultQueueLimit,
  defaultTimeouts,
  maxMs,
} from "./defaults.ts";
import { type GlobStyle, globProblem } from "./glob.ts";
import { hostKeys, typeSynonyms } from "./hosts.ts";

const optional = z.exactOptional;

/** A check of our own; `problem` answers "reason. Remedy." or undefined. */
function text(problem: (value: string) => string | undefined) {
  return z.string().superRefine((value, context) => {
    const message = problem(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
}

const noNul = (value: string) =>
  value.includes("\0") ? "holds a NUL character, which no program can be given. Remove it." : undefined;
const plain = text(noNul);
const filled = text((value) => (value === "" ? "is empty. Write a value or remove the key." : noNul(value)));
export const globs = (style: GlobStyle) => z.array(text((value) => globProblem(value, style)));

function webUrl(value: string): string | undefined {
  const address = URL.canParse(value) ? new URL(value) : undefined;
  if (address?.protocol === "http:" || address?.protocol === "https:") return undefined;
  return "is not an http or https address. Write it in full, as in https://example.com/mcp.";
}

const ms = (fallback: number, least: number, description: string) =>
  optional(
    z
      .int()
      .min(least)
      .max(maxMs)
      .meta({ description: `Milliseconds. ${description}`, default: fallback }),
  );
const count = (description: string, least = 1, fallback?: number) =>
  optional(
    z
      .int()
      .min(least)
      .meta({ description, ...(fallback === undefined ? {} : { default: fallback }) }),
  );

export const timeoutsSchema = z.strictObject({
  connectMs: ms(defaultTimeouts.connectMs, 1, "Longest time for the start and the handshake of one server."),
  requestMs: ms(
    defaultTimeouts.requestMs,
    0,
    "Longest silence of a server on one request; each progress notification starts it anew. 0 = no limit.",
  ),
  totalMs: ms(defaultTimeouts.totalMs, 0, "Hard end of one request, whether it reports progress or not. 0 = no limit."),
  resetOnProgress: optional(
    z.boolean().meta({
      description: "Whether a progress notification starts requestMs anew.",
      default: defaultTimeouts.resetOnProgress,
    }),
  ),
  startupMs: ms(
    defaultTimeouts.startupMs,
    0,
    "How long the first answers to a host wait for servers that are still starting. 0 = they do not wait.",
  ),
  drainMs: ms(
    defaultTimeouts.drainMs,
    0,
    "At shutdown: how long requests under way may take to finish before the servers are stopped. 0 = no time.",
  ),
});

const filter = (what: string, style: GlobStyle = "flat") =>
  optional(
    z
      .strictObject({
        allow: optional(
          globs(style).meta({ description: `Only ${what} that match one of these globs. Default: all; [] = none.` }),
        ),
        deny: optional(
          globs(style).meta({ description: `No ${what} that match one of these globs, allowed or not.`, default: [] }),
        ),
      })
      .meta({ description: `Which ${what} of this server may be seen and used.` }),
  );

/** Of an entry and of the top level, whose values the entries inherit. */
export const maxResultBytes = count(
  "Largest result passed on, in bytes; of a larger one text is cut, and what cannot be cut is replaced by a note. 0 = no limit.",
  0,
  defaultMaxResultBytes,
);
export const pin = optional(
  z.enum(["off", "warn", "enforce"]).meta({
    description:
      'What is done about definitions that are not those first seen (kept beside this file, in <file>.pins.json): "warn" names them in the log and the audit record, "enforce" hides and refuses them besides, until switchyard pin --accept.',
    default: defaultPin,
  }),
);

const headerValue = text((value) =>
  /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? undefined
    : "holds a character that no header may have. Remove line breaks and control characters.",
);
const headerName = text((value) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value) ? undefined : "is not a header's name. Use letters, digits and hyphens.",
);
const variableName = text((value) =>
  value === "" || /[=\0]/.test(value) ? "is not a variable's name. Remove the equals sign." : undefined,
);

const ignored = Object.fromEntries(
  Object.entries(hostKeys).map(([key, instead]) => [
    key,
    optional(
      z
        .unknown()
        .meta({ description: `A host's key, accepted without effect${instead === "" ? "" : ` (${instead})`}.` }),
    ),
  ]),
);

/** One entry of `mcpServers`. */
export const entrySchema = z.strictObject({
  type: optional(
    z.enum(Object.keys(typeSynonyms) as [string, ...string[]]).meta({
      description:
        'How the server is reached: "stdio" (a program), "http" (Streamable HTTP) or "sse" (the older HTTP+SSE); the others are synonyms. Without it: stdio with "command"; with "url" Streamable HTTP first, then SSE.',
    }),
  ),
  command: optional(
    filled.meta({ description: "Program to start; its stdin and stdout carry the protocol. ~/ is the home folder." }),
  ),
  args: optional(z.array(plain).meta({ description: "Arguments of the program.", default: [] })),
  env: optional(
    z.record(variableName, plain).meta({
      description: "Environment variables of the program, beside a safe base (PATH, HOME, …). Never shown anywhere.",
      default: {},
    }),
  ),
  cwd: optional(
    filled.meta({
      description: "Working directory of the program, relative to the folder of this file. Default: switchyard's own.",
    }),
  ),
  url: optional(text(webUrl).meta({ description: "Address of a server that is reached over HTTP." })),
  headers: optional(
    z.record(headerName, headerValue).meta({
      description: "HTTP headers of every request to this server. Never shown anywhere.",
      default: {},
    }),
  ),
  disabled: optional(z.boolean().meta({ description: "true = not started and not listed.", default: false })),
  prefix: optional(
    z.string().meta({
      description:
        'Goes before every tool and prompt name: <prefix>__<name>. Default: the entry\'s key, made safe. "" = names as they are.',
    }),
  ),
  tools: filter("tools"),
  prompts: filter("prompts"),
  resources: filter("resources (by URI or URI template)", "path"),
  rename: optional(
    z
      .record(
        z.string(),
        z.strictObject({
          name: optional(filled.meta({ description: "Name to show, before the prefix is added." })),
          title: optional(z.string().meta({ description: "Title to show." })),
          description: optional(z.string().meta({ description: "Description to show." })),
        }),
      )
      .meta({
        description: "What to show instead, by original tool name. Filters and policy go on judging the original name.",
        default: {},
      }),
  ),
  era: optional(
    z.enum(["auto", "legacy", "modern"]).meta({
      description:
        'Protocol era of the server: "legacy" = revisions up to 2025-11-25, "modern" = 2026-07-28 (not supported by this version yet).',
      default: "auto",
    }),
  ),
  isolation: optional(
    z.enum(["auto", "shared", "session"]).meta({
      description:
        'Who shares a connection to this server: "session" = each host has its own, "shared" = all use one, "auto" = by era.',
      default: "auto",
    }),
  ),
  timeouts: optional(
    timeoutsSchema.meta({ description: "For this server alone; what is not given is that of the top level." }),
  ),
  concurrency: count("Requests under way to this server at most; the rest wait in order. Default: unlimited."),
  queueLimit: count("Requests waiting at most; one more is refused at once. 0 = none may wait.", 0, defaultQueueLimit),
  maxResultBytes,
  pin,
  ...ignored,
});

export const namesSchema = z.strictObject({
  maxLength: count(
    "Longest name that hosts and models take, what the host puts in front included.",
    1,
    defaultNames.maxLength,
  ),
  hostPrefix: count(
    "Characters that hosts put in front, such as mcp__switchyard__. 0 = none.",
    0,
    defaultNames.hostPrefix,
  ),
  separator: optional(
    text((value) =>
      /^[A-Za-z0-9_-]{1,8}$/.test(value) ? undefined : 'is not 1 to 8 of the characters A-Z a-z 0-9 _ -. Write "__".',
    ).meta({ description: "Between the prefix and the name.", default: defaultNames.separator }),
  ),
});

export const pageSchema = z.strictObject({
  items: count("A page of a merged list has this many items at most.", 1, defaultPage.items),
  bytes: count("A page of a merged list has about this many bytes at most.", 1, defaultPage.bytes),
});
