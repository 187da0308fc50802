/** The keys of the file that are no server: the second half of `schema.ts`, with the same rule about importing it. */
import * as z from "zod";
import { defaultCheckpointEvery } from "./defaults.ts";
import { entrySchema, maxResultBytes, namesSchema, pageSchema, pin, timeoutsSchema } from "./schema.ts";
import { policySchema } from "./schema-policy.ts";

const optional = z.exactOptional;

const auditSchema = z.strictObject({
  file: z.string().min(1).meta({
    description:
      "Where the records go, one JSON object a line; relative to the folder of this file. ~/ is the home folder.",
  }),
  payloads: optional(
    z.enum(["none", "redacted", "full"]).meta({
      description: "Whether arguments and results are kept: not at all, without secrets, or as they are.",
      default: "redacted",
    }),
  ),
  durability: optional(
    z.enum(["write", "fsync"]).meta({
      description: 'When a record counts as kept: handed to the system ("write") or on the disk ("fsync").',
      default: "write",
    }),
  ),
  onFailure: optional(
    z.enum(["deny", "allow"]).meta({
      description:
        'What happens to a request whose record cannot be kept: refused ("deny") or answered all the same ("allow").',
      default: "deny",
    }),
  ),
  rotateBytes: optional(
    z.int().min(1).meta({
      description:
        "Size in bytes at which the file is set aside, under its name with the number of its last record, and a new one begun. Default: never.",
    }),
  ),
  signingKeyFile: optional(
    z.string().min(1).meta({
      description:
        "File with an Ed25519 private key (PEM) that signs checkpoints of the chain; relative to the folder of this file. Default: none are written.",
    }),
  ),
  checkpointEvery: optional(
    z.int().min(1).meta({
      description: "A signed checkpoint after so many records. Needs signingKeyFile.",
      default: defaultCheckpointEvery,
    }),
  ),
  redactKeys: optional(
    z
      .array(z.string().min(1))
      .meta({ description: "Further keys whose values are hidden in arguments and results.", default: [] }),
  ),
});

const rootSchema = z.strictObject({
  uri: z
    .string()
    .superRefine((uri, context) => {
      if (URL.canParse(uri) && new URL(uri).protocol === "file:") return;
      context.addIssue({ code: "custom", message: "is not a file URI. Write it in full, as in file:///srv/docs." });
    })
    .meta({ description: "A folder or file, as a file:// URI." }),
  name: optional(z.string().meta({ description: "Name to show." })),
});

const httpUrl = z.url({ protocol: /^https?$/ });

const authSchema = z
  .strictObject({
    tokens: optional(
      z
        .array(
          z.strictObject({
            name: z
              .string()
              .min(1)
              .meta({ description: "Who this token belongs to, for policy and the audit record." }),
            sha256: z
              .string()
              .regex(/^[0-9a-fA-F]{64}$/)
              .meta({ description: "SHA-256 of the token, 64 hex digits; the token itself is not kept." }),
          }),
        )
        .min(1)
        .meta({ description: "Tokens that hosts may present." }),
    ),
    issuer: optional(httpUrl.meta({ description: "Authorization server whose access tokens are accepted." })),
    audience: optional(z.string().min(1).meta({ description: "Audience that an access token must be for." })),
    jwksUrl: optional(
      httpUrl.meta({ description: "Where the issuer's keys are. Default: found through its metadata." }),
    ),
    requiredScopes: optional(
      z.array(z.string().min(1)).meta({ description: "Scopes that an access token must have.", default: [] }),
    ),
  })
  .superRefine((auth, context) => {
    const byIssuer = auth.issuer !== undefined && auth.audience !== undefined;
    if ((auth.tokens !== undefined) !== byIssuer) return;
    const message = byIssuer
      ? 'has both "tokens" and "issuer". Keep one of the two.'
      : 'has neither "tokens" nor "issuer" with "audience". Add one of the two.';
    context.addIssue({ code: "custom", message });
  });

const httpSchema = z.strictObject({
  allowedHosts: optional(
    z.array(z.string().min(1)).meta({ description: "Host headers that are answered. Default: loopback." }),
  ),
  allowedOrigins: optional(
    z.array(z.string().min(1)).meta({ description: "Origin headers that are answered. Default: loopback." }),
  ),
  maxBodyBytes: optional(z.int().min(1).meta({ description: "Largest request body, in bytes." })),
  sessionIdleMs: optional(
    z.int().min(0).meta({ description: "Milliseconds after which a session that is not used ends. 0 = never." }),
  ),
  maxSessions: optional(z.int().min(1).meta({ description: "Sessions at one time at most." })),
  auth: optional(authSchema.meta({ description: "Who may connect: fixed tokens, or access tokens of an issuer." })),
});

/** Everything but the servers. */
const topShape = {
  $schema: optional(z.string().meta({ description: "Address of this schema, for editors." })),
  timeouts: optional(timeoutsSchema.meta({ description: "Time limits; an entry may have its own." })),
  names: optional(namesSchema.meta({ description: "How public names are made." })),
  page: optional(pageSchema.meta({ description: "How merged lists are cut into pages." })),
  policy: optional(policySchema.meta({ description: "What may be seen and used. Default: everything." })),
  audit: optional(auditSchema.meta({ description: "The audit record. Default: none is kept." })),
  roots: optional(
    z.array(rootSchema).meta({ description: "Roots offered to servers when the host offers none. Default: none." }),
  ),
  http: optional(httpSchema.meta({ description: "For serve --http. Has no effect in this version." })),
  maxResultBytes,
  pin,
  maxMessageBytes: optional(
    z.int().min(0).meta({
      description: "Largest message taken from a host or a server, in bytes; a larger one fails alone. 0 = no limit.",
      default: 0,
    }),
  ),
};

export const topSchema = z.strictObject(topShape);

/** The whole file, for the JSON Schema; loading checks entries one by one. */
export const fileSchema = z.strictObject({
  ...topShape,
  mcpServers: z.record(z.string(), entrySchema).meta({
    description: "The servers, by a name of your choice, in the form of Claude Desktop, Cursor and Claude Code.",
  }),
});
