/** Text for a terminal: what servers write is cut to the width and cannot move the cursor. */

/** One line: escape sequences, control and direction characters gone, runs of white space one blank. */
export function oneLine(text: string): string {
  return plain(text).replace(/\s+/g, " ").trim();
}

/** The same with line breaks and tabs kept. */
export function plain(text: string): string {
  return (
    text
      // CSI and OSC sequences, whole: their letters would stay behind.
      .replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?/g, "")
      .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "")
  );
}

/** At most `width` characters; what was cut ends in "…". */
export function cut(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

/**
 * Columns side by side, two blanks between them. Every column is as wide as its widest cell; the last one is cut to what
 * is left of `width`, but never below 20 characters.
 */
export function table(rows: readonly (readonly string[])[], width: number, indent = ""): string {
  const cells = rows.map((row) => row.map(oneLine));
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...cells.map((row) => [...(row[column] ?? "")].length)),
  );
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, indent.length);
  const last = Math.max(20, width - before);
  const lines = cells.map((row) => {
    const padded = row.map((cell, column) =>
      column === columns - 1 ? cut(cell, last) : cell + " ".repeat(widths[column]! - [...cell].length),
    );
    return `${indent}${padded.join("  ")}`.trimEnd();
  });
  return lines.map((line) => `${line}\n`).join("");
}
