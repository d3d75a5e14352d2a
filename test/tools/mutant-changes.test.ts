import { expect, it } from "vitest";
import { changed, changesOf } from "../../tools/mutants/changes.ts";

/** What a source text becomes by each of its changes. */
const mutantsOf = (source: string): string[] => changesOf(source).map((change) => changed(source, change));

it.each([
  ["a < b;", ["a <= b;"]],
  ["a >= b;", ["a > b;"]],
  ["a === b;", ["a !== b;"]],
  ["(a)+(b);", ["(a) - (b);"]],
  ["a && b || c;", ["a || b || c;", "a && b && c;"]],
  ["a ?? b;", ["a && b;"]],
  ["a += 1;", ["a -= 1;"]],
  ["const a = !b;", ["const a = b;"]],
  ["const a = { b: true };", ["const a = { b: false };"]],
  ["const a = Math.max(1, b);", ["const a = Math.min(1, b);"]],
  ["f(a);\nawait this.#g(\n  b,\n);", [";\nawait this.#g(\n  b,\n);", "f(a);\n;"]],
  ["const a = () => f(b);", []],
  ["const a = f(`$" + "{b + 1}`);", ["const a = f(`$" + "{b - 1}`);"]],
])("changes %j", (source, mutants) => {
  expect(mutantsOf(source)).toEqual(mutants);
});

it.each([
  "type A = { ok: true } | { ok: false };",
  "interface A { f: (b: true) => void }",
  "function f(a: { ok: false }): a is { ok: true } { return g(a) as true; }",
  "const a = f<true>(b) satisfies false;",
  "/** a < b, and f(); */",
  '// a === b\nconst a = "b && c";',
  'log.warn("a", { b: c + 1 });',
  "class A extends B { constructor() { super(a); } }",
])("leaves %j as it is", (source) => {
  expect(mutantsOf(source)).toEqual([]);
});

it("counts in units of the text, not in bytes", () => {
  expect(mutantsOf("/* é€😀 */ a < b;")).toEqual(["/* é€😀 */ a <= b;"]);
});

it("leaves out what is no program", () => {
  expect(mutantsOf("a ?? b ?? c;")).toEqual([]);
});

it("changes what stands beside a type", () => {
  expect(mutantsOf("const a = (b < c) as true;")).toEqual(["const a = (b <= c) as true;"]);
});
