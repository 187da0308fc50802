/**
 * Other spellings of one URI. Rules are written for one spelling, but a host may ask for any that the server takes for
 * the same: `file:///pub/../secret`, `%73ecret`, `FILE:///secret`. So a deny entry counts when it matches the URI as it
 * was sent or in a plain form, and an allow entry only when it matches all of them.
 */

const NONE: readonly string[] = [];
/** Escapes, backslashes, dot segments, doubled slashes, capitals in scheme or authority. */
const unusual = /%|\\|\/\.|[^:/]\/\/|\/{4}|^[^/:]*[A-Z][^/:]*:|^[^/]*:\/\/[^/]*[A-Z]/;
/** What URL parsers of servers take out or fill in: spaces around, tabs within, and all but `file:///`. */
const odd = /[\u0000-\u0020]|^file:(?!\/\/\/)/i;
const start = /^([A-Za-z][A-Za-z0-9+.-]*):(?:(\/\/)([^/?#]*))?/;

/** The plain forms that differ from `uri`; none for a URI that is written plainly. */
export function plainSpellings(uri: string): readonly string[] {
  if (!unusual.test(uri) && !odd.test(uri)) return NONE;
  const text = decodeEscapes(uri).replaceAll("\\", "/");
  const [head, scheme, slashes = "", authority = ""] = start.exec(text) ?? ["", ""];
  const base = head === "" ? "" : `${scheme!.toLowerCase()}:${slashes}`;
  const rest = text.slice(head.length);
  const host = authority.toLowerCase();
  const forms = new Set([base + host + withoutDots(rest)]);
  // Servers with a scheme of their own often take what stands for a host as the first folder: "docs://public/../x".
  if (rest.includes("..")) forms.add(base + withoutDots(authority + rest));
  const parsed = odd.test(uri) ? asParsed(uri) : undefined;
  if (parsed !== undefined && parsed !== uri) {
    const plain = plainSpellings(parsed);
    for (const form of plain.length === 0 ? [parsed] : plain) forms.add(form);
  }
  forms.delete(uri);
  return [...forms];
}

/** As a WHATWG URL parser reads it, escapes taken out; undefined for what it refuses. */
function asParsed(uri: string): string | undefined {
  return URL.canParse(uri) ? decodeEscapes(new URL(uri).href) : undefined;
}

/** Percent escapes that are UTF-8, each run for itself; others stay as they are. */
export function decodeEscapes(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}

/** Resolves "." and ".." and takes empty segments out, as a file system does. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/");
  const end = segments.length - 1;
  for (const [index, segment] of segments.entries()) {
    if (segment === "..") {
      if (kept.length > 1 || (kept.length === 1 && kept[0] !== "")) kept.pop();
    } else if (segment !== "." && (segment !== "" || index === 0)) {
      kept.push(segment);
    }
    // "a/", "a/." and "a/.." name a folder: the slash at the end stays.
    if (index === end && index > 0 && (segment === "" || segment === "." || segment === "..")) kept.push("");
  }
  return kept.join("/");
}
