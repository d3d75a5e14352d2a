/** How many problems a thousand errors of thirty causes become. */
import { describe, expect, it } from "vitest";
import { causeOf, type Known, problemId, sameAs } from "../../../src/formats/errors/fingerprint.ts";
import { skeletonOf } from "../../../src/formats/errors/skeleton.ts";
import { fourthErrors } from "./fourth-errors.ts";
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
  ["several teams'", fourthErrors],
];

describe.each(SETS)("1,000 errors of 30 causes, %s", (_whose, made) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("are 28 to 32 groups, each of one cause: seed %i", (seed) => {
    const groups = groupsOf(made(seed));
    expect(groups.filter((causes) => causes.size > 1)).toEqual([]);
    expect(groups.length).toBeGreaterThanOrEqual(28);
    expect(groups.length).toBeLessThanOrEqual(32);
  });
});

const idOf = (message: string): string => problemId("w", causeOf({ name: "Error", message, stack: "" }));

describe("two messages of two causes", () => {
  it.each([
    // The code of an answer.
    ['refused: {"code":"NOT_FOUND","id":7}', 'refused: {"code":"CONFLICT","id":7}'],
    ['Gateway refused the request: {"code":"card_declined"}', 'Gateway refused the request: {"code":"expired_card"}'],
    ['answer {"error":{"code":"card_declined","message":"x"}}', 'answer {"error":{"code":"lost_card","message":"x"}}'],
    ['answer {"status":404}', 'answer {"status":503}'],
    ['call failed: {"errno":"ECONNRESET"}', 'call failed: {"errno":"ETIMEDOUT"}'],
    ['call failed: {"type":"invalid_request_error"}', 'call failed: {"type":"authentication_error"}'],
    ["call failed: { name: 'TypeError' }", "call failed: { name: 'RangeError' }"],
    ['{"error":"unauthorized"}', '{"error":"forbidden"}'],
    ['{"code":"conflict","message":"a"}', '{"code":"timeout","message":"a"}'],
    ['{"type":"card_error","message":"No such plan"}', '{"type":"card_error","message":"Card was stolen"}'],
    // Products, whose digits are of their names.
    ["R2 put failed: 10001", "D1 put failed: 10001"],
    ["SHA256 does not match", "MD5 does not match"],
    // What has a name in the code.
    ["no such table: users", "no such table: orders"],
    ["D1_ERROR: no such column: total: SQLITE_ERROR", "D1_ERROR: no such column: price: SQLITE_ERROR"],
    ["UNIQUE constraint failed: users.email", "UNIQUE constraint failed: orders.key"],
    [
      'duplicate key value violates unique constraint "users_email_key"',
      'duplicate key value violates unique constraint "orders_pkey"',
    ],
    ["Missing environment variable: STRIPE_KEY", "Missing environment variable: SENDGRID_KEY"],
    ["Unknown method: capture", "Unknown method: refund"],
    ["Missing secret: STRIPE_KEY", "Missing secret: SENDGRID_KEY"],
    // Whose service it is.
    ["POST https://api.stripe.com/v1/charges failed", "POST https://api.github.com/v1/charges failed"],
    ["fetch failed: https://api.stripe.com/v1", "fetch failed: https://storage.googleapis.com/v1"],
    ["getaddrinfo ENOTFOUND api.stripe.com", "getaddrinfo ENOTFOUND api.github.com"],
    ["GET https://rates.bank.example/v1 timed out", "GET https://vat.office.example/v1 timed out"],
    // Titles.
    ["Invalid Token", "Invalid Session"],
    ["Invalid Token for user 7", "Invalid Session for user 7"],
    ["Payment Declined", "Payment Expired"],
    ["Gateway Timeout", "Gateway Unavailable"],
    // What is said of a secret.
    ["Invalid token: audience mismatch", "Invalid token: expired"],
    ["Bearer token expired", "Bearer token missing"],
  ])("are two problems: %s", (one, other) => {
    expect(idOf(one)).not.toBe(idOf(other));
  });
});

describe("two messages of one cause", () => {
  it.each([
    ["No such user: alice", "No such user: bob"],
    ["unknown customer: alice", "unknown customer: bob"],
    ["Customer Alice Smith not found", "Customer Bob Jones not found"],
    ["Room Aurora is full", "Room Borealis is full"],
    ["Invalid Token of Alice Smith", "Invalid Token of Bob Jones"],
    ["webhook to https://hooks.alice-bakery.com/x failed", "webhook to https://hooks.bobs-cars.com/x failed"],
    ["POST https://acme.myshopify.com/x failed", "POST https://tenant-7.myshopify.com/x failed"],
    ["POST https://hooks.alice-bakery.com/x failed", "POST https://hooks.bobs-cars.com/x failed"],
    ["GET https://a1.shop.example/x failed", "GET https://b2.shop.example/x failed"],
    ["Domain alice.com is not verified", "Domain bob.org is not verified"],
    ["no such table: tenant_42_orders", "no such table: tenant_7_orders"],
    ['payload {"type":"user","name":"Alice"} refused', 'payload {"type":"admin","name":"Bob"} refused'],
    ['refused: {"code":"hunter"}', 'refused: {"code":"swordfish"}'],
    ["password: correct-horse", "password: staple battery"],
    ['[{"code":"too_small"},{"code":"too_big"}]', '[{"code":"too_big"}]'],
    ["2 parts failed: {a}; last answer: gone", "3 parts failed: {b}; last answer: late"],
  ])("are one problem: %s", (one, other) => {
    expect(idOf(one)).toBe(idOf(other));
  });
});

describe("what a message says went wrong", () => {
  it.each([
    ["Cannot read properties of undefined (reading 'price')", "Cannot read properties undefined reading 'price'"],
    ["Could not capture # EUR for order # (pi_#): the processor answered # after #", "Could not capture"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #, body {code: bad_gateway}", "HTTP 5xx ray"],
    ["HTTP 4xx from https://api.example.com/#", "HTTP 4xx api.example.com"],
    ["HTTP 5xx from https://#.example.com/# after #, ray #", "HTTP 5xx ray"],
    [
      "D1_ERROR: UNIQUE constraint failed: orders.key: SQLITE_CONSTRAINT",
      "D1_ERROR UNIQUE constraint failed orders.key",
    ],
    ["Room # of J. Smith kept # messages since # Durable Object storage", "Room kept messages"],
    ["Insert of order ORD-# for # (key #) failed", "Insert order key"],
    ["orders.total is not a function", "orders.total not function"],
    ["{code: too_small}", "too_small"],
    ["[code: too_small]", ""],
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
    expect(idOf("订单 17 未找到")).toBe(idOf("订单 18 未找到"));
    expect(idOf("订单 17 未找到")).not.toBe(idOf("支付 17 被拒绝"));
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
