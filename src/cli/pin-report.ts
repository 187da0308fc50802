/** What `pin` found, as text and as data. What servers write is shown with every character that cannot be seen. */

import { KIND_OF } from "../pipeline/pins/book.ts";
import type { Change, Comparison } from "../pipeline/pins/compare.ts";
import { type Difference, differences, type Part } from "../pipeline/pins/diff.ts";
import { findInvisible, mixedAlphabets, reveal } from "../wire/invisible.ts";
import { oneLine } from "./text.ts";

export interface Findings {
  readonly file: string;
  readonly absent: readonly { readonly server: string; readonly reason: string }[];
  readonly comparisons: readonly Comparison[];
  readonly accepted: (change: Change) => boolean;
  /** Whether damaged pins of that server were made anew. */
  readonly renewed: (server: string) => boolean;
}

/** Words on each side of a change that are shown of what stayed. */
const CONTEXT_WORDS = 8;

export function asData({ file, absent, comparisons, accepted, renewed }: Findings, diff: boolean): object {
  return {
    file,
    servers: [
      ...comparisons.map(({ server, damaged, changes, same, unread }) => ({
        name: server,
        ...(damaged === undefined ? {} : { damaged, renewed: renewed(server) }),
        same,
        unread,
        changes: changes.map((change) => ({
          kind: KIND_OF[change.list],
          name: change.name,
          publicName: change.publicName,
          state: change.state,
          accepted: isAccepted(change, accepted, renewed),
          pinned: change.pinned?.sha256,
          current: change.current?.sha256,
          ...(diff ? { diff: differencesOf(change) } : {}),
          unseen: unseenIn(change),
        })),
      })),
      ...absent.map(({ server, reason }) => ({ name: server, absent: reason })),
    ],
  };
}

export function asText(findings: Findings, diff: boolean, redact: (text: string) => string): string {
  const { file, absent, comparisons, accepted, renewed } = findings;
  const lines = [file];
  let open = 0;
  for (const { server, damaged, changes, same, unread } of comparisons) {
    const first = changes.filter(({ state }) => state === "first");
    const counts = [`${same} as pinned`];
    if (first.length > 0) counts.push(`${first.length} pinned now`);
    lines.push(`${oneLine(server)}: ${counts.join(", ")}`);
    if (damaged !== undefined) {
      lines.push(`  DAMAGED ${renewed(server) ? "and made anew" : `(--accept ${server} makes them anew)`}: ${damaged}`);
    }
    for (const list of unread) lines.push(`  ${list}: the list could not be read to its end, and is not pinned`);
    for (const change of changes) {
      const done = isAccepted(change, accepted, renewed);
      if (!done && change.state !== "gone") open++;
      const shown = change.state !== "first" || unseenIn(change).length > 0;
      if (shown) lines.push(...changeLines(change, done, redact), ...(diff ? diffLines(change, redact) : []));
    }
  }
  for (const { server, reason } of absent) lines.push(`${oneLine(server)}: not there: ${redact(reason)}`);
  if (open > 0) {
    const look = diff ? "" : "Look at it with --diff. ";
    lines.push("", `${open} to decide on. ${look}Accept with --accept NAME… or --accept-all.`);
  }
  return `${lines.join("\n")}\n`;
}

function isAccepted(change: Change, accepted: Findings["accepted"], renewed: Findings["renewed"]): boolean {
  return change.state === "first" || accepted(change) || renewed(change.server);
}

function changeLines(change: Change, done: boolean, redact: (text: string) => string): string[] {
  const { server, list, name, publicName, state, pinned, current } = change;
  const shown = list === "instructions" ? "" : ` ${redact(line(name))}`;
  const where = publicName === undefined ? "" : ` (${redact(line(publicName))})`;
  const what = { first: "pinned now", new: "NEW", changed: "CHANGED", gone: "gone" }[state];
  const lines = [`  ${what}${done && state !== "first" ? ", accepted" : ""}: ${KIND_OF[list]}${shown}${where}`];
  if (pinned !== undefined) lines.push(`    pinned sha256 ${pinned.sha256}`);
  if (current !== undefined) lines.push(`    now    sha256 ${current.sha256}`);
  if (!done && state !== "gone") lines.push(`    accept with --accept ${redact(line(`${server}/${name}`))}`);
  for (const { where: path, what: kind, count } of unseenIn(change)) {
    lines.push(`    NOT TO BE SEEN in ${line(path)}: ${kind}${count === 1 ? "" : `, ${count} times`}`);
  }
  return lines;
}

function diffLines(change: Change, redact: (text: string) => string): string[] {
  return differencesOf(change).flatMap(({ path, parts }) => [
    `    ${path === "" ? "text" : line(path)}:`,
    ...redact(parts.map(partText).join(""))
      .split("\n")
      .map((line) => `      ${line}`),
  ]);
}

function partText({ op, text }: Part, index: number, all: readonly Part[]): string {
  if (op === "removed") return `[-${reveal(text)}-]`;
  if (op === "added") return `{+${reveal(text)}+}`;
  const words = text.split(/(?<=\s)/);
  if (words.length <= 2 * CONTEXT_WORDS + 1) return reveal(text);
  const head = index === 0 ? "" : words.slice(0, CONTEXT_WORDS).join("");
  const tail = index === all.length - 1 ? "" : words.slice(-CONTEXT_WORDS).join("");
  return reveal(`${head}… ${tail}`);
}

function differencesOf({ pinned, current }: Change): Difference[] {
  return differences(pinned?.text, current?.text);
}

/** Nothing is taken out of a name that is to be told from another. */
function line(text: string): string {
  return reveal(text).replace(/\s+/g, " ");
}

/** What of a definition as it is now a person does not see, by member. */
function unseenIn({ current }: Change): { where: string; what: string; count: number }[] {
  if (current === undefined) return [];
  return differences(undefined, current.text).flatMap(({ path, parts }) => {
    const text = `${path}\n${parts.map((part) => part.text).join("")}`;
    const kinds = new Map<string, number>();
    for (const { code, what } of findInvisible(text)) {
      const kind = `${code} ${what}`;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    for (const word of mixedAlphabets(text)) kinds.set(`letters of several alphabets in "${word}"`, 1);
    return [...kinds].map(([what, count]) => ({ where: path, what, count }));
  });
}
