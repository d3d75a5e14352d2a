/** What a log of several shards says of itself: objects, hours, counts, what is set aside. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { NUMBERS_PER_NODE, nodeOf } from "../../../src/ship/log/nodes.ts";
import type { TraceLog } from "../../../src/ship/log/trace-log.ts";
import { driveNodes, findNode, jobCanary, jobHealth, retireNodes } from "../../../src/ship/reader/all-readers.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import { jobAside, jobObject, jobObjects, jobObjectsBefore } from "../../../src/ship/reader/object-pages.ts";
import { freshBucket, NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { append, configure, fragmentsOf, inLog, jobInto, prepared, shard } from "./direct.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const CHILD = nodeOf(1, 0);
const SHARDS = [0, CHILD, nodeOf(2, 0)];
const SECOND = NUMBERS_PER_NODE * CHILD + 1;

const at = (job: Pick<JobConfig, "id">, shard: number) => nodeAt(env.READERS, job.id, nodeOf(shard, 0));

/** A job whose log has three shards. */
async function threeShards(fields?: Partial<JobConfig>) {
  const clock = setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name, fields);
  /** A record of a shard that its reader has. */
  const offer = (shard: number, takenInMs = NOON): Promise<void> =>
    append(job, fragmentsOf(NDJSON, ["x\n"]), { shard, takenInMs });
  /** One record of each of these shards, uploaded in this order, a second apart. */
  const ship = async (...shards: number[]): Promise<void> => {
    for (const shard of shards) {
      await offer(shard);
      clock.advance(1_000);
      await at(job, shard).drive("manual", 10_000);
    }
  };
  await configure(job);
  for (const shard of [1, 2]) await prepared(job, [], { shard });
  return { clock, control, job, offer, ship };
}

const numbers = ({ entries }: { entries: { number: number }[] }): number[] => entries.map(({ number }) => number);

/** Reads a list to its end, in pages. @param from the first cursor. */
async function paged(
  page: (cursor: number) => Promise<{ entries: { number: number }[] }>,
  from: number,
): Promise<number[]> {
  const all: number[] = [];
  for (let cursor = from; ; ) {
    const found = numbers(await page(cursor));
    all.push(...found);
    const last = found.at(-1);
    if (last === undefined) return all;
    cursor = last;
  }
}

describe("objects of several shards", () => {
  it("are listed by the time of their cut, in pages, from both ends", async ({ expect }) => {
    const { job, ship } = await threeShards();
    await ship(0, 1, 2, 2, 1, 0, 0, 1);
    const of = (shard: number, n: number): number => nodeOf(shard, 0) * NUMBERS_PER_NODE + n;
    const order = [of(0, 1), of(1, 1), of(2, 1), of(2, 2), of(1, 2), of(0, 2), of(0, 3), of(1, 3)];
    expect(await jobObjects(env, job.id, 0, 100)).toMatchObject({ total: 8 });
    for (const size of [1, 3, 100]) {
      expect(await paged((after) => jobObjects(env, job.id, after, size), 0)).toEqual(order);
      const back = await paged((before) => jobObjectsBefore(env, job.id, before, size), Number.MAX_SAFE_INTEGER);
      expect(back).toEqual(order.toReversed());
    }
    expect(await jobObjects(env, job.id, of(1, 2), 1)).toMatchObject({
      total: 3,
      entries: [{ number: of(0, 2) }],
    });
    for (const number of order) expect(await jobObject(env, job.id, number)).toMatchObject({ number });
    for (const number of [of(0, 4), of(3, 1)]) expect(await jobObject(env, job.id, number)).toBeNull();
    expect(await findNode(env, job.id, of(3, 1))).toBeNull();
    // Of a shard that does not exist nothing is later.
    expect(numbers(await jobObjects(env, job.id, of(3, 1), 9))).toEqual([]);
    expect(numbers(await jobObjectsBefore(env, job.id, of(3, 1), 2))).toEqual([of(1, 3), of(0, 3)]);
  });

  it("go on where an object was that is forgotten, and leave nothing out", async ({ expect }) => {
    const { clock, job, ship } = await threeShards();
    await ship(0, 1, 1, 0, 1);
    const order = await paged((after) => jobObjects(env, job.id, after, 9), 0);
    await inLog(job, (_log, { sql }) => void sql.exec("DELETE FROM object WHERE number = ?", SECOND), CHILD);
    expect(numbers(await jobObjects(env, job.id, SECOND, 9))).toEqual(order.toSpliced(1, 1));
    expect(numbers(await jobObjectsBefore(env, job.id, SECOND, 9))).toEqual([order[0]]);
    // After the last of a shard that is forgotten: what any other has cut since.
    await inLog(job, (_log, { sql }) => void sql.exec("DELETE FROM object WHERE number = ?", SECOND + 2), CHILD);
    expect(numbers(await jobObjects(env, job.id, SECOND + 2, 9))).toEqual([order[3]]);
    clock.advance(31 * DAY_MS);
    for (const node of SHARDS) await nodeAt(env.READERS, job.id, node).drive("scheduled", 1_000);
    expect(await jobObjects(env, job.id, 0, 9)).toEqual({ entries: [], total: 0 });
  });

  it("are listed by the time of their cut where a clock went back, and none is left out", async ({ expect }) => {
    const { job, ship } = await threeShards();
    await ship(1, 1, 1);
    await inLog(
      job,
      (_log, { sql }) => void sql.exec("UPDATE object SET cut_ms = cut_ms - 1500 WHERE number = ?", SECOND + 2),
      CHILD,
    );
    const order = [SECOND, SECOND + 2, SECOND + 1];
    expect(await paged((after) => jobObjects(env, job.id, after, 1), 0)).toEqual(order);
    const back = await paged((before) => jobObjectsBefore(env, job.id, before, 1), Number.MAX_SAFE_INTEGER);
    expect(back).toEqual(order.toReversed());
  });
});

