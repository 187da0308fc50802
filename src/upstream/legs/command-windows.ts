/**
 * Windows command lines, as pure functions: `.cmd` and `.bat` files (npx, npm, uvx …) can be run only by the command
 * processor, which has its own idea of quoting (field report L1). Node refuses to start them directly (CVE-2024-27980).
 *
 * The rules are those of the Rust standard library (`make_bat_command_line`, the remedy of CVE-2024-24576): everything
 * that is not known to be harmless goes into double quotes, a quote inside is doubled, and `%` is followed by an
 * expansion that is always empty (`%cd:~,%`), because cmd expands variables inside quotes, too, and knows no escape for
 * it. Doubling keeps every quote paired through both parses: cmd's own, and that of the batch file's `%*`.
 */

/** ASCII that cmd and the C runtime both take as it is. */
const HARMLESS = /^[A-Za-z0-9#$*+\-./:?@\\_\u00a0-\u{10ffff}]+$/u;

export function isBatchFile(file: string): boolean {
  return /\.(?:cmd|bat)$/i.test(file);
}

/** One argument for a batch file. A line break or NUL cannot be passed at all: returns undefined. */
export function quoteForBatch(argument: string): string | undefined {
  if (/[\0\r\n]/.test(argument)) return undefined;
  // A trailing backslash would escape the quote of a batch file that writes "%~1".
  if (HARMLESS.test(argument) && !argument.endsWith("\\")) return argument;
  const inner = argument
    // Backslashes count only in front of a quote: there, double them; then double the quote.
    .replace(/(\\*)"/g, '$1$1""')
    .replace(/(\\+)$/, "$1$1")
    .replaceAll("%", "%%cd:~,%");
  return `"${inner}"`;
}

/**
 * Arguments of cmd.exe, to be passed verbatim. /d: no AutoRun commands; /e:ON: needed for `%cd:~,%`; /v:OFF: `!` means
 * nothing; /s with the outer quotes: exactly those are taken off and the rest is run.
 */
export function batchCommandLine(file: string, args: readonly string[]): string[] | undefined {
  const quoted: string[] = [];
  for (const argument of args) {
    const text = quoteForBatch(argument);
    if (text === undefined) return undefined;
    quoted.push(text);
  }
  const script = `"${file.replaceAll("/", "\\").replaceAll("%", "%%cd:~,%")}"`;
  return ["/e:ON", "/v:OFF", "/d", "/s", "/c", `"${[script, ...quoted].join(" ")}"`];
}

/** Names to try for a command, in the order of cmd.exe: as it is if it has a known extension, then with each of PATHEXT. */
export function executableNames(command: string, pathext: string | undefined): string[] {
  const extensions = (pathext || ".COM;.EXE;.BAT;.CMD").split(";").filter((extension) => extension.startsWith("."));
  const lower = command.toLowerCase();
  const names = extensions.map((extension) => command + extension.toLowerCase());
  return extensions.some((extension) => lower.endsWith(extension.toLowerCase())) ? [command, ...names] : names;
}
