/**
 * The door to the CEL library: loaded when the first condition is compiled, and bounded. A condition is the
 * configuration's, but what it reads comes from hosts and servers: whatever they send, one evaluation ends. Three things
 * can take long: a loop over a list, a regular expression, and reading arguments (`wire/tree.ts` bounds those). Regular
 * expressions run in RE2 (linear time); loops and matched text draw on one budget.
 */
import { createRequire } from "node:module";
import type * as Cel from "@bufbuild/cel";
import type * as Re2 from "@bufbuild/re2";

export type Library = typeof Cel;
export type Value = Cel.CelValue;
export type Input = Cel.CelInput;
export type CelError = Cel.CelError;
export type Parsed = ReturnType<Library["parse"]>;
export type Expr = NonNullable<Parsed["expr"]>;
export type Plan = (bindings: Record<string, Input>) => Cel.CelResult;

/** Bounds on one evaluation. They are promises of the README. */
export const BOUNDS = {
  /** Turns of loops (`all`, `exists`, `map`, …), and units of matched text. */
  steps: 20_000,
  charsPerStep: 16,
  /** Longest text that `matches` looks at. */
  matchChars: 65_536,
  /** Looked at in every turn of a loop: what stands in a loop may be slow by itself, such as `x in args.list`. */
  ms: 100,
} as const;

/** A bound that was met: its text says which, and nothing of the input. */
export class BoundFault extends Error {}

/** Function that every loop calls in every turn. No expression can name it. */
export const STEP = "@step";

export interface Engine {
  readonly library: Library;
  readonly env: Cel.CelEnv;
  /** @throws if it is not a regular expression */
  compilePattern(pattern: string): void;
  plan(expr: Expr): Plan;
}

const require = createRequire(import.meta.url);
let engine: Engine | undefined;

let steps = 0;
let deadline = 0;
let spent = false;

/** Evaluates within the bounds. True for `spent` overrides the result: an error can be swallowed by `||`. */
export function bounded<T>(evaluate: () => T): { readonly result: T; readonly spent: boolean } {
  steps = BOUNDS.steps;
  deadline = performance.now() + BOUNDS.ms;
  spent = false;
  return { result: evaluate(), spent };
}

function draw(count: number): void {
  steps -= count;
  spent ||= steps < 0 || performance.now() > deadline;
  if (spent) throw new BoundFault("it takes longer than a condition may");
}

/** Not `await import()`: a decision cannot wait, and 150 ms at the start are only for those who have conditions. */
export function celEngine(): Engine {
  engine ??= makeEngine(require("@bufbuild/cel") as Library, require("@bufbuild/re2") as typeof Re2);
  return engine;
}

function makeEngine(library: Library, { RE2JS }: typeof Re2): Engine {
  const { CelScalar, celFunc, celEnv, plan } = library;
  const patterns = new Map<string, Re2.RE2JS>();
  const compile = (pattern: string): Re2.RE2JS => {
    const known = patterns.get(pattern) ?? RE2JS.compile(pattern);
    patterns.set(pattern, known);
    return known;
  };
  const env = celEnv({
    funcs: [
      celFunc(STEP, [], CelScalar.BOOL, () => {
        draw(1);
        return true;
      }),
    ],
    // Patterns stand in the file (condition.ts sees to that), so each is compiled once.
    re2: {
      compile: (pattern) => ({
        test: (text) => {
          if (text.length > BOUNDS.matchChars) throw new BoundFault(`matches was given ${text.length} characters`);
          draw(Math.ceil(text.length / BOUNDS.charsPerStep));
          return compile(pattern).test(text);
        },
      }),
    },
  });
  return { library, env, compilePattern: (pattern) => void compile(pattern), plan: (expr) => plan(env, expr) as Plan };
}
