import { type KeyType, quote } from "./fields.ts";

/**
 * What a condition tests, with its operand already read. Numbers and booleans equal a text if they
 * are written like it: 30 and "30", true and "true".
 */
export type Test =
  | { readonly kind: "eq"; readonly text: string }
  | { readonly kind: "in"; readonly texts: readonly string[] }
  | { readonly kind: "lt" | "leq" | "gt" | "geq"; readonly bound: number }
  | { readonly kind: "startsWith" | "endsWith" | "contains"; readonly text: string };

export type Comparison = Extract<Test, { readonly bound: number }>;

/** A value that is no number fails. */
export function comparing({ kind, bound }: Comparison): (value: unknown) => boolean {
  switch (kind) {
    case "lt":
      return (value) => typeof value === "number" && value < bound;
    case "leq":
      return (value) => typeof value === "number" && value <= bound;
    case "gt":
      return (value) => typeof value === "number" && value > bound;
    case "geq":
      return (value) => typeof value === "number" && value >= bound;
  }
}

/** An operator is a test, or the opposite of one. */
export interface Operator {
  readonly name: string;
  readonly test: Test["kind"];
  readonly negated: boolean;
  /** The key types it applies to; every operator applies to `any`. */
  readonly on: readonly KeyType[];
}

/**
 * In the order of docs/jobs.md; types as in
 * https://developers.cloudflare.com/logs/logpush/logpush-job/filters/
 */
const TESTS: readonly Omit<Operator, "name">[] = [
  { test: "eq", negated: false, on: ["string", "int", "bool"] },
  { test: "eq", negated: true, on: ["string", "int", "bool"] },
  { test: "lt", negated: false, on: ["int"] },
  { test: "leq", negated: false, on: ["int"] },
  { test: "gt", negated: false, on: ["int"] },
  { test: "geq", negated: false, on: ["int"] },
  { test: "startsWith", negated: false, on: ["string"] },
  { test: "endsWith", negated: false, on: ["string"] },
  { test: "startsWith", negated: true, on: ["string"] },
  { test: "endsWith", negated: true, on: ["string"] },
  { test: "contains", negated: false, on: ["string", "array"] },
  { test: "contains", negated: true, on: ["string", "array"] },
  { test: "in", negated: false, on: ["string", "int"] },
  { test: "in", negated: true, on: ["string", "int"] },
];

export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  TESTS.map((operator) => {
    const name = `${operator.negated ? "!" : ""}${operator.test}`;
    return [name, { name, ...operator }];
  }),
);

export function operatorsOn(type: KeyType): readonly string[] {
  return [...OPERATORS.values()].filter((operator) => appliesTo(operator, type)).map(({ name }) => name);
}

export function appliesTo(operator: Operator, type: KeyType): boolean {
  return type === "any" || operator.on.includes(type);
}

/** Reports a fault of an operand; `below` is the place in it (`[2]`), "" for all of it. */
export type OperandFault = (below: string, why: string) => void;

/**
 * Reads the value of a condition.
 * @param type of the key; the operator applies to it.
 * @returns the test, or null: then at least one fault was reported.
 */
export function readTest(kind: Test["kind"], type: KeyType, value: unknown, fault: OperandFault): Test | null {
  switch (kind) {
    case "eq": {
      const text = readScalar(value, type, true, (why) => fault("", why));
      return text === null ? null : { kind, text };
    }
    case "in":
      return readList(value, type, fault);
    case "lt":
    case "leq":
    case "gt":
    case "geq": {
      const bound = readNumber(value);
      if (bound !== null) return { kind, bound };
      fault("", undecodable(value, "number"));
      return null;
    }
    case "startsWith":
    case "endsWith":
    case "contains":
      if (typeof value === "string") return { kind, text: value.toWellFormed() };
      fault("", undecodable(value, "string"));
      return null;
  }
}

function readList(value: unknown, type: KeyType, fault: OperandFault): Test | null {
  if (!Array.isArray(value)) {
    fault("", undecodable(value, type === "int" ? "[]int" : "[]string, []number"));
    return null;
  }
  if (value.length === 0) {
    fault("", "must not be empty");
    return null;
  }
  const texts: string[] = [];
  value.forEach((element, i) => {
    const text = readScalar(element, type, false, (why) => fault(`[${i}]`, why));
    if (text !== null) texts.push(text);
  });
  return texts.length === value.length ? { kind: "in", texts } : null;
}

/**
 * Reads an operand of `eq` or `in`. An int equals only what is written like an integer.
 * @param bools whether booleans are allowed.
 * @returns the text to compare with, or null: then the fault was reported.
 */
function readScalar(value: unknown, type: KeyType, bools: boolean, fault: (why: string) => void): string | null {
  if (type === "int") {
    const number = typeof value === "string" ? canonicalNumber(value) : value;
    if (Number.isSafeInteger(number)) return String(number);
    fault(undecodable(value, "int"));
    return null;
  }
  if (type === "bool") {
    if (["true", "false"].includes(String(value)) && !Array.isArray(value)) return String(value);
    fault(undecodable(value, "bool"));
    return null;
  }
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "boolean" && bools) return String(value);
  if (typeof value !== "number") {
    fault(undecodable(value, bools ? "string, number, bool" : "string, number"));
    return null;
  }
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return String(value);
  // The written digits are lost: 2^53 + 1 has become 2^53.
  fault("a number beyond 2^53 is not exact: write it as a string");
  return null;
}

/** The number with this canonical spelling; NaN for any other text. */
export function canonicalNumber(text: string): number {
  const number = Number(text);
  return String(number) === text ? number : Number.NaN;
}

/** RFC 8259 section 6; `Number()` alone also accepts "", " 5" and "0x10". */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readNumber(value: unknown): number | null {
  const number = typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

/** The vendor's words, with the value as quoted JSON; nested values are abbreviated. */
function undecodable(value: unknown, kinds: string): string {
  return `failed to decode value ${quote(shown(value))}, supported kinds: ${kinds}`;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return "[…]";
  if (typeof value === "object" && value !== null) return "{…}";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
