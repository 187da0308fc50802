/** The clients of the SDK's two generations, as a host would use them, behind one small interface. */
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CAPABILITIES, type Entry } from "./peers.ts";

const INFO = { name: "sdk-host", version: "1.0.0" };

interface CallOptions {
  onprogress?: (progress: { progress: number; total?: number | undefined }) => void;
  signal?: AbortSignal;
}

/** What both clients have under the same names. */
interface Common {
  getServerCapabilities(): object | undefined;
  getInstructions(): string | undefined;
  listTools(): Promise<{ tools: { name: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  listResources(): Promise<{ resources: object[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: object[] }>;
  readResource(params: { uri: string }): Promise<object>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<object>;
  complete(params: {
    ref: { type: "ref/prompt"; name: string };
    argument: { name: string; value: string };
    context?: { arguments: Record<string, string> };
  }): Promise<object>;
  setLoggingLevel(level: "debug"): Promise<object>;
  subscribeResource(params: { uri: string }): Promise<object>;
  close(): Promise<void>;
}

export interface SdkHost extends AsyncDisposable {
  readonly client: Common;
  call(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<object>;
  /** What the server asked: method and params. */
  readonly questions: { method: string; params: unknown }[];
  /** Resources that were updated, and log messages. */
  readonly updated: string[];
  readonly logged: unknown[];
}

export type Connect = (entry: Entry) => Promise<SdkHost>;

const ANSWERS = {
  roots: { roots: [{ uri: "file:///work", name: "work" }] },
  sampling: { role: "assistant" as const, content: { type: "text" as const, text: "sampled" }, model: "test" },
  elicitation: { action: "accept" as const, content: { name: "Ada", check: true } },
};

/** Both take a process's whole environment from here. */
function environment(entry: Entry): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", ...entry.env };
}

export const connectV1: Connect = async (entry) => {
  const seen = { questions: [] as SdkHost["questions"], updated: [] as string[], logged: [] as unknown[] };
  const client = new ClientV1(INFO, { capabilities: CAPABILITIES });
  client.setRequestHandler(ListRootsRequestSchema, () => ANSWERS.roots);
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) => {
    seen.questions.push({ method, params });
    return ANSWERS.sampling;
  });
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    seen.questions.push({ method, params });
    return ANSWERS.elicitation;
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void seen.updated.push(params.uri));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void seen.logged.push(params));
  await client.connect(
    new StdioV1({ command: entry.command, args: entry.args, env: environment(entry), stderr: "ignore" }),
  );
  return {
    client: client as Common,
    call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
    ...seen,
    [Symbol.asyncDispose]: () => client.close(),
  };
};

export const connectV2 =
  (mode: "legacy" | "auto"): Connect =>
  async (entry) => {
    const seen = { questions: [] as SdkHost["questions"], updated: [] as string[], logged: [] as unknown[] };
    const client = new ClientV2(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
    client.setRequestHandler("roots/list", () => ANSWERS.roots);
    client.setRequestHandler("sampling/createMessage", ({ method, params }) => {
      seen.questions.push({ method, params });
      return ANSWERS.sampling;
    });
    client.setRequestHandler("elicitation/create", ({ method, params }) => {
      seen.questions.push({ method, params });
      return ANSWERS.elicitation;
    });
    client.setNotificationHandler(
      "notifications/resources/updated",
      ({ params }) => void seen.updated.push(params.uri),
    );
    client.setNotificationHandler("notifications/message", ({ params }) => void seen.logged.push(params));
    await client.connect(
      new StdioV2({ command: entry.command, args: entry.args, env: environment(entry), stderr: "ignore" }),
    );
    return {
      client: client as Common,
      call: (name, args, options) => client.callTool({ name, arguments: args }, options),
      ...seen,
      [Symbol.asyncDispose]: () => client.close(),
    };
  };
