import { it } from "vitest";
import { recordFaults } from "../example/record-faults.ts";
import { log, recordOf, requestEvent, thrown } from "../support/expected-records.ts";

const page = (path: string, more: object = {}) =>
  recordOf("shop", "fetch", requestEvent(`http://shop${path}`, 200), { ...more });

it("says what is missing, what is doubled, and what nobody caused", ({ expect }) => {
  const faults = recordFaults(
    [page("/a"), page("/b"), page("/c"), page("/c")],
    [page("/b"), page("/b"), page("/c"), page("/d")],
  );
  expect(faults).toHaveLength(4);
  expect(faults[0]).toBe("fetch GET http://shop/b → 200 (shop) arrived twice, should have once");
  expect(faults[1]).toBe("fetch GET http://shop/c → 200 (shop) arrived once, should have twice");
  expect(faults[2]).toMatch(/^fetch GET http:\/\/shop\/a → 200 \(shop\) did not arrive: \{/);
  expect(faults[3]).toMatch(/^fetch GET http:\/\/shop\/d → 200 \(shop\) arrived, and nobody caused it: \{/);
});

it("says of a record what is not as it should be", ({ expect }) => {
  const Logs = [log("log", "hello")];
  const seen = page("/a", { Outcome: "exception", Exceptions: [thrown("Error", "no")], Logs });
  expect(recordFaults([page("/a", { Logs })], [seen])).toEqual([
    'fetch GET http://shop/a → 200 (shop): Exceptions is [{"name":"Error","message":"no","TimestampMs":"during the test"}], should be []',
    'fetch GET http://shop/a → 200 (shop): Outcome is "exception", should be "ok"',
  ]);
  const { WallTimeMs, ...others } = page("/a");
  expect(recordFaults([page("/a")], [others])).toEqual([
    "fetch GET http://shop/a → 200 (shop): WallTimeMs is missing, should be 0",
  ]);
  expect(recordFaults([page("/a")], [{ WallTimeMs, ...others }])).toEqual([
    "fetch GET http://shop/a → 200 (shop): its fields are in another order",
  ]);
});
