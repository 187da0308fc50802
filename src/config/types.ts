/**
 * The configuration after loading: validated, expanded, complete. No `?? default` after this. `load.ts` makes it from the
 * file; key names, units and defaults are those of the file (see README).
 */

export interface Timeouts {
  readonly connectMs: number;
  /** 0 = none. */
  readonly requestMs: number;
  /** 0 = none. */
  readonly totalMs: number;
  readonly resetOnProgress: boolean;
  readonly startupMs: number;
  readonly drainMs: number;
}

export interface StdioTarget {
  readonly type: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** Only what the entry itself sets; the safe base is added when the process starts. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

export interface HttpTarget {
  /** "auto": no `type` in the entry; Streamable HTTP first, the old HTTP+SSE where that is refused. */
  readonly type: "http" | "sse" | "auto";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Globs on original names (URIs for resources). `allow: undefined` = all. */
export interface Filter {
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
}

export interface Rename {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
}

export interface ServerConfig {
  /** Key in `mcpServers`. */
  readonly name: string;
  /** Position in the file: the order of everything merged. */
  readonly rank: number;
  readonly target: StdioTarget | HttpTarget;
  /** Made safe already; "" = names as they are. */
  readonly prefix: string;
  readonly tools: Filter;
  readonly prompts: Filter;
  readonly resources: Filter;
  readonly rename: Readonly<Record<string, Rename>>;
  readonly era: "auto" | "legacy" | "modern";
  readonly isolation: "auto" | "shared" | "session";
  readonly timeouts: Timeouts;
  /** undefined = unlimited. */
  readonly concurrency: number | undefined;
  readonly queueLimit: number;
  /** A larger result is cut, with a notice; 0 = none. */
  readonly maxResultBytes: number;
  /** What is done about definitions that are not the pinned ones. */
  readonly pin: PinMode;
  /** Values that must never be shown: expanded from variables, or set in `env` or `headers`. */
  readonly secrets: readonly string[];
}

/** "warn": named in the log and the audit; "enforce": hidden and refused besides, until accepted. */
export type PinMode = "off" | "warn" | "enforce";

export interface PolicyRule {
  /** "ask": the host's user decides, call by call. */
  readonly effect: "allow" | "deny" | "ask";
  readonly servers?: readonly string[];
  readonly clients?: readonly string[];
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
  readonly principals?: readonly string[];
  /** Only of a rule that denies. */
  readonly questions?: readonly (QuestionKind | "*")[];
  /** CEL. */
  readonly when?: string;
  /** Only of a rule that allows. */
  readonly limit?: RateLimit;
  readonly reason?: string;
}

/** What a server can ask of the host. */
export type QuestionKind = "sampling" | "elicitation" | "roots";

export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
  /** Calls beyond `calls`, in each ten spans of `perMs`. */
  readonly burst?: number;
}

export interface PolicyConfig {
  readonly default: "allow" | "deny";
  readonly rules: readonly PolicyRule[];
}

export interface AuditConfig {
  /** Absolute path. */
  readonly file: string;
  readonly payloads: "none" | "redacted" | "full";
  readonly durability: "write" | "fsync";
  readonly onFailure: "deny" | "allow";
  /** Bytes; undefined = never. */
  readonly rotateBytes: number | undefined;
  /** Signed checkpoints in the chain; undefined = none. */
  readonly checkpoints: { readonly every: number; readonly keyFile: string } | undefined;
  readonly redactKeys: readonly string[];
}

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

export interface BrokenServer {
  readonly name: string;
  /** One sentence each: file, key, reason, remedy. */
  readonly problems: readonly string[];
}

export interface Config {
  /** Absolute path of the file it came from. */
  readonly file: string;
  /** Enabled and valid entries in the order of the file. */
  readonly servers: readonly ServerConfig[];
  /** Entries with `disabled: true`. */
  readonly disabled: readonly string[];
  /** Entries with an error: disabled alone, named everywhere. */
  readonly broken: readonly BrokenServer[];
  readonly warnings: readonly string[];
  readonly timeouts: Timeouts;
  readonly names: { readonly maxLength: number; readonly hostPrefix: number; readonly separator: string };
  readonly page: { readonly items: number; readonly bytes: number };
  readonly policy: PolicyConfig;
  readonly audit: AuditConfig | undefined;
  readonly roots: readonly Root[] | undefined;
  /** Largest message taken from a host or a server, in bytes; 0 = no limit. */
  readonly maxMessageBytes: number;
  /** All secrets of all entries, for redaction. */
  readonly secrets: readonly string[];
}
