import { it, vi } from "vitest";
import { inReplays, runReplays, shippedJob } from "./shipped.ts";

/**
 * Counts the rows that statements of every durable object write from now on, by verb and table. The
 * count is read after a statement has run.
 */
function meter({ sql }: DurableObjectStorage): () => Record<string, number> {
  const run: { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const exec = prototype.exec;
  vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
    const cursor = exec.call(this, query, ...values);
    const verb = /\w+/.exec(query)?.[0];
    const table = /\b(?:reader|object|replay|piece|problem)\b/.exec(query)?.[0];
    run.push({ what: `${verb} ${table}`, cursor });
    return cursor;
  });
  return () => {
    const written: Record<string, number> = {};
    for (const { what, cursor } of run.splice(0))
      if (cursor.rowsWritten > 0) written[what] = (written[what] ?? 0) + cursor.rowsWritten;
    return written;
  };
}

it("an object that is shipped again is a GET, a PUT, a call, and the rows that docs/costs.md counts", async ({
  expect,
}) => {
  const shipped = await shippedJob(20);
  const bill = await inReplays((_, storage) => meter(storage));
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
