/**
 * `when`: a text in CEL, compiled once, evaluated within bounds. What it says is true, false, or a reason why it could not
 * be judged, which policy takes for a denial.
 */
import { TreeFault } from "../../wire/tree.ts";
import { BoundFault, bounded, type CelError, celEngine, type Expr, type Input, STEP } from "./cel.ts";
import { CheckError, type Checked, type Comprehension, checkCondition, type UnknownWord } from "./cel-check.ts";
import type { Variable } from "./cel-kinds.ts";

export type Bindings = { readonly [variable in Variable]?: Input | undefined };

export interface Condition {
  readonly source: string;
  readonly reads: ReadonlySet<Variable>;
  /** What the server says of the item must be known. */
  readonly needsDefinition: boolean;
  /** `bindings` has at least what it reads. A string is the reason why it cannot be judged. */
  evaluate(bindings: Bindings): boolean | string;
}

/** A condition that cannot be meant, or cannot be used where it stands. */
export class ConditionError extends Error {
  /** Place in the text, in characters from 1; undefined where all of it is meant. */
  readonly position: number | undefined;
  readonly unknown: UnknownWord | undefined;
  constructor(message: string, position?: number, unknown?: UnknownWord) {
    super(message);
    this.position = position;
    this.unknown = unknown;
  }
}

/** Messages of the library that hold no value: others quote what they could not use, and that may be a secret. */
const SAFE = /^(found no matching overload for|type mismatch:|u?int overflow|\w+ (divide|modulus) by zero)/;

/** @throws ConditionError */
export function compileCondition(source: string): Condition {
  const engine = celEngine();
  const parsed = parse(source);
  const root = parsed.expr!;
  const positionOf = (id: bigint | undefined): number | undefined => {
    const offset = id === undefined ? undefined : parsed.sourceInfo?.positions[String(id)];
    return offset === undefined ? undefined : offset + 1;
  };
  const { reads, needsDefinition, patterns, loops, members } = checked(root, positionOf);
  for (const { text, id } of patterns) {
    try {
      engine.compilePattern(text);
    } catch {
      // Its own message quotes the pattern.
      throw new ConditionError("the pattern of matches is not a regular expression (RE2)", positionOf(id));
    }
  }
  for (const loop of loops) count(loop);
  const plan = engine.plan(root);
  const { isCelError } = engine.library;
  return {
    source,
    reads,
    needsDefinition,
    evaluate(bindings) {
      const { result, spent } = bounded(() => plan(bindings as Record<string, Input>));
      if (spent) return "it takes longer than a condition may";
      if (typeof result === "boolean") return result;
      if (!isCelError(result)) return "it is neither true nor false";
      const at = positionOf(result.exprId);
      return `${reasonOf(result, members)}${at === undefined ? "" : ` (at character ${at})`}`;
    },
  };
}

function reasonOf({ message, exprId, cause }: CelError, members: ReadonlyMap<bigint, string>): string {
  if (cause instanceof TreeFault || cause instanceof BoundFault) return cause.message;
  if (message.startsWith("field not found")) {
    const member = exprId === undefined ? undefined : members.get(exprId);
    return member === undefined ? "a member is not there" : `there is no member "${member}"`;
  }
  return SAFE.test(message) ? message : "a value is not of the kind that is needed";
}

function parse(source: string) {
  try {
    return celEngine().library.parse(source);
  } catch (error) {
    if (error instanceof RangeError) throw new ConditionError("it is nested too deeply");
    const { location, found } = error as { location?: { start: { offset: number } }; found?: string | null };
    const offset = location?.start.offset;
    const what =
      found === null || found === undefined ? "it ends too early" : `${JSON.stringify(found)} cannot stand here`;
    throw new ConditionError(`it is not CEL: ${what}`, offset === undefined ? undefined : offset + 1);
  }
}

function checked(root: Expr, positionOf: (id: bigint) => number | undefined): Checked {
  try {
    return checkCondition(celEngine(), root);
  } catch (error) {
    if (error instanceof RangeError) throw new ConditionError("it is nested too deeply");
    if (!(error instanceof CheckError)) throw error;
    throw new ConditionError(error.message, positionOf(error.id), error.unknown);
  }
}

/** Every turn of the loop asks first whether it may. */
function count(loop: Comprehension): void {
  const condition = loop.loopCondition!;
  const { id } = condition;
  const call = (name: string, args: Expr[]): Expr => ({
    $typeName: "cel.expr.Expr",
    id,
    exprKind: { case: "callExpr", value: { $typeName: "cel.expr.Expr.Call", function: name, args } },
  });
  loop.loopCondition = call("_&&_", [call(STEP, []), condition]);
}
