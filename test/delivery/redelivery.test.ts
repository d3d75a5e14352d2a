import { it, vi } from "vitest";
import { DebtStore, JobReader } from "../../src/index.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../support/runtime/pipeline.ts";

it("takes a repeated request once, though it was taken in at another time", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  const events = oracle.mint(10);
  oracle.acknowledged("job", events);
  const first = pack(events, clock.nowMs(), { key: "k" });
  clock.advance(86_400_000);
  const second = pack(events, clock.nowMs(), { key: "k" });
  expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
  expect(second[0]?.body).not.toEqual(first[0]?.body);
  await deliver(first);
  await settle(job, clock);
  await deliver(second);
  await settle(job, clock);
  assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
});

it("delivers to a second job what the first had taken in an earlier delivery", async ({ expect }) => {
  const clock = setClock(NOON);
  const one = freshBucket();
  const two = freshBucket();
  const first = await createJob(one.name);
  const second = await createJob(two.name, { output_options: { field_names: ["EventTimestampMs", "ScriptName"] } });
  const oracle = new Oracle({ at: NOON });
  const events = oracle.mint(20);
  oracle.acknowledged("one", events);
  oracle.acknowledged("two", events);
  const messages = pack(events, clock.nowMs(), { perMessage: 5 });
  const append = JobReader.prototype.append;
  let calls = 0;
  // The second job's log is out of reach the first time, and so are the debts.
  const owe = vi.spyOn(DebtStore.prototype, "owe").mockRejectedValue(new Error("out of reach"));
  const spy = vi.spyOn(JobReader.prototype, "append").mockImplementation(function (this: JobReader, request) {
    calls += 1;
    if (calls === 2) throw new Error("out of reach");
    return append.call(this, request);
  });
  const { acked, retried } = await deliver(messages);
  expect(acked).toEqual([]);
  expect(retried).toHaveLength(4);
  spy.mockRestore();
  owe.mockRestore();
  await deliver(messages, 2);
  await settle(first, clock);
  await settle(second, clock);
  assertClean(oracle.audit("one", await one.control.contents(), { path: "logs/{DATE}" }));
  assertClean(oracle.audit("two", await two.control.contents(), { path: "logs/{DATE}", idOf: oracle.idByTime }));
});
