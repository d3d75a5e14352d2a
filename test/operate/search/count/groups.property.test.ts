/** Groups against the numbers themselves; and merged in any order, over states. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Distinct } from "../../../../src/formats/measures/distinct.ts";
import { type Measure, type Op, Shape } from "../../../../src/formats/measures/measures.ts";
import { Numbers } from "../../../../src/formats/measures/numbers.ts";
import { StateWriter } from "../../../../src/formats/measures/state-bytes.ts";
import { type GroupBounds, Groups, type GroupValue, groupValue } from "../../../../src/operate/search/count/groups.ts";

const MEASURES: Measure[] = [
  { op: "count" },
  ...(["count", "sum", "avg", "min", "max", "p50", "p90", "p95", "p99", "distinct"] as const).map((op) => ({
    op,
    of: "x",
  })),
];
const SHAPE = new Shape(MEASURES);
const at = (op: Op): number => MEASURES.findIndex((measure) => measure.op === op && measure.of === "x");

const number = fc.oneof(
  fc.nat(100),
  fc.integer(),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.double({ min: 1e-8, max: 1, noNaN: true }),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, 0.1, -0, 1e-300, 1e300, Number.POSITIVE_INFINITY),
);
const value = fc.oneof({ weight: 5, arbitrary: number }, fc.constantFrom("text", "", true, null, undefined));
const added = fc.record({
  by: fc.constantFrom<GroupValue[]>("a", "b", null, 7),
  atMs: fc.constantFrom(null, 0, 60_000),
  x: value,
});
type Added = { by: GroupValue; atMs: number | null; x: unknown };

const groupsOf = (all: readonly Added[], bounds?: GroupBounds): Groups => {
  const groups = new Groups(SHAPE, bounds);
  for (const { by, atMs, x } of all)
    groups.add(
      { by: [by], atMs },
      SHAPE.names.map(() => x),
    );
  return groups;
};
const answerOf = (groups: Groups) => {
  const { rows, other } = groups.answer(null, true);
  return { rows: rows.map(({ state: _, ...row }) => row), other: other?.values ?? null };
};
const viaStates = (groups: Groups): Groups => Groups.of(SHAPE, groups.answer(null, true));

const isNumber = (x: unknown): x is number => typeof x === "number" && Math.abs(x) < 1e292;

/** The sum of doubles as whole numbers of 2^-1074: exact. */
function exactSum(numbers: readonly number[]): number {
  let sum = 0n;
  for (const each of numbers) {
    const bits = new DataView(Float64Array.of(each).buffer).getBigUint64(0, true);
    const exponent = (bits >> 52n) & 0x7ffn;
    const fraction = (bits & 0xfffffffffffffn) | (exponent === 0n ? 0n : 1n << 52n);
    const units = fraction << (exponent === 0n ? 0n : exponent - 1n);
    sum += each < 0 ? -units : units;
  }
  const size = sum < 0n ? -sum : sum;
  const shift = BigInt(Math.max(0, size.toString(2).length - 53));
  const rest = size & ((1n << shift) - 1n);
  let top = size >> shift;
  const half = shift === 0n ? 0n : 1n << (shift - 1n);
  if (half > 0n && (rest > half || (rest === half && (top & 1n) === 1n))) top += 1n;
  // Two steps: 2^-1074 times a large number is one, and a power beyond the range is none.
  const power = Number(shift) - 1_074;
  const magnitude = power < -1_000 ? Number(top) * 2 ** -1_000 * 2 ** (power + 1_000) : Number(top) * 2 ** power;
  return sum < 0n ? -magnitude : magnitude;
}

