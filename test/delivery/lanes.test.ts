/** Objects of far-away days have a lane of their own, behind those of about today. */
import { expect, it } from "vitest";
import { utf8Length } from "../../src/bytes.ts";
import type { DeliveryLog } from "../../src/delivery/delivery-log.ts";
import { LogState } from "../../src/delivery/log-state.ts";
import { Objects } from "../../src/delivery/objects.ts";
import type { ObjectRow } from "../../src/delivery/rows.ts";
import { Uploads } from "../../src/delivery/uploads.ts";
import { FragmentBuilder } from "../../src/object/fragment.ts";
import { batchTexts, NDJSON } from "../../src/output/format.ts";
import { freshBucket, NOON, setClock } from "../support/runtime/pipeline.ts";
import { append, DAY, inLog, jobInto } from "./direct.ts";

/** Commits a record of each of these days, and cuts them. */
function cutDays(log: DeliveryLog, job: ReturnType<typeof jobInto>, version: number, days: readonly number[]): void {
  const builder = new FragmentBuilder(batchTexts(NDJSON).delimiter);
  for (const day of days) builder.add("x\n", utf8Length("x\n"), day, day * 86_400_000, day * 86_400_000);
  append(log, version, builder.finish());
  log.configure({ ...job, version: version + 1, outputVersion: version + 1 }, 0);
}

const FAR = Array.from({ length: 60 }, (_, n) => DAY - 1_000 + n);
const NEAR = [DAY - 1, DAY, DAY + 1];

/** The days of all uploads, in the order in which they begin. @param failing one at a time. */
async function order(failing: boolean): Promise<number[]> {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  return inLog(job, async (log, { sql }) => {
    log.configure(job, 0);
    cutDays(log, job, 1, FAR);
    cutDays(log, job, 2, NEAR);
    if (failing) sql.exec("UPDATE log SET failures = 1");
    const state = new LogState(sql, "");
    const objects = new Objects(sql, state);
    const days: number[] = [];
    const uploads = new Uploads(state, objects, async ({ number, day }: ObjectRow) => {
      days.push(day);
      sql.exec("UPDATE object SET state = 'discarded' WHERE number = ?", number);
    });
    await uploads.run();
    await uploads.run();
    sql.exec("UPDATE log SET failures = 0");
    await uploads.run();
    return days;
  });
}

it.each([false, true])(
  "about today goes first, and one of four uploads is of a far day (failing: %s)",
  async (failing) => {
    const days = await order(failing);
    expect(days.slice(0, 4)).toEqual([...NEAR, FAR[0]]);
    expect(days.toSorted((a, b) => a - b)).toEqual([...FAR, ...NEAR]);
  },
);

it("a far day is not held up for good by new objects of today", async () => {
  setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, async (log, { sql }) => {
    log.configure(job, 0);
    cutDays(log, job, 1, FAR.slice(0, 5));
    cutDays(log, job, 2, NEAR);
    const state = new LogState(sql, "");
    const days: number[] = [];
    let version = 3;
    const uploads = new Uploads(state, new Objects(sql, state), async ({ number, day }: ObjectRow) => {
      days.push(day);
      sql.exec("UPDATE object SET state = 'discarded' WHERE number = ?", number);
      // Another of today has come meanwhile.
      if (days.length < 40) cutDays(log, job, version++, [DAY]);
    });
    await uploads.run();
    const far = days.flatMap((day, i) => (FAR.includes(day) ? [i] : []));
    expect(far).toEqual([3, 7, 11, 15, 19]);
  });
});

it("what is of the day of its intake is not far, however late it is cut", async () => {
  const clock = setClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, (log, { sql }) => {
    log.configure(job, 0);
    clock.advance(10 * 86_400_000);
    cutDays(log, job, 1, [DAY, DAY - 2]);
    const lanes = sql.exec<{ day: number; far: number }>("SELECT day, far FROM object ORDER BY day").toArray();
    expect(lanes).toEqual([
      { day: DAY - 2, far: 1 },
      { day: DAY, far: 0 },
    ]);
  });
});
