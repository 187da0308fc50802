/**
 * What is wrong with a condition can be seen when it is loaded: unknown names, operands that no function takes, a result
 * that is not true or false. The library checks none of this before it evaluates, so it is done here, over its syntax
 * tree and with the signatures of its own functions. Kinds are the names of its types; "dyn" is known at evaluation only.
 */
import type { Engine, Expr } from "./cel.ts";
import {
  CONSTANTS,
  comparable,
  IDENTITY,
  isA,
  type Kind,
  MACROS,
  STRUCTS,
  symbol,
  TYPES,
  VARIABLES,
  type Variable,
  words,
} from "./cel-kinds.ts";

/** Where and why a condition cannot be meant. */
export class CheckError extends Error {
  readonly id: bigint;
  /** The word that nobody knows, and those that are known in its place. */
  readonly unknown: UnknownWord | undefined;
  constructor(id: bigint, message: string, unknown?: UnknownWord) {
    super(message);
    this.id = id;
    this.unknown = unknown;
  }
}

export interface UnknownWord {
  readonly word: string;
  readonly known: readonly string[];
}

export interface Checked {
  /** Variables that it reads, those of its own loops excepted. */
  readonly reads: ReadonlySet<Variable>;
  /** It reads more of an item than what it is called. */
  readonly needsDefinition: boolean;
  /** All `matches` patterns. */
  readonly patterns: readonly { readonly text: string; readonly id: bigint }[];
  readonly loops: readonly Comprehension[];
  /** Members that are named in it, by the id of the expression. */
  readonly members: ReadonlyMap<bigint, string>;
}

type Of<C extends string> = Extract<Expr["exprKind"], { case: C }>["value"];
type Call = Of<"callExpr">;
export type Comprehension = Of<"comprehensionExpr">;
type Scope = ReadonlyMap<string, Kind>;

