/**
 * When a log began to fail, whether it is parked, and when it last received: the facts that the
 * rules of status use.
 */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { PUTS, waitingJob } from "./waiting.ts";

it("fails since the first failure after the last success, and is parked by what came last", async () => {
  const { clock, control, job } = await waitingJob();
  const fails = async (): Promise<[number | null, boolean]> => {
    const { failingSinceMs, parked } = await logStatus(job);
    return [failingSinceMs, parked];
  };
  const attempt = async (status: number | null, afterMs: number): Promise<[number | null, boolean]> => {
    await control.script(status === null ? [] : [rule({ do: "answer", status }, { method: "PUT" })]);
    clock.advance(afterMs);
    await runAlarm(job);
    return fails();
  };
  expect(await fails()).toEqual([null, false]);
  const firstMs = NOON + 30_000;
  expect(await attempt(503, 30_000)).toEqual([firstMs, false]);
  expect(await attempt(403, 900_000)).toEqual([firstMs, true]);
  expect(await attempt(503, 900_000)).toEqual([firstMs, false]);
  expect(await attempt(404, 900_000)).toEqual([firstMs, true]);
  expect(await attempt(null, 900_000)).toEqual([null, false]);
});

it("is neither, once its job has moved, or what failed is dropped", async () => {
  const { clock, control, job } = await waitingJob();
  await control.script([rule({ do: "answer", status: 403 }, PUTS)]);
  clock.advance(30_000);
  await runAlarm(job);
  expect(await logStatus(job)).toMatchObject({ parked: true, failingSinceMs: NOON + 30_000 });
  await api("PUT", `/logship/jobs/${job}`, { destination_conf: destinationConf(freshBucket().name) });
  await readAll([job]);
  expect(await logStatus(job)).toMatchObject({ parked: false, failingSinceMs: null });

  const other = await createJob(freshBucket().name);
  await deliver(pack(new Oracle({ at: NOON, name: "other" }).mint(3), clock.nowMs()));
  await api("DELETE", `/logship/jobs/${other}?discard=true`);
  await readAll([other]);
  expect(await logStatus(other)).toMatchObject({ parked: false, failingSinceMs: null, counts: { discarded: 3 } });
});

it("received when records last came, whatever became of them; and not when none did", async () => {
  const clock = setClock(NOON);
  const filter = '{"where":{"key":"ScriptName","operator":"eq","value":"nobody"}}';
  const job = await createJob(freshBucket().name, { filter });
  await readAll([job]);
  expect((await logStatus(job)).lastReceivedMs).toBeNull();
  clock.advance(60_000);
  const cameMs = clock.nowMs();
  await deliver(pack(new Oracle({ at: NOON }).mint(2), clock.nowMs()));
  expect((await logStatus(job)).lastReceivedMs).toBe(cameMs);
  clock.advance(60_000);
  await readAll([job]);
  expect((await logStatus(job)).lastReceivedMs).toBe(cameMs);
  expect((await jobStatus(env, job))?.lastReceivedMs).toBe(cameMs);
});