function expectValues(found: readonly (number | null)[], records: readonly unknown[]): void {
  const numbers = records.filter(isNumber).sort((a, b) => a - b);
  const sum = exactSum(numbers);
  const is = (op: Op): number | null => found[at(op)] ?? null;
  expect(found[0]).toBe(records.length);
  expect(is("count")).toBe(records.filter((x) => x !== undefined).length);
  expect(is("distinct")).toBe(new Set(records.filter((x) => x !== undefined).map((x) => `${typeof x} ${x}`)).size);
  if (numbers.length === 0) {
    expect([is("sum"), is("avg"), is("min"), is("p50")]).toEqual([null, null, null, null]);
    return;
  }
  expect([is("sum"), is("avg"), is("min"), is("max")].map((x) => Number(x) + 0)).toEqual(
    [sum, sum / numbers.length, numbers[0], numbers.at(-1)].map((x) => Number(x) + 0),
  );
  for (const [op, share] of [
    ["p50", 0.5],
    ["p90", 0.9],
    ["p95", 0.95],
    ["p99", 0.99],
  ] as const) {
    const exact = numbers[Math.ceil(numbers.length * share - 1e-9) - 1] as number;
    // Nothing is told apart below a billionth.
    expect(Math.abs(Number(is(op)) - exact)).toBeLessThanOrEqual(Math.abs(exact) * 0.01 + 1e-9);
  }
}

