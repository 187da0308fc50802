// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the syntax of the file that is spoken of.
/**
 * What hosts are known to write into an entry that means nothing here, or is called differently. Looked up at Claude
 * Desktop, Claude Code, Cursor, VS Code, Cline, Roo, Windsurf, Copilot CLI and Gemini CLI.
 */

/** Accepted without effect; the text says what to do instead ("" = nothing). */
export const hostKeys: Readonly<Record<string, string>> = {
  alwaysAllow: "approval stays with the host",
  autoApprove: "approval stays with the host",
  autoApproveTools: "approval stays with the host",
  trust: "approval stays with the host",
  timeout: 'use "timeouts": { "requestMs": … }, in milliseconds',
  networkTimeout: 'use "timeouts": { "connectMs": … }, in milliseconds',
  initTimeout: 'use "timeouts": { "connectMs": … }, in milliseconds',
  envFile: 'the file is not read: set the variables and write them into "env" as ${NAME}',
  disabledTools: 'the tools stay visible: use "tools": { "deny": […] }',
  headersHelper: 'it is not run: write "headers" with ${NAME}',
  oauth: 'logging in is not supported by this version: write "headers" with ${NAME}',
  auth: 'logging in is not supported by this version: write "headers" with ${NAME}',
  authProviderType: 'logging in is not supported by this version: write "headers" with ${NAME}',
  sandbox: "the server is not confined",
  sandboxEnabled: "the server is not confined",
  watchPaths: "",
  dev: "",
  gallery: "",
  version: "",
  name: "",
  title: "",
  description: "",
  icon: "",
  icons: "",
  iconPath: "",
  id: "",
  displayName: "",
  registry: "",
  registryUrl: "",
  source: "",
  tags: "",
  notes: "",
  alwaysLoad: "",
};

/** Refused, because ignoring them would change what the entry does; the text is the remedy. */
export const foreignKeys: Readonly<Record<string, string>> = {
  serverUrl: 'Did you mean "url"?',
  httpUrl: 'Did you mean "url"?',
  endpoint: 'Did you mean "url"?',
  uri: 'Did you mean "url"?',
  environment: 'Did you mean "env"?',
  transport: 'Did you mean "type"?',
  transportType: 'Did you mean "type"?',
  cmd: 'Did you mean "command"?',
  arguments: 'Did you mean "args"?',
  workingDirectory: 'Did you mean "cwd"?',
  enabled: 'Did you mean "disabled"?',
  includeTools: 'Did you mean "tools": { "allow": […] }?',
  enabledTools: 'Did you mean "tools": { "allow": […] }?',
  allowedTools: 'Did you mean "tools": { "allow": […] }?',
  excludeTools: 'Did you mean "tools": { "deny": […] }?',
};

/** What hosts write as `type`, and what it means here. */
export const typeSynonyms: Readonly<Record<string, "stdio" | "http" | "sse">> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  sse: "sse",
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
  "http-stream": "http",
};

/** Keys of a host's file that are not Switchyard's; the text is the remedy. */
export const foreignTopKeys: Readonly<Record<string, string>> = {
  servers: 'VS Code calls it "servers": rename the key to "mcpServers".',
  "mcp.servers": 'Rename the key to "mcpServers".',
  mcp: 'Put its servers under "mcpServers".',
  inputs: "VS Code asks its user for these: set environment variables and write ${NAME}.",
};
