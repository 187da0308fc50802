/** The key `policy` of the file. Part of `schema.ts`, with the same rule about importing it. */
import * as z from "zod";
import { maxPerMs } from "./defaults.ts";
import type { GlobStyle } from "./glob.ts";
import { globs } from "./schema.ts";

const optional = z.exactOptional;

/** A check of our own in words: "reason. Remedy." */
function refuse(context: z.RefinementCtx, message: string, path: string[] = []): void {
  context.addIssue({ code: "custom", message, path });
}

const someGlobs = (description: string, style: GlobStyle = "flat") =>
  optional(
    globs(style)
      .superRefine((list, context) => {
        if (list.length === 0) {
          refuse(context, "is an empty list and matches nothing. Name a glob, or remove the key.");
        }
      })
      .meta({ description }),
  );

const limit = z.strictObject({
  calls: z.int().min(1).meta({ description: "Calls allowed in each span of perMs." }),
  perMs: z.int().min(1).max(maxPerMs).meta({ description: "Milliseconds. The span, from the first call on." }),
  burst: optional(z.int().min(1).meta({ description: "Calls allowed beyond that, in each ten spans. Default: none." })),
});

const NAMED = ["tools", "prompts", "resources", "questions"] as const;

const rule = z
  .strictObject({
    effect: z.enum(["allow", "deny", "ask"]).meta({
      description:
        "Any matching deny wins, then any matching ask (the host's user is asked before the call goes out), then any matching allow.",
    }),
    servers: someGlobs("Globs on the keys of mcpServers. Default: all servers."),
    clients: someGlobs("Globs on the name that the host gives for itself. Default: all hosts."),
    principals: someGlobs("Globs on who authenticated. On stdio nobody does, and only * matches. Default: everybody."),
    tools: someGlobs("Globs on original tool names."),
    prompts: someGlobs("Globs on original prompt names."),
    resources: someGlobs("Globs on resource URIs.", "path"),
    questions: optional(
      z
        .array(z.enum(["sampling", "elicitation", "roots", "*"]))
        .min(1)
        .meta({
          description: "Requests of servers to the host that a deny rule forbids. They are allowed without one.",
        }),
    ),
    when: optional(
      z.string().min(1).meta({
        description:
          "A condition in CEL over server, tool (or prompt, or resource), args, client and principal: the rule holds where it is true. An error in it denies.",
      }),
    ),
    limit: optional(limit.meta({ description: "How often an allow rule lets one caller use one item." })),
    reason: optional(z.string().meta({ description: "Why, for the audit record." })),
  })
  .superRefine((value, context) => {
    if (NAMED.every((key) => value[key] === undefined)) {
      refuse(
        context,
        'the rule names none of "tools", "prompts", "resources" and "questions", so it would never match. Add one, as in "tools": ["*"].',
      );
    }
    if (value.questions !== undefined && value.effect !== "deny") {
      const message =
        'only a deny rule can name questions, since they are allowed where no rule denies them. Remove the key, or write "effect": "deny".';
      refuse(context, message, ["questions"]);
    }
    if (value.limit !== undefined && value.effect !== "allow") {
      refuse(context, 'only an allow rule can have a limit. Remove it, or write "effect": "allow".', ["limit"]);
    }
  });

export const policySchema = z.strictObject({
  default: optional(
    z.enum(["allow", "deny"]).meta({
      description: "What holds for tools, prompts and resources where no rule matches.",
      default: "allow",
    }),
  ),
  rules: optional(
    z
      .array(rule)
      .meta({ description: "Judged on server, kind and original name, never on the public name.", default: [] }),
  ),
});
