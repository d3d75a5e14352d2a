import { it, vi } from "vitest";
import { inReplays, runReplays, shippedJob } from "./shipped.ts";

/** Every statement of every durable object from now on, by its verb and its table: what it wrote is known once it has run. */
function meter({ sql }: DurableObjectStorage): () => Record<string, number> {
  const run: { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const exec = prototype.exec;
  vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
    const cursor = exec.call(this, query, ...values);
    const verb = /\w+/.exec(query)?.[0];
    const table = /\b(?:log|object|replay|piece|problem)\b/.exec(query)?.[0];
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
    // Planned, and gone from the plan.
    "INSERT piece": 20,
    "DELETE piece": 20,
    // In the list of objects, and its place there by replay.
    "INSERT object": 40,
    // What was shipped again; once, the names of all.
    "UPDATE log": 21,
    // What is done; once that all are planned, and how many; two claims; the end, and its forgotten destinations.
    "UPDATE replay": 26,
  });
  const asked = (await shipped.control.requests()).slice(before).map(({ method }) => method);
  // One more: whether it can be read at all.
  expect(asked.filter((method) => method === "GET")).toHaveLength(21);
  expect(asked.filter((method) => method === "PUT")).toHaveLength(20);
  expect(asked).toHaveLength(41);
});
