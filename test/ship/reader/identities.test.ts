/** What is kept of an object says which records its lines are, in whatever form they joined it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Identities } from "../../../src/formats/sketch/identities.ts";
import { sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { TraceLog } from "../../../src/index.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { ndjson } from "../../support/audit.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { Oracle } from "../../support/oracle.ts";
import { asMember } from "../../support/parquet-files.ts";
import { createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  jobObjects,
  NOON,
  pack,
  readAll,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY = Math.floor(NOON / 86_400_000);

const KINDS = [
  {},
  { filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}' },
  { output_options: { sample_rate: 0.5 } },
  { output_options: { output_type: "parquet" } },
  { output_options: { field_names: ["EventTimestampMs", "Logs"] } },
];

type Shipped = { EventTimestampMs: number; Logs: { Message: string[] }[] };

/** The text of each line of a job's objects, with the record that it is. */
async function linesOf(job: number, bucket: ReturnType<typeof freshBucket>): Promise<[line: string, id: string][]> {
  const lines: [string, string][] = [];
  const rows = await runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
    storage.sql
      .exec<{ number: number; batch: number; sha256: string }>("SELECT number, batch, sha256 FROM object")
      .toArray(),
  );
  for (const { key, number, records } of await jobObjects(job)) {
    const { batch = 0, sha256 = "" } = rows.find((row) => row.number === number) ?? {};
    const store = sketchesOf(env.SKETCHES, job, 0, DAY);
    const known = await store.identities({ batch, mark: sha256.slice(0, 16) });
    const identities = Identities.read(known, records);
    const member = readSingleMember(
      (await asMember({ key, bytes: (await bucket.control.object(key)) as Uint8Array })).bytes,
    );
    if (!member.ok || identities === null) throw new Error(`${key} cannot be read, or nothing is known of it`);
    for (const [i, record] of ndjson(member.raw).entries()) {
      const { EventTimestampMs, Logs } = record as unknown as Shipped;
      lines.push([`${EventTimestampMs} ${Logs[0]?.Message[0]}`, identities.at(i + 1)]);
    }
  }
  return lines;
}

/** @param isReadOnce the readers read all appends when they are due, and cut with it. */
async function shipped(isReadOnce: boolean, padding: number) {
  const clock = setClock(NOON);
  const buckets = KINDS.map(() => freshBucket());
  const jobs: number[] = [];
  for (const [i, kind] of KINDS.entries()) jobs.push(await createJob(buckets[i]?.name ?? "", kind));
  const oracle = new Oracle({ at: NOON });
  await readAll();
  const unread = isReadOnce ? vi.spyOn(TraceLog.prototype, "drive").mockResolvedValue() : null;
  for (let i = 0; i < 4; i++) {
    const some = ["ok", "exception", "ok", "exception"].flatMap((outcome) =>
      oracle.mint(3, { at: clock.nowMs(), outcome, padding: i * padding }),
    );
    await deliver(pack(some, clock.nowMs()));
  }
  unread?.mockRestore();
  for (const job of jobs) await settle(job, clock);
  return { jobs, buckets };
}

describe("the identities of objects", () => {
  it.each([
    ["by and by", false, 0],
    ["by and by, some finished at once", false, 30_000],
    ["at once", true, 0],
    ["at once, some finished before", true, 30_000],
  ])("are the same in all jobs, whatever each ships, of records that came %s", async (_how, isReadOnce, padding) => {
    const { jobs, buckets } = await shipped(isReadOnce, padding);
    const all = await Promise.all(jobs.map((job, i) => linesOf(job, buckets[i] as (typeof buckets)[number])));
    const [whole = [], filtered = [], sampled = [], ...others] = all;
    const known = new Map(whole);
    expect(new Set(known.values()).size).toBe(48);
    expect([filtered.length, sampled.length > 0 && sampled.length < 48]).toEqual([24, true]);
    expect(others.map(({ length }) => length)).toEqual([48, 48]);
    for (const [line, id] of all.flat()) expect(id).toBe(known.get(line));
  });

  it("stay as they are in the group of their objects", async () => {
    const { jobs, buckets } = await shipped(false, 0);
    const [job = 0] = jobs;
    const [bucket] = buckets as [(typeof buckets)[number]];
    const before = await linesOf(job, bucket);
    await sketchesOf(env.SKETCHES, job, 0, DAY).seal();
    expect(await linesOf(job, bucket)).toEqual(before);
  });
});