describe("groups", () => {
  it("say of each what the numbers say, over any parts, in any order, with states or without", () => {
    fc.assert(
      fc.property(fc.array(fc.array(added, { maxLength: 30 }), { maxLength: 5 }), fc.nat(), (parts, seed) => {
        const sums = parts.map((part, i) => ((seed >> i) % 2 === 0 ? groupsOf(part) : viaStates(groupsOf(part))));
        const inOrder = new Groups(SHAPE);
        for (const each of sums) inOrder.merge(each);
        // From the right, and in pairs.
        const again = parts.map((part) => groupsOf(part));
        while (again.length > 1) again.at(-2)?.merge(again.pop() as Groups);
        expect(answerOf(again[0] ?? new Groups(SHAPE))).toEqual(answerOf(inOrder));
        const all = Map.groupBy(parts.flat(), ({ by, atMs }) => JSON.stringify([by, atMs]));
        const { rows, other } = answerOf(inOrder);
        expect(other).toBeNull();
        expect(
          rows.map(({ by, time }) => JSON.stringify([by[0], time === undefined ? null : Date.parse(time)])).sort(),
        ).toEqual([...all.keys()].sort());
        for (const { by, time, values } of rows) {
          const key = JSON.stringify([by[0], time === undefined ? null : Date.parse(time)]);
          expectValues(
            values,
            (all.get(key) ?? []).map(({ x }) => x),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  it("are the largest, all slots of a group together; the sum of the rest is exact", () => {
    fc.assert(
      fc.property(fc.array(added, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (all, top) => {
        const { rows, other } = groupsOf(all).answer(top, false);
        const sizes = [...Map.groupBy(all, ({ by }) => String(by)).values()]
          .map(({ length }) => length)
          .sort((a, b) => b - a);
        const told = [...Map.groupBy(rows, ({ by }) => String(by[0]))];
        expect(told.map(([, own]) => own.reduce((sum, { values }) => sum + Number(values[0]), 0))).toEqual(
          sizes.slice(0, top),
        );
        const isTold = new Set(told.map(([by]) => by));
        const rest = all.filter(({ by }) => !isTold.has(String(by)));
        if (rest.length === 0) expect(other).toBeNull();
        else
          expectValues(
            other?.values ?? [],
            rest.map(({ x }) => x),
          );
      }),
      { numRuns: 200 },
    );
  });

  it("lose no record where there are too many of them", () => {
    const many = Array.from({ length: 5_000 }, (_, i): Added => ({ by: `g${i % 700}`, atMs: null, x: i }));
    for (const bounds of [
      { groups: 50, weight: 1e9 },
      { groups: 1e9, weight: 60_000 },
    ]) {
      const groups = groupsOf(many, bounds);
      groups.merge(groupsOf(many, bounds));
      const { rows, other } = groups.answer(null, false);
      expect([groups.overflows, rows.length > 10, rows.length < 400]).toEqual([true, true, true]);
      const sum = (op: number) =>
        [...rows, ...(other === null ? [] : [other])].reduce((s, { values }) => s + Number(values[op]), 0);
      expect([sum(0), sum(at("sum"))]).toEqual([10_000, 2 * 12_497_500]);
    }
  });

  it("refuse what is no state, whatever it is", () => {
    const [row] = groupsOf([
      { by: 1, atMs: null, x: 1.5 },
      { by: 1, atMs: null, x: "y" },
    ]).answer(null, true).rows;
    const state = String(row?.state);
    const read = (text: string) => Groups.of(SHAPE, { rows: [{ by: [1], values: [], state: text }], other: null });
    for (let end = 0; end < state.length - 4; end += 4) expect(() => read(state.slice(0, end))).toThrow();
    expect(() => read(`${state}AAAA`)).toThrow("goes on");
    expect(() => read("A".repeat(100_000))).toThrow("too long");
    expect(() => read("*")).toThrow();
    expect(() => Groups.of(SHAPE, { rows: [{ by: [1], values: [] }], other: null })).toThrow("breaks off");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          const { rows } = read(btoa(String.fromCharCode(...bytes))).answer(null, true);
          expect(rows).toHaveLength(1);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });

  it("keep a state of 4 kB at most for each kind of measure", () => {
    for (const op of ["p95", "distinct", "sum"] as const) {
      const shape = new Shape([{ op, of: "x" }]);
      const groups = new Groups(shape);
      for (let i = 0; i < 50_000; i++) groups.add({ by: [], atMs: null }, [1.0009 ** i * (i % 2 === 0 ? 1 : -1)]);
      const [row] = groups.answer(null, true).rows;
      expect(atob(String(row?.state)).length).toBeLessThanOrEqual(4_110);
    }
  });

  it("cut long texts, and take what is no text for its JSON", () => {
    const values = [undefined, null, 5, Number.POSITIVE_INFINITY, true, "a", { a: [1] }].map(groupValue);
    expect(values).toEqual([null, null, 5, "Infinity", true, "a", '{"a":[1]}']);
    expect(groupValue(`${"x".repeat(255)}😀`)).toBe(`${"x".repeat(255)}\ufffd…`);
  });
});

describe("a number of different values", () => {
  it.each([1_001, 3_000, 20_000, 200_000])("is within 2 per cent, as a rule: %i", (count) => {
    const errors = Array.from({ length: count > 100_000 ? 5 : 40 }, (_, run) => {
      const all = [new Distinct(), new Distinct()] as const;
      // Half of them are in both.
      for (let i = 0; i < count; i++) {
        if (i % 4 !== 0) all[0].add(`${run} ${i}`);
        if (i % 4 !== 1) all[1].add(`${run} ${i}`);
      }
      all[0].merge(all[1]);
      return (all[0].count - count) / count;
    });
    const square = errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length;
    expect(Math.sqrt(square)).toBeLessThan(0.016);
    expect(errors.filter((error) => Math.abs(error) <= 0.02).length).toBeGreaterThanOrEqual(errors.length * 0.8);
  });

  it("does not depend on the order, and merging, of what it is of", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5_000), { minLength: 1_500, maxLength: 2_500 }), fc.nat(2_500), (values, cut) => {
        const written = (distinct: Distinct): string => {
          const writer = new StateWriter();
          distinct.write(writer);
          return writer.text();
        };
        const [whole, left, right] = [new Distinct(), new Distinct(), new Distinct()];
        for (const each of values.toReversed()) whole.add(each);
        for (const [i, each] of values.entries()) (i < cut ? left : right).add(each);
        left.merge(right);
        expect(written(left)).toBe(written(whole));
      }),
      { numRuns: 30 },
    );
  });
});

it("sums are rounded once, half to even", () => {
  for (const [parts, sum] of [
    [[2 ** 53, 1, 1e-16], 2 ** 53 + 2],
    [[2 ** 53, 1], 2 ** 53],
    [[2 ** 53 - 1, 1, 1, -1e-16], 2 ** 53],
    [[1e291, 1, -1e291], 1],
  ] as const) {
    const numbers = new Numbers();
    for (const each of parts) numbers.add(each);
    expect(numbers.sum).toBe(sum);
  }
});
