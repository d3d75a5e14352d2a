/** A search names what waits before the objects: in the log, and set aside. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { JobReader, TraceLog } from "../../../src/index.ts";
import { one, record } from "../../ship/consumer/scripted.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { poison, putOnHold } from "../../support/runtime/hold.ts";
import { deliver, freshBucket, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { searchFor } from "./searched.ts";

const at = (ms: number): string => new Date(ms).toISOString();

/** How much is found, and what is not searched. */
async function found(): Promise<[hits: number, ...left: string[]]> {
  const { hits, end } = await searchFor({ since: at(NOON - 86_400_000), until: at(NOON + 86_400_000) });
  const left = end.not_searched.map(({ what, why }) => `${what}: ${why}`);
  expect(end.complete).toBe(left.length === 0);
  return [hits.length, ...left];
}

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => void vi.restoreAllMocks());

const come = () => deliver(pack(new Oracle({ at: NOON }).mint(2), clock.nowMs()));

it("has jobs read what the log has for them, and names what they do not read", async () => {
  const job = await createJob(freshBucket().name);
  const pull = vi.spyOn(JobReader.prototype, "pull").mockRejectedValue(new Error("out of reach"));
  await come();
  expect(await found()).toEqual([0, `job ${job}: 2 records not read from the log yet: search again`]);
  pull.mockRestore();
  expect(await found()).toEqual([2]);
});

it("names the jobs that a message on hold may be for, until it is sent again or deleted", async () => {
  const job = await createJob(freshBucket().name);
  clock.advance(1_000);
  await putOnHold(one(1, { takenInMs: clock.nowMs(), records: [{ ...record("shop"), EventTimestampMs: NOON }] }));
  clock.advance(1_000);
  const later = await createJob(freshBucket().name);
  const why = "messages on hold may have records for it: resend or delete them";
  expect(await found()).toEqual([0, `job ${job}: ${why}`]);
  // It is not known when it was taken in.
  await putOnHold(new ArrayBuffer(3), "shorter than a header", "shorter than a header");
  expect(await found()).toEqual([0, `job ${job}: ${why}`, `job ${later}: ${why}`]);
  await api("DELETE", "/logship/set-aside/message-2");
  await api("POST", "/logship/set-aside/message-1/resend");
  expect(await found()).toEqual([1]);
});

it("names records that could not be made", async () => {
  const job = await createJob(freshBucket().name);
  await poison(job, one(1, { takenInMs: NOON }));
  expect(await found()).toEqual([0, `job ${job}: logship could not prepare 1 record from the log`]);
});

it("names every job while a part of the log does not answer, and finds what readers have", async () => {
  const job = await createJob(freshBucket().name);
  await come();
  vi.spyOn(TraceLog.prototype, "status").mockImplementation(() => {
    throw new Error("out of reach");
  });
  expect(await found()).toEqual([
    2,
    `job ${job}: a part of the log, where records may wait, does not answer: search again`,
  ]);
});
