/**
 * The environment of a child: a safe base plus what its own entry sets, never the whole of ours, because ours holds the
 * secrets of every other entry (field report J10). Pure; `stdio.ts` calls it before each start.
 *
 * The base, if set in our own environment:
 *  - POSIX: PATH HOME LOGNAME USER SHELL TERM LANG LC_* TZ TMPDIR TMP TEMP XDG_*
 *  - Windows: those and APPDATA LOCALAPPDATA PROGRAMDATA SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERNAME
 *    USERPROFILE USERDOMAIN COMPUTERNAME HOMEDRIVE HOMEPATH PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES
 *    PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS OS
 *  - network, in both spellings (field report L8): HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY, and NODE_EXTRA_CA_CERTS
 *    SSL_CERT_FILE SSL_CERT_DIR
 *  - SWITCHYARD_CHAIN, by which a Switchyard below us knows what is served above it (loop.ts)
 * A value that begins with "()" is an exported shell function and is left out.
 */

const NETWORK = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"];

const COMMON: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "LOGNAME", "USER", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "TMP", "TEMP"],
  ...NETWORK,
  ...NETWORK.map((name) => name.toLowerCase()),
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  "SWITCHYARD_CHAIN",
]);

const WINDOWS: ReadonlySet<string> = new Set([
  ...["APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT"],
  ...["USERNAME", "USERPROFILE", "USERDOMAIN", "COMPUTERNAME", "HOMEDRIVE", "HOMEPATH"],
  ...["PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES"],
  ...["PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "OS"],
]);

const PREFIXES = ["LC_", "XDG_"];

function isSafe(name: string, windows: boolean): boolean {
  // Windows spells `Path` and `SystemRoot` as it likes; elsewhere the case of a name counts.
  const key = windows ? name.toUpperCase() : name;
  return COMMON.has(key) || (windows && WINDOWS.has(key)) || PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** `entry` wins over the base. On Windows two names that differ only in case are one variable: the entry's is kept. */
export function childEnvironment(
  base: NodeJS.ProcessEnv,
  entry: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const windows = platform === "win32";
  const own = new Set(windows ? Object.keys(entry).map((name) => name.toUpperCase()) : []);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    if (value === undefined || value.startsWith("()") || !isSafe(name, windows)) continue;
    if (own.has(name.toUpperCase())) continue;
    result[name] = value;
  }
  return Object.assign(result, entry);
}

/** A variable by name; on Windows in whatever case it is spelt. Returns the key it has there, too. */
export function lookUp(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  platform: NodeJS.Platform = process.platform,
): { key: string; value: string | undefined } {
  if (platform === "win32") {
    for (const [key, value] of Object.entries(env)) {
      if (key.toUpperCase() === name) return { key, value };
    }
  }
  return { key: name, value: env[name] };
}
