import { type Module, parseSync } from "@swc/core";

/** One change of a source text: what stands from `start` up to `end` becomes `to`. */
export interface Change {
  /** In UTF-16 units, as is `end`. */
  start: number;
  end: number;
  to: string;
}

/** A node of the syntax tree. Its span is in bytes of UTF-8. */
interface Node {
  type: string;
  span: { start: number; end: number };
  operator?: unknown;
  value?: unknown;
  [property: string]: unknown;
}

const OPERATORS: ReadonlyMap<unknown, string> = new Map([
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["===", "!=="],
  ["!==", "==="],
  ["&&", "||"],
  ["||", "&&"],
  ["??", "&&"],
  ["+", "-"],
  ["-", "+"],
  ["+=", "-="],
]);

const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ["Math.max", "Math.min"],
  ["Math.min", "Math.max"],
]);

/** It stands before each text that is parsed, and its span says where the parser counts from. */
const MARK = ";";

/**
 * What can be changed in a source text of TypeScript, in the order of the text: an operator, `true`
 * and `false`, `!`, the greater or the lesser of two, and a call whose result is not used. Types,
 * texts and lines of the log stay: a change there is no fault of the program. A change that leaves
 * no program is left out.
 */
export function changesOf(source: string): Change[] {
  const bytes = Buffer.from(MARK + source);
  const module = parsed(source);
  const from = module.body[0]?.span.start ?? 0;
  /** Position in the source of a position of the parser. */
  const at = (position: number): number => bytes.toString("utf8", 0, position - from).length - MARK.length;
  const changes: Change[] = [];
  const put = (start: number, end: number, to: string): void => {
    const change = { start: at(start), end: at(end), to };
    if (isProgram(changed(source, change))) changes.push(change);
  };
  const textOf = ({ span }: Node): string => source.slice(at(span.start), at(span.end));

  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (isNode(value)) {
      const { type, span } = value;
      // Of these, `a as T` and the like have an expression; the rest are types.
      if (type.startsWith("Ts")) {
        visit(value.expression);
        return;
      }
      if (type === "ExpressionStatement" && isOfLog(textOf(value))) return;
      if (type === "ExpressionStatement" && isCall(value.expression)) put(span.start, span.end, ";");
      if (type === "BooleanLiteral") put(span.start, span.end, String(value.value !== true));
      if (type === "UnaryExpression" && value.operator === "!") put(span.start, span.start + 1, "");
      const other = type === "MemberExpression" ? FUNCTIONS.get(textOf(value)) : undefined;
      if (other !== undefined) put(span.start, span.end, other);
      const { left, right } = value;
      const operator = OPERATORS.get(value.operator);
      if (operator !== undefined && isNode(left) && isNode(right))
        put(left.span.end, right.span.start, ` ${operator} `);
    }
    // What is no node, such as a list, or an argument of a call, may hold some.
    for (const one of Object.values(value)) visit(one);
  };
  visit(module.body);
  return changes.sort((a, b) => a.start - b.start || a.end - b.end);
}

export function changed(source: string, { start, end, to }: Change): string {
  return source.slice(0, start) + to + source.slice(end);
}

function parsed(source: string): Module {
  return parseSync(MARK + source, { syntax: "typescript", target: "es2022" });
}

function isProgram(source: string): boolean {
  try {
    parsed(source);
    return true;
  } catch {
    return false;
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "span" in value;
}

/** A call, awaited or not. Without `super()` no object of a class that extends another is made. */
function isCall(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value.type === "AwaitExpression") return isCall(value.argument);
  return value.type === "CallExpression" && (value.callee as Node).type !== "Super";
}

function isOfLog(statement: string): boolean {
  return /^log\.(info|warn|error)\(/.test(statement);
}
