import { expect, it, vi } from "vitest";
import { DEATHS_MAX, Unmade } from "../../src/delivery/unmade.ts";
import { freshBucket, NOON, setClock } from "../support/runtime/pipeline.ts";
import { message, open } from "../trace-log/shard.ts";
import { change, configure, inLog, jobInto, read, shard } from "./direct.ts";

/** Counts, and what could not be made. */
const state = (job: { id: number }) =>
  inLog(job, (log) => ({ ...log.status()?.counts, unmade: log.asideObjects(0, 0).unmade.map(({ why }) => why) }));

it("sets aside what kills it, and not what it has made before", async () => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  await configure(job);
  await shard().append(open([message(1)]));
  await shard().append(open([message(2)]));
  const { begin } = Unmade.prototype;
  const seen: number[] = [];
  const spy = vi.spyOn(Unmade.prototype, "begin").mockImplementation(function (this: Unmade, n) {
    const deaths = begin.call(this, n);
    if (!seen.includes(n)) seen.push(n);
    if (n === seen[1]) throw new Error("the reader dies");
    return deaths;
  });
  for (let pull = 0; pull <= DEATHS_MAX; pull++) await shard().drive([job.id]);
  spy.mockRestore();
  await read(job);
  expect(await state(job)).toMatchObject({ received: 2, pending: 2, set_aside: 0, unmade: [] });
});

it("does not die of what waits for newer code for ever", async () => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  await configure(job);
  await change({ ...job, version: 2, floor: 99 });
  await shard().append(open([message(1)]));
  await read(job);
  expect(await state(job)).toMatchObject({ received: 1, pending: 1, set_aside: 0 });
  await inLog(job, async (log, { sql }) => {
    sql.exec("UPDATE unmade SET tries = ? WHERE k = 0", DEATHS_MAX);
    await log.drive("manual", 0);
  });
  const why = `its reader died with it ${DEATHS_MAX} times`;
  expect(await state(job)).toMatchObject({ received: 1, pending: 0, set_aside: 1, unmade: [why] });
});
