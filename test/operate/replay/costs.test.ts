import { it } from "vitest";
import { rowsWritten } from "../../support/runtime/rows-written.ts";
import { inReplays, runReplays, shippedJob } from "./shipped.ts";

it("an object that is shipped again is a GET, a PUT, a call, and the rows that docs/costs.md counts", async ({
  expect,
}) => {
  const shipped = await shippedJob(20);
  const bill = await inReplays((_, storage) => rowsWritten(storage, /\b(?:reader|object|replay|piece|problem)\b/));
  const before = (await shipped.control.requests()).length;
  const { id } = await shipped.begin();
  bill();
  expect(await runReplays()).toBe(true);
  expect((await shipped.read(id)).state).toBe("done");
  expect(bill()).toEqual({
    // Added to the plan, and removed from it.
    "INSERT piece": 20,
    "DELETE piece": 20,
    // One row in the list of objects, and one in its index by replay.
    "INSERT object": 40,
    // One per object shipped again, and one that reserves all names.
    "UPDATE reader": 21,
    // 20 for progress, and seven more: planning is complete, totals, two claims, what the store
    // does with a condition, the end, and its destinations removed.
    "UPDATE replay": 27,
  });
  const asked = (await shipped.control.requests()).slice(before).map(({ method }) => method);
  // One extra GET checks that the source can be read at all.
  expect(asked.filter((method) => method === "GET")).toHaveLength(21);
  // One extra PUT tries the condition on the probe of the job's creation.
  expect(asked.filter((method) => method === "PUT")).toHaveLength(21);
  expect(asked).toHaveLength(42);
});
