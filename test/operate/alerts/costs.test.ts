/** The cost of a look, as in docs/costs.md. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { createJob } from "../../support/runtime/api.ts";
import { settle } from "../../support/runtime/pipeline.ts";
import { rowsWritten } from "../../support/runtime/rows-written.ts";

it("a look by which nothing is wrong writes what it remembers, and asks each log once", async () => {
  const { clock, job } = await waitingJob();
  await createJob("other");
  await settle(job, clock);
  await watch(env.WATCH).check();
  const bill = await runInDurableObject(watch(env.WATCH), (_watch, { storage }) =>
    rowsWritten(storage, /\b(?:sample|rhythm|incident(?:_event)?|receiver|call)\b/),
  );
  const { status } = JobReader.prototype;
  const asked = vi.spyOn(JobReader.prototype, "status").mockImplementation(status);
  clock.advance(300_000);
  await watch(env.WATCH).check();
  expect(bill()).toEqual({ "INSERT rhythm": 1 });
  expect(asked).toHaveBeenCalledTimes(2);
});