/** @throws CheckError */
export function checkCondition({ env }: Pick<Engine, "env">, root: Expr): Checked {
  const reads = new Set<Variable>();
  let needsDefinition = false;
  const patterns: { text: string; id: bigint }[] = [];
  const loops: Comprehension[] = [];
  const members = new Map<bigint, string>();

  function kindOf(expr: Expr | undefined, scope: Scope): Kind {
    const { exprKind: part, id } = expr!;
    switch (part.case) {
      case "constExpr":
        return CONSTANTS[part.value.constantKind.case ?? ""] ?? "dyn";
      case "identExpr":
        needsDefinition ||= Object.hasOwn(IDENTITY, part.value.name) && !scope.has(part.value.name);
        return variable(part.value.name, id, scope);
      case "selectExpr": {
        const { operand, field } = part.value;
        members.set(id, field);
        const of = operand?.exprKind.case === "identExpr" ? operand.exprKind.value.name : undefined;
        const isIdentity = of !== undefined && !scope.has(of) && IDENTITY[of] === field;
        const kind = member(isIdentity ? variable(of, operand!.id, scope) : kindOf(operand, scope), field, id);
        return part.value.testOnly ? "bool" : kind;
      }
      case "callExpr":
        return call(part.value, id, scope);
      case "listExpr":
        for (const element of part.value.elements) kindOf(element, scope);
        return "list";
      case "structExpr":
        if (part.value.messageName !== "") throw new CheckError(id, `there is no type "${part.value.messageName}"`);
        for (const { keyKind, value } of part.value.entries) {
          if (keyKind.case === "mapKey") kindOf(keyKind.value, scope);
          kindOf(value, scope);
        }
        return "map";
      case "comprehensionExpr":
        return loop(part.value, id, scope);
      default:
        throw new CheckError(id, "it is not complete");
    }
  }

  function variable(name: string, id: bigint, scope: Scope): Kind {
    const own = scope.get(name);
    if (own !== undefined) return own;
    if (Object.hasOwn(VARIABLES, name)) {
      reads.add(name as Variable);
      return VARIABLES[name as Variable];
    }
    if (TYPES.has(name)) return "type";
    throw new CheckError(id, `there is no variable "${name}"`, { word: name, known: Object.keys(VARIABLES) });
  }

  function member(of: Kind, name: string, id: bigint): Kind {
    const known = STRUCTS[of];
    if (known === undefined) {
      if (of === "dyn" || of === "map") return "dyn";
      throw new CheckError(id, `${words(of)} has no member "${name}"`);
    }
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined)
      throw new CheckError(id, `there is no member "${name}"`, { word: name, known: Object.keys(known) });
    return kind;
  }

  function call({ function: name, target, args }: Call, id: bigint, scope: Scope): Kind {
    const operands = [...(target === undefined ? [] : [target]), ...args];
    const kinds = operands.map((operand) => kindOf(operand, scope));
    switch (name) {
      case "_&&_":
      case "_||_":
        for (const kind of kinds)
          if (!isA(kind, "bool")) throw new CheckError(id, `${symbol(name)} needs true or false, not ${words(kind)}`);
        return "bool";
      case "_?_:_":
        if (!isA(kinds[0]!, "bool"))
          throw new CheckError(id, `? needs true or false before it, not ${words(kinds[0]!)}`);
        return kinds[1] === kinds[2] ? kinds[1]! : "dyn";
      case "_[_]": {
        const key = args[1]?.exprKind;
        if (key?.case === "constExpr" && key.value.constantKind.case === "stringValue")
          return member(kinds[0]!, key.value.constantKind.value, id);
        if (kinds[0] === "dyn" || kinds[0] === "list" || isA(kinds[0]!, "map")) return "dyn";
        throw new CheckError(id, `${words(kinds[0]!)} has no elements`);
      }
      case "@not_strictly_false":
        return "bool";
      case "_==_":
      case "_!=_":
        if (!comparable(kinds[0]!, kinds[1]!))
          throw new CheckError(id, `${words(kinds[0]!)} never equals ${words(kinds[1]!)}`);
        return "bool";
      case "matches":
        pattern(args, id);
    }
    return overload(name, target !== undefined, kinds, id);
  }

  /** A pattern that the caller sends could be made to take long to compile, and could not be checked here. */
  function pattern(args: readonly Expr[], id: bigint): void {
    const constant = args[0]?.exprKind;
    if (constant?.case === "constExpr" && constant.value.constantKind.case === "stringValue") {
      patterns.push({ text: constant.value.constantKind.value, id: args[0]!.id });
    } else if (args.length === 1) throw new CheckError(id, "the pattern of matches must be a text written here");
  }

  function overload(name: string, isMethod: boolean, kinds: readonly Kind[], id: bigint): Kind {
    const group = [...(env.funcs.find(name) ?? [])];
    const shown = symbol(name);
    const fitting = group.filter(
      ({ target, arguments: args }) =>
        (target !== undefined) === isMethod && args.length === kinds.length - (isMethod ? 1 : 0),
    );
    const taken = fitting.filter(({ target, arguments: args }) =>
      [...(target === undefined ? [] : [target]), ...args].every((want, i) => isA(kinds[i]!, want.name)),
    );
    if (taken.length > 0)
      return taken.every(({ result }) => result.name === taken[0]!.result.name) ? taken[0]!.result.name : "dyn";
    if (group.length === 0) {
      const known = [...new Set([...env.funcs].map((each) => each.name)), ...MACROS].filter((each) =>
        /^\w+$/.test(each),
      );
      throw new CheckError(id, `there is no function "${shown}"`, { word: name, known });
    }
    const given = kinds.length === 0 ? "nothing" : kinds.map(words).join(" and ");
    throw new CheckError(id, `"${shown}" does not take ${given}`);
  }

  function loop(part: Comprehension, id: bigint, scope: Scope): Kind {
    const range = kindOf(part.iterRange, scope);
    if (range !== "dyn" && range !== "list" && !isA(range, "map"))
      throw new CheckError(id, `${words(range)} has no elements`);
    loops.push(part);
    const accumulator = kindOf(part.accuInit, scope);
    const inside = new Map([...scope, [part.accuVar, accumulator], [part.iterVar, "dyn"]]);
    kindOf(part.loopCondition, inside);
    kindOf(part.loopStep, inside);
    return kindOf(part.result, new Map([...scope, [part.accuVar, accumulator]]));
  }

  const kind = kindOf(root, new Map());
  if (!isA(kind, "bool")) throw new CheckError(root.id, `it is ${words(kind)}, not true or false`);
  return { reads, needsDefinition, patterns, loops, members };
}
