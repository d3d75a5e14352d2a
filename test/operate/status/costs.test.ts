/** The cost of a look, as in docs/costs.md. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { watch } from "../../../src/operate/status/watch.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { createJob } from "../../support/runtime/api.ts";
import { settle } from "../../support/runtime/pipeline.ts";
import "./support.ts";

/**
 * Counts the rows that the watch writes from now on, by statement and table; ignores other objects.
 */
async function meter(): Promise<() => Record<string, number>> {
  const run: { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
  await runInDurableObject(watch(env.WATCH), (_watch, { storage }) => {
    const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
    const exec = prototype.exec;
    vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
      const cursor = exec.call(this, query, ...values);
      const table = /\b(?:sample|rhythm|incident|receiver|call)\b/.exec(query)?.[0];
      if (table !== undefined) run.push({ what: `${/\w+/.exec(query)?.[0]} ${table}`, cursor });
      return cursor;
    });
  });
  return () => {
    const written: Record<string, number> = {};
    for (const { what, cursor } of run.splice(0))
      if (cursor.rowsWritten > 0) written[what] = (written[what] ?? 0) + cursor.rowsWritten;
    return written;
  };
}

it("a look by which nothing is wrong writes what it remembers, and asks each log once", async () => {
  const { clock, job } = await waitingJob();
  await createJob("other");
  await settle(job, clock);
  await watch(env.WATCH).check();
  const bill = await meter();
  const { status } = JobReader.prototype;
  const asked = vi.spyOn(JobReader.prototype, "status").mockImplementation(status);
  clock.advance(300_000);
  await watch(env.WATCH).check();
  expect(bill()).toEqual({ "INSERT rhythm": 1 });
  expect(asked).toHaveBeenCalledTimes(2);
});
