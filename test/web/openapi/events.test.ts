/**
 * Events are read by code and documented separately: the documentation refuses nothing that the
 * service takes.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import records from "../../fixtures/records.json";
import { map } from "../../formats/record/samples.ts";
import vectors from "../../support/tail-vectors.ts";
import { OPERATIONS, pointerTo, validatorOf } from "./support.ts";

type Event = { readonly [key: string]: unknown };

const path = OPERATIONS.find(({ operation }) => operation.operationId.endsWith("DatasetEvents"))?.path ?? "";
const schema = pointerTo("paths", path, "post", "requestBody", "content", "application/json", "schema");
const validate = validatorOf(schema);
const validateItem = validatorOf("/components/schemas/TraceItem");
const validateRecord = validatorOf("/components/schemas/EventRecord");

const ITEMS = vectors.map(({ item }) => item as Event);
const RECORDS = records.map(({ input }) => input as Event).filter((input) => map(input).faults.length === 0);

describe("what the description says of events", () => {
  it("fits real ones: trace items, records, and a list of both", () => {
    expect(ITEMS.length).toBeGreaterThan(5);
    expect(RECORDS.length).toBeGreaterThan(5);
    for (const event of [...ITEMS, ...RECORDS]) expect([event, validate(event)]).toEqual([event, true]);
    expect(validate([...ITEMS, ...RECORDS])).toBe(true);
  });

  it("fits whatever the service takes, and not all that it refuses", () => {
    const values = [null, "", "x", 0, 1.5, -1, 1e300, true, [], ["x"], [null], [{}], [1], {}, { a: 1 }, { id: "x" }];
    const changed = (base: readonly Event[]) =>
      fc.tuple(fc.constantFrom(...base), fc.nat(), fc.constantFrom<unknown[]>(...values)).map(([event, nth, value]) => {
        const keys = Object.keys(event);
        return { ...event, [keys[nth % keys.length] ?? ""]: value };
      });
    let refused = 0;
    for (const [base, fits] of [
      [ITEMS, validateItem],
      [RECORDS, validateRecord],
    ] as const) {
      fc.assert(
        fc.property(changed(base), (event) => {
          if (map(event).record !== null) expect([event, fits(event), validate(event)]).toEqual([event, true, true]);
          else refused += fits(event) ? 0 : 1;
        }),
        { numRuns: 1_000 },
      );
    }
    expect(refused).toBeGreaterThan(100);
  });

  it.each([null, 1, "x", true, [1], [[]]])("fits no other thing: %j", (body) => {
    expect(validate(body)).toBe(false);
  });
});
