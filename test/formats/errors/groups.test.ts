/** How many problems a thousand errors of thirty causes become. */
import { describe, expect, it } from "vitest";
import { causeOf, type Known, problemId, sameAs } from "../../../src/formats/errors/fingerprint.ts";
import { skeletonOf } from "../../../src/formats/errors/skeleton.ts";
import { type MadeError, madeErrors } from "./made-errors.ts";
import { moreErrors } from "./more-errors.ts";
import { thirdErrors } from "./third-errors.ts";

type Made = Pick<MadeError, "cause" | "worker" | "name" | "message" | "stack">;

/** The causes in each group. */
function groupsOf(errors: readonly Made[]): Set<number>[] {
  const all = errors.map(({ cause, worker, name, message, stack }) => {
    const of = { ...causeOf({ name, message, stack: stack ?? "" }), functionKey: JSON.stringify(worker) };
    return { ...of, cause, id: problemId(of.functionKey, of) };
  });
  const known = [...Map.groupBy(all, ({ id }) => id).values()].map((own): Known => {
    const [first] = own as [(typeof own)[number]];
    return { ...first, count: own.length };
  });
  const same = sameAs(known);
  const groups = Map.groupBy(all, ({ id }) => same.get(id) ?? id);
  return [...groups.values()].map((own) => new Set(own.map(({ cause }) => cause)));
}

const SETS: readonly [string, (seed: number) => readonly Made[]][] = [
  ["a shop's", madeErrors],
  ["other software's", moreErrors],
  ["a company's", thirdErrors],
];

describe.each(SETS)("1,000 errors of 30 causes, %s", (_whose, made) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("are 28 to 32 groups, each of one cause: seed %i", (seed) => {
    const groups = groupsOf(made(seed));
    expect(groups.filter((causes) => causes.size > 1)).toEqual([]);
    expect(groups.length).toBeGreaterThanOrEqual(28);
    expect(groups.length).toBeLessThanOrEqual(32);
  });
});

describe("what a message says went wrong", () => {
  it.each([
    ["Cannot read properties of undefined (reading 'price')", "Cannot read properties undefined reading 'price'"],
    ["Could not capture # EUR for order # (pi_#): the processor answered # after #", "Could not capture"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #, body {code: bad_gateway}", "HTTP 5xx ray"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #", "HTTP 5xx ray"],
    ["D#_ERROR: UNIQUE constraint failed: orders.key: SQLITE_CONSTRAINT", "D#_ERROR UNIQUE constraint failed"],
    ["Room # of J. Smith kept # messages since # Durable Object storage", "Room kept messages"],
    ["Insert of order ORD-# for # (key #) failed", "Insert order key"],
    ["orders.total is not a function", "orders.total not function"],
    ["{code: too_small}", ""],
    ["# {#} prompt is too long: # tokens > # maximum", "prompt too long"],
    ["Duplicate entry # for key 'readings.PRIMARY'", "Duplicate entry key 'readings.PRIMARY'"],
    ["Invalid URL: #", "Invalid URL"],
    ["not-found", "not-found"],
    ["auth/wrong-password", "auth/wrong-password"],
    ["", ""],
    ["#", ""],
  ])("%s", (masked, owed) => {
    expect(skeletonOf(masked)).toBe(owed);
  });

  it("is the first clause in other scripts", () => {
    const id = (message: string) => problemId("w", causeOf({ name: "Error", message, stack: "" }));
    expect(id("订单 17 未找到")).toBe(id("订单 18 未找到"));
    expect(id("订单 17 未找到")).not.toBe(id("支付 17 被拒绝"));
  });
});

it("what has no stack counts with its kin that has one, of several with the most frequent", () => {
  const known = (functionKey: string, frame: string, count: number, message = "Order # not found"): Known => {
    const cause = { name: "Error", message, frame };
    return { ...cause, functionKey, count, id: problemId(functionKey, cause) };
  };
  const bare = known("shop", "", 50);
  const [load, apply] = [known("shop", "loadOrder", 2), known("shop", "applyVoucher", 3)];
  const others = [known("till", "loadOrder", 9), known("shop", "x", 9, "Order # was paid before")];
  expect([...sameAs([bare, load, apply, ...others])]).toEqual([[bare.id, apply.id]]);
  expect([...sameAs([bare, ...others])]).toEqual([]);
});
