/** A mistake in the file, and its sentence. Every message names file, line, key, reason and remedy; never a value. */

/** Keys from the top of the file down; a number is a position in a list. */
export type KeyPath = readonly (string | number)[];

export interface Problem {
  readonly path: KeyPath;
  /** Without a full stop. Never holds a value of the file: it may be a secret. */
  readonly reason: string;
  /** A sentence. */
  readonly remedy: string;
}

/** `mcpServers.files.args[0]`, `mcpServers["my server"].url`; the whole file is "(top level)". */
function pathText(path: KeyPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text === "" ? "(top level)" : text;
}

/** `/srv/switchyard.json:7: mcpServers.files.comand: unknown key. Did you mean "command"?` */
export function sentence(file: string, line: number | undefined, problem: Problem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return `${place}: ${pathText(problem.path)}: ${problem.reason}. ${problem.remedy}`;
}
