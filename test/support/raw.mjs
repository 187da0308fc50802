// Raw JSON text without parsing it: what a fidelity test compares. No numbers are read, no keys re-ordered.

function skipSpace(text, at) {
  while (at < text.length && " \t\r\n".includes(text[at])) at++;
  return at;
}

function skipString(text, at) {
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) throw new SyntaxError("unterminated string");
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

function skipValue(text, at) {
  const first = text[at];
  if (first === '"') return skipString(text, at);
  if (first !== "{" && first !== "[") {
    while (at < text.length && !" \t\r\n,]}".includes(text[at])) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    const c = text[at];
    if (c === undefined) throw new SyntaxError("unterminated value");
    if (c === '"') {
      at = skipString(text, at);
      continue;
    }
    if (c === "{" || c === "[") depth++;
    if (c === "}" || c === "]") depth--;
    at++;
    if (depth === 0) return at;
  }
}

/** The members of an object ([key, raw value] in order), or the elements of an array ([index, raw value]). */
export function rawEntries(text) {
  const entries = [];
  let at = skipSpace(text, 0);
  const object = text[at] === "{";
  if (!object && text[at] !== "[") return entries;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== "}" && text[at] !== "]") {
    let key = entries.length;
    if (object) {
      const end = skipString(text, at);
      key = JSON.parse(text.slice(at, end));
      at = skipSpace(text, skipSpace(text, end) + 1);
    }
    const end = skipValue(text, at);
    entries.push([key, text.slice(at, end)]);
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return entries;
}

/** Raw text at a path of keys and indices; undefined where there is nothing. Of equal keys the last one counts. */
export function rawAt(text, ...path) {
  let value = text;
  for (const step of path) {
    if (value === undefined) return undefined;
    value = rawEntries(value).findLast(([key]) => key === step)?.[1];
  }
  return value;
}
