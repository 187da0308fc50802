/** What the host's user is shown before a call goes out: who gets it, which item, what is sent. A form (spec.md §1.14). */
import type { Exchange, Judged } from "../../exchange.ts";
import type { Frame } from "../../wire/frame.ts";
import { shownJson, shownName } from "./shown.ts";

export interface QuestionParams {
  readonly message: string;
  readonly requestedSchema: object;
}

const MAX_ARGUMENTS = 2_000;
const MAX_REASON = 500;

/** `why`: the reason that the rule gives. */
export function question(exchange: Judged, why: string | undefined): QuestionParams {
  const { target, row, trail, frame } = exchange;
  const server = trail.server ?? exchange.server ?? "";
  const item = target.type === "item" ? target : undefined;
  const what = item === undefined ? row.method : item.kind;
  const lines = [`Do you approve this? It is sent only if you accept.`, "", `server: ${shownName(server)}`];
  if (item === undefined) lines.push(`request: ${row.method}`);
  else lines.push(`${item.kind}: ${shownName(item.original)}`);
  if (item !== undefined && row.method !== ASKED[item.kind]) lines.push(`request: ${row.method}`);
  const sent = sentText(frame, exchange);
  if (sent !== undefined) lines.push(`arguments: ${shownJson(sent, MAX_ARGUMENTS)}`);
  if (why !== undefined) lines.push("", `why you are asked: ${shownName(why, MAX_REASON)}`);
  return {
    message: lines.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        remember: {
          type: "boolean",
          title: "Remember for this session",
          description: `Do not ask again for this ${what} until the session ends, whatever is sent to it`,
          default: false,
        },
      },
    },
  };
}

const ASKED = { tool: "tools/call", prompt: "prompts/get", resource: "resources/read" } as const;

/** JSON text of what a person must see beside the name; undefined if there is nothing. */
function sentText(frame: Frame, { row }: Exchange): string | undefined {
  if (row.method === "tools/call" || row.method === "prompts/get") return frame.text("arguments");
  if (row.route === "host") return frame.bodyText;
  return undefined;
}
