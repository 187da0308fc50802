/**
 * What we tell a legacy host about ourselves: capabilities, instructions, identity. Pure functions of what the servers
 * have said so far. Static for the life of the session (spec.md §4.1, §4.7, §4.8).
 */
import { isObject } from "../wire/objects.ts";

/** What one server said in its handshake; `undefined` facts while it is still starting. */
export interface ServerFacts {
  readonly name: string;
  /** Heading in merged instructions: the server's title, else undefined. */
  readonly title: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>> | undefined;
  readonly instructions: string | undefined;
}

const SERVER_TEXT_LIMIT = 2 * 1024;
const TOTAL_TEXT_LIMIT = 16 * 1024;

/**
 * The union. Lists are always offered, with listChanged: servers come and go and we announce it. The rest is offered if
 * a server has it or one is still starting and may have it: a method nobody serves in the end is answered per item.
 */
export function mergeCapabilities(servers: readonly ServerFacts[]): Record<string, unknown> {
  const some = (has: (capabilities: Readonly<Record<string, unknown>>) => boolean): boolean =>
    servers.some((server) => server.capabilities === undefined || has(server.capabilities));
  const subscribe = some((c) => isObject(c.resources) && c.resources.subscribe === true);
  const extensions = mergeUi(servers);
  return {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, ...(subscribe ? { subscribe: true } : {}) },
    ...(some((c) => isObject(c.logging)) ? { logging: {} } : {}),
    ...(some((c) => isObject(c.completions)) ? { completions: {} } : {}),
    ...(extensions === undefined ? {} : { extensions }),
  };
}

/** MCP Apps is passive (no method, no result type of its own), so it may pass; other extensions may not (§4.1). */
function mergeUi(servers: readonly ServerFacts[]): Record<string, unknown> | undefined {
  for (const { capabilities } of servers) {
    const extensions = capabilities?.extensions;
    if (isObject(extensions) && isObject(extensions["io.modelcontextprotocol/ui"])) {
      return { "io.modelcontextprotocol/ui": extensions["io.modelcontextprotocol/ui"] };
    }
  }
  return undefined;
}

/** Cuts at a code point and says so. Lengths are UTF-16 units. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let end = limit;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${text.slice(0, end)}\n[cut: ${text.length - end} more characters]`;
}

/**
 * One server in the configuration: its text verbatim. Several: each under a heading, in the order of the file, with caps.
 * Tool names quoted inside are the server's own; the first paragraph says how they appear here.
 */
export function mergeInstructions(servers: readonly ServerFacts[], separator: string): string | undefined {
  const only = servers.length === 1 ? servers[0] : undefined;
  if (only) return only.instructions;
  const speaking = servers.filter((server) => server.instructions !== undefined && server.instructions.trim() !== "");
  if (speaking.length === 0) return undefined;
  const preamble =
    `This server stands for several others. Their tools and prompts are listed as <server>${separator}<name>; ` +
    "the texts below are theirs and use the names without that prefix.";
  const parts = speaking.map((server) => {
    const heading = server.title === undefined ? server.name : `${server.name} (${server.title})`;
    return `## ${heading}\n${cut(server.instructions!.trim(), SERVER_TEXT_LIMIT)}`;
  });
  return cut([preamble, ...parts].join("\n\n"), TOTAL_TEXT_LIMIT);
}
