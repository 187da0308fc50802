/** Request ids and progress tokens as map keys: 1 and "1" stay apart, 0 is an id like any other. */

/** A key for the raw JSON text of an id or token. Strings that differ only in their escapes are the same id. */
export function idKey(text: string): string {
  if (text.charCodeAt(0) === 0x22) return text.includes("\\") ? `"${JSON.parse(text) as string}"` : text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : text;
}
