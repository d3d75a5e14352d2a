import { it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { assertClean, Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";

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

it("delivers to each job once what comes again because its answer was lost", async ({ expect }) => {
  const clock = setClock(NOON);
  const [one, two] = [freshBucket(), freshBucket()];
  const first = await createJob(one.name);
  const second = await createJob(two.name, { output_options: { field_names: ["EventTimestampMs", "ScriptName"] } });
  const oracle = new Oracle({ at: NOON });
  const events = oracle.mint(20);
  for (const name of ["one", "two"]) oracle.acknowledged(name, events);
  const messages = pack(events, clock.nowMs(), { perMessage: 5 });
  const { append } = TraceLog.prototype;
  vi.spyOn(TraceLog.prototype, "append").mockImplementationOnce(async function (this: TraceLog, request) {
    await append.call(this, request);
    throw new Error("its answer is lost");
  });
  expect(await deliver(messages)).toMatchObject({ acked: [], retried: { length: 4 } });
  expect((await deliver(messages, 2)).acked).toHaveLength(4);
  await settle(first, clock);
  await settle(second, clock);
  assertClean(oracle.audit("one", await one.control.contents(), { path: "logs/{DATE}" }));
  assertClean(oracle.audit("two", await two.control.contents(), { path: "logs/{DATE}", idOf: oracle.idByTime }));
});
