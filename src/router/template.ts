/**
 * Does a URI come from an RFC 6570 template? Asked to find the server that owns an unlisted URI, so it is lenient with
 * values that were not escaped as the RFC wants, and tells how specific the template is.
 *
 * Templates come from servers: matching is a walk over a set of places in the template, linear in the URI, because a
 * regular expression could be made to run for hours by `{+a}{+b}{+c}…`.
 */

export interface Template {
  /** Characters outside of expressions: of two templates that match, the one with more is the more specific. */
  readonly literals: number;
  matches(uri: string): boolean;
}

/** One place in a template: a character; any number of characters but some; or a jump that may be taken. */
type Step = { readonly char: number } | { readonly not: string } | { readonly jump: number };

const MAX_TEMPLATE = 4096;
const MAX_EXPRESSIONS = 32;
const MAX_URI = 8192;
const EXPRESSION = /^([+#./;?&]?)((?:[A-Za-z0-9_.%]+(?:\*|:[0-9]{1,4})?)(?:,[A-Za-z0-9_.%]+(?:\*|:[0-9]{1,4})?)*)$/;

/** What each operator puts before its values, and what a value cannot hold. */
const OPERATORS: Readonly<Record<string, { readonly first: string; readonly not: string }>> = {
  "": { first: "", not: "/?#" },
  "+": { first: "", not: "" },
  "#": { first: "#", not: "" },
  ".": { first: ".", not: "/?#" },
  "/": { first: "/", not: "/?#" },
  ";": { first: ";", not: "/?#" },
  "?": { first: "?", not: "#" },
  "&": { first: "&", not: "#" },
};

/** A text that is no template matches nothing but itself. */
export function compileTemplate(text: string): Template {
  const compiled = compile(text);
  if (compiled === undefined) return { literals: text.length, matches: (uri) => uri === text };
  const { steps, literals, prefix } = compiled;
  return {
    literals,
    matches: (uri) => uri.length <= MAX_URI && uri.startsWith(prefix) && run(steps, uri, prefix.length),
  };
}

function compile(text: string): { steps: Step[]; literals: number; prefix: string } | undefined {
  if (text.length > MAX_TEMPLATE) return undefined;
  const steps: Step[] = [];
  let literals = 0;
  let expressions = 0;
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf("{", at);
    const literal = text.slice(at, open < 0 ? text.length : open);
    if (literal.includes("}")) return undefined;
    for (let i = 0; i < literal.length; i++) steps.push({ char: literal.charCodeAt(i) });
    literals += literal.length;
    if (open < 0) break;
    const close = text.indexOf("}", open);
    const expression = close < 0 ? null : EXPRESSION.exec(text.slice(open + 1, close));
    if (expression === null || ++expressions > MAX_EXPRESSIONS) return undefined;
    pushExpression(steps, expression[1]!, expression[2]!);
    at = close + 1;
  }
  const brace = text.indexOf("{");
  return { steps, literals, prefix: brace < 0 ? text : text.slice(0, brace) };
}

function pushExpression(steps: Step[], operator: string, variables: string): void {
  const { first, not } = OPERATORS[operator]!;
  if (first === "") {
    steps.push({ not });
    return;
  }
  // `{/a,b}` gives at most two segments, `{/a*}` any number; the others begin once. None of it if nothing is defined.
  const exploded = operator === "/" && variables.includes("*");
  const groups = operator === "/" && !exploded ? variables.split(",").length : 1;
  const end = steps.length + 3 * groups;
  for (let i = 0; i < groups; i++)
    steps.push({ jump: end }, { char: first.charCodeAt(0) }, { not: exploded ? "?#" : not });
}

/** The first `from` characters are literal and known to match. */
function run(steps: readonly Step[], uri: string, from: number): boolean {
  // When a place was entered last, so that none is entered twice for one character.
  const entered = new Int32Array(steps.length + 1).fill(-1);
  let places: number[] = [];
  enter(steps, places, from, entered, from);
  for (let i = from; i < uri.length && places.length > 0; i++) {
    const code = uri.charCodeAt(i);
    const next: number[] = [];
    for (const place of places) {
      const step = steps[place];
      if (step === undefined || "jump" in step) continue;
      if ("char" in step) {
        if (step.char === code) enter(steps, next, place + 1, entered, i + 1);
      } else if (!step.not.includes(uri[i]!)) enter(steps, next, place, entered, i + 1);
    }
    places = next;
  }
  return places.includes(steps.length);
}

/** Adds a place and every place that can be reached from it without a character. As deep as there are expressions. */
function enter(steps: readonly Step[], places: number[], place: number, entered: Int32Array, now: number): void {
  if (entered[place] === now) return;
  entered[place] = now;
  const step = steps[place];
  if (step === undefined || "char" in step) {
    places.push(place);
    return;
  }
  if ("jump" in step) enter(steps, places, step.jump, entered, now);
  else places.push(place);
  enter(steps, places, place + 1, entered, now);
}
