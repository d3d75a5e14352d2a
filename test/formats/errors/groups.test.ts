/** How many problems a thousand errors of thirty causes become. */
import { describe, expect, it } from "vitest";
import { causeOf, problemId } from "../../../src/formats/errors/fingerprint.ts";
import { skeletonOf } from "../../../src/formats/errors/skeleton.ts";
import { type MadeError, madeErrors } from "./made-errors.ts";

/** The causes in each group. */
function groupsOf(errors: readonly Pick<MadeError, "cause" | "worker" | "name" | "message" | "stack">[]) {
  const groups = new Map<string, Set<number>>();
  for (const { cause, worker, name, message, stack } of errors) {
    const id = problemId(JSON.stringify(worker), causeOf({ name, message, stack: stack ?? "" }));
    groups.set(id, (groups.get(id) ?? new Set()).add(cause));
  }
  return [...groups.values()];
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "1,000 errors of 30 causes are 28 to 32 groups, each of one cause: seed %i",
  (seed) => {
    const groups = groupsOf(madeErrors(seed));
    expect(groups.filter((causes) => causes.size > 1)).toEqual([]);
    expect(groups.length).toBeGreaterThanOrEqual(28);
    expect(groups.length).toBeLessThanOrEqual(32);
  },
);

describe("what a message says went wrong", () => {
  it.each([
    ["Cannot read properties of undefined (reading 'price')", "Cannot read properties undefined reading 'price'"],
    ["Could not capture # EUR for order # (pi_#): the processor answered # after #", "Could not capture"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #, body {code: bad_gateway}", "HTTP 5xx example.com"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #", "HTTP 5xx example.com"],
    ["D#_ERROR: UNIQUE constraint failed: orders.key: SQLITE_CONSTRAINT", "D#_ERROR UNIQUE constraint failed"],
    ["Room # of J. Smith kept # messages since # Durable Object storage", "Room kept messages"],
    ["Insert of order ORD-# for # (key #) failed", "Insert order key"],
    ["orders.total is not a function", "orders.total not function"],
    ["{code: too_small}", ""],
    ["", ""],
    ["#", ""],
  ])("%s", (masked, owed) => {
    expect(skeletonOf(masked)).toBe(owed);
  });

  it("is, for what has no word of it, all of it where nothing says from where it was thrown", () => {
    const id = (message: string, stack = "") => problemId("w", causeOf({ name: "Error", message, stack }));
    expect(id("订单 17 未找到")).toBe(id("订单 18 未找到"));
    expect(id("订单 17 未找到")).not.toBe(id("支付 17 被拒绝"));
    const stack = "Error: x\n    at charge (worker.js:1:2)";
    expect(id("17", stack)).toBe(id("18", stack));
  });
});