describe("the status of several shards", () => {
  it("sums what each has, and balances", async ({ expect }) => {
    const { job, ship, offer } = await threeShards();
    await ship(0, 1, 2, 1);
    await offer(2);
    const status = await jobStatus(env, job.id);
    expect(status).toMatchObject({ counts: { received: 5, delivered: 4, pending: 1 }, segments: 1, sealed: false });
    const each = await Promise.all(SHARDS.map((node) => nodeAt(env.READERS, job.id, node).status()));
    const bytes = each.map((one) => one?.storedBytes ?? 0);
    expect(status?.openBytes).toBe(Math.max(...bytes));
    expect(status?.storedBytes).toBe(bytes.reduce((sum, one) => sum + one, 0));
    const hours = await jobHealth(env, job.id, 0, Number.MAX_SAFE_INTEGER);
    expect(hours.reduce((sum, { records }) => sum + records, 0)).toBe(4);
    expect(await driveNodes(env, job.id, "manual", 10_000)).toBe(0);
    expect((await jobStatus(env, job.id))?.counts).toMatchObject({ delivered: 5, pending: 0 });
  });

  it("is complete as far as every shard is, whichever holds something, and never goes back", async ({ expect }) => {
    const { job, offer, clock } = await threeShards();
    const complete = async () => (await jobStatus(env, job.id, { claims: true }))?.lastCompleteMs;
    for (const n of [0, 1, 2]) {
      const takenMs = clock.nowMs();
      await offer(n, takenMs);
      clock.advance(10 * MINUTE_MS);
      const doneMs = clock.nowMs();
      // Another shard takes what comes later, and says that the queue is empty.
      const note = (_log: TraceLog, { storage: { sql } }: DurableObjectState) =>
        void sql.exec("UPDATE state SET queue_done_ms = ?", doneMs);
      await runInDurableObject(shard((n + 1) % 3), note);
      expect(await complete()).toBe(takenMs);
      await driveNodes(env, job.id, "manual", 10_000);
      expect(await complete()).toBe(doneMs);
      // What no claim knew of comes late.
      await offer(n, takenMs - 1);
      expect(await complete()).toBe(doneMs);
      await driveNodes(env, job.id, "manual", 10_000);
    }
  });
});

describe("several shards", () => {
  it("list what each has set aside, one after another, and send it again", async ({ expect }) => {
    const { job, ship, control } = await threeShards();
    await control.script([rule({ do: "answer", status: 400, code: "InvalidRequest" }, { keyIncludes: ".log.gz" })]);
    await ship(0, 1, 2);
    const { entries, total } = await jobAside(env, job.id, 0, 10);
    expect([total, numbers({ entries })]).toEqual([3, SHARDS.map((node) => node * NUMBERS_PER_NODE + 1)]);
    for (let offset = 0; offset < 3; offset++) {
      expect(await jobAside(env, job.id, offset, 1)).toMatchObject({ total: 3, entries: [entries[offset]] });
    }
    await control.script([]);
    for (const { number } of entries) {
      const found = await findNode(env, job.id, number);
      expect(await found?.asideResend(number)).toMatchObject({ number });
    }
    await driveNodes(env, job.id, "manual", 10_000);
    expect((await jobStatus(env, job.id))?.counts).toMatchObject({ delivered: 3, set_aside: 0 });
  });

  it("send one canary together", async ({ expect }) => {
    const { job, control } = await threeShards({ canary: true });
    await driveNodes(env, job.id, "manual", 10_000);
    await inLog(job, ({ canary }) => canary.running);
    const sent = (await control.requests()).filter(({ method, key }) => method === "PUT" && key.includes("canary/"));
    expect(sent).toHaveLength(1);
    expect(await jobCanary(env, job.id)).toMatchObject({ state: "ok" });
    for (const node of SHARDS.slice(1)) expect(await inLog(job, (each) => each.canaryReport().report, node)).toBeNull();
  });

  it("are deleted together, once none holds anything", async ({ expect }) => {
    const { job, offer, ship, clock } = await threeShards();
    await ship(0, 1);
    const deletedMs = clock.nowMs();
    await configure({ ...job, version: 2, deletedMs });
    await offer(2, deletedMs);
    clock.advance(16 * DAY_MS);
    expect(await retireNodes(env, job.id, deletedMs)).toBe(false);
    for (const node of SHARDS) expect(await nodeAt(env.READERS, job.id, node).status()).not.toBeNull();
    await driveNodes(env, job.id, "manual", 10_000);
    expect(await retireNodes(env, job.id, deletedMs)).toBe(true);
    for (const node of SHARDS) expect(await nodeAt(env.READERS, job.id, node).status()).toBeNull();
  });
});

it("a shard that fails holds up no other when all are driven", async ({ expect }) => {
  const { job, offer } = await threeShards();
  for (const n of [0, 1, 2]) await offer(n);
  const { drive } = JobReader.prototype;
  vi.spyOn(JobReader.prototype, "drive").mockImplementation(function (this: JobReader, ...how) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    if (ctx.id.name?.endsWith("log 1")) throw new Error("out of order");
    return drive.apply(this, how);
  });
  await expect(driveNodes(env, job.id, "manual", 10_000)).rejects.toThrow("out of order");
  vi.restoreAllMocks();
  expect((await jobStatus(env, job.id))?.counts).toMatchObject({ delivered: 2, pending: 1 });
});
