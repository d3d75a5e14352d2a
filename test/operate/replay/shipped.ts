/** A job with delivered objects, and helpers to inspect its replays. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { type Replays, replays } from "../../../src/operate/replay/replays.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { Amount } from "../../../src/ship/reader/replayed.ts";
import type { ObjectEntry } from "../../../src/ship/reader/statuses.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { noise } from "../../formats/record/samples.ts";
import { appendPrepared, fragmentsOf } from "../../ship/reader/direct.ts";
import { Oracle } from "../../support/oracle.ts";
import { type Answer, api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { deliver, freshBucket, jobObjects, NOON, pack, setClock } from "../../support/runtime/pipeline.ts";
import { alive } from "../../support/runtime/world-jobs.ts";
import { call } from "../../web/api/harness.ts";

/** Records in each object, and the time between the first events of neighbouring objects, in ms. */
export const RECORDS = 10;
export const STEP_MS = 60_000;

/** A time range that covers every object of these tests. */
export const ALL = { since: at(0), until: at(10_000) };

/** Time of the n-th object's first event, RFC 3339. */
export function at(n: number): string {
  return new Date(NOON + n * STEP_MS).toISOString();
}

export interface Detail {
  id: string;
  job_id: number;
  destination_conf: string | null;
  state: string;
  planned: Amount;
  done: Amount;
  missing: Amount;
  damaged: Amount;
  failed: Amount;
  left: Amount;
  error_message: string | null;
  next_attempt: string | null;
  started_at: string;
  ended_at: string | null;
  problems: { object: number; key: string; kind: string; why: string }[];
}

/** @param conf of a bucket. */
export async function shippedJob(
  objects = 3,
  keysBelow = "logs/{DATE}",
  conf: (bucket: string, path: string) => string = destinationConf,
) {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name, { destination_conf: conf(name, keysBelow) });
  const oracle = new Oracle({ at: NOON });
  const ship = async (count: number, shards = 1): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const events = oracle.mint(RECORDS, { at: NOON + shipped * STEP_MS });
      shipped += 1;
      oracle.acknowledged("job", events);
      await deliver(pack(events, clock.nowMs(), { shards }));
      await flush();
    }
  };
  const flush = async (): Promise<void> => {
    const { body } = await api<{ pending_objects: number }>("POST", `/logship/jobs/${job}/flush`);
    if (body.result.pending_objects !== 0) throw new Error(`${body.result.pending_objects} objects wait`);
  };
  let shipped = 0;
  await ship(objects);
  const path = `/logship/jobs/${job}/replay`;
  return {
    clock,
    name,
    control,
    job,
    oracle,
    ship,
    /** Ships one object of at least this many compressed bytes. */
    async shipLarge(bytes: number): Promise<void> {
      const stored = await controlPlane(env.CONTROL).get(job);
      const records = Array.from({ length: Math.ceil(bytes / 200_000) }, (_, i) => `${noise(500_000, i + 1)}\n`);
      await appendPrepared(stored?.config as JobConfig, fragmentsOf(NDJSON, records), { takenInMs: clock.nowMs() });
      await flush();
    },
    /** Asks for a replay. Unless the body says otherwise, its copies may go to the job's folder. */
    ask: (body: object = ALL): Promise<Answer<Detail>> =>
      call<Detail>("POST", path, { allow_duplicates: true, ...body }),
    /** Begins a replay. @throws unless it is accepted. */
    async begin(body: object = ALL): Promise<Detail> {
      const answer = await this.ask(body);
      if (answer.status !== 202) throw new Error(`${answer.status} ${JSON.stringify(answer.body.errors)}`);
      return answer.body.result;
    },
    read: async (id: string): Promise<Detail> => (await alive(() => call<Detail>("GET", `${path}/${id}`))).body.result,
    cancel: (id: string): Promise<Answer<Detail>> => call<Detail>("DELETE", `${path}/${id}`),
    list: async (): Promise<Detail[]> => (await call<Detail[]>("GET", path)).body.result,
    /** The job's own objects, and its copies. */
    async objects(): Promise<{ own: ObjectEntry[]; copies: ObjectEntry[] }> {
      const all = await jobObjects(job);
      return { own: all.filter(({ replay }) => replay === null), copies: all.filter(({ replay }) => replay !== null) };
    },
    ledger: async (): Promise<{ [name: string]: unknown; replayed: Amount }> =>
      (await api<{ replayed: Amount }>("GET", `/logship/jobs/${job}/ledger`)).body.result,
    /**
     * Runs alarms until the replay is over.
     * @throws if that takes more than `turns`.
     */
    async settle(id: string, turns = 60): Promise<Detail> {
      for (let turn = 0; turn < turns; turn++) {
        await runReplays();
        const detail = await this.read(id);
        if (detail.ended_at !== null) {
          // One more run checks the copies that were in flight at the end.
          await runReplays();
          return this.read(id);
        }
        clock.advance(60_000);
      }
      throw new Error(`not over: ${JSON.stringify(await this.read(id))}`);
    },
  };
}

export type Shipped = Awaited<ReturnType<typeof shippedJob>>;

/**
 * Runs the alarm, whether it is due or not. An alarm that dies is set again.
 * @returns whether it was set.
 */
export async function runReplays(): Promise<boolean> {
  try {
    return await runDurableObjectAlarm(replays(env.REPLAYS));
  } catch {
    // The platform runs an alarm again if its object dies.
    await alive(() =>
      inReplays(async (_object, storage) => {
        if ((await storage.getAlarm()) === null) await storage.setAlarm(NOON);
      }),
    );
    return true;
  }
}

export function inReplays<T>(run: (object: Replays, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
  return runInDurableObject(replays(env.REPLAYS), (object, { storage }) => run(object, storage));
}

/**
 * Expects every object to be copied once and whole. Each copy is listed once with its source, and
 * stored with the source's bytes under a key of its own. Ledger, list and replay agree.
 * @throws naming what is wrong.
 */
export async function expectCopied(
  shipped: Shipped,
  id: string,
  { into = shipped.control, objects }: { into?: Shipped["control"]; objects: number },
): Promise<void> {
  const faults: string[] = [];
  const { own, copies } = await shipped.objects();
  const ofThis = copies.filter(({ replay }) => replay?.id === id);
  const bytesAt = async (control: Shipped["control"], key: string): Promise<string> =>
    [...((await control.object(key)) ?? [])].join();
  const keys = new Set(own.map(({ key }) => key));
  for (const copy of ofThis) {
    const source = own.find(({ number }) => number === copy.replay?.of);
    if (source === undefined) faults.push(`${copy.key} is of no object`);
    else if ((await bytesAt(into, copy.key)) !== (await bytesAt(shipped.control, source.key)))
      faults.push(`${copy.key} has other bytes than ${source.key}`);
    if (keys.has(copy.key)) faults.push(`${copy.key} is the key of another`);
    keys.add(copy.key);
    if (copy.state !== "delivered" || copy.reason !== "replay") faults.push(`${copy.key} is ${copy.state}`);
  }
  const sources = new Set(ofThis.map(({ replay }) => replay?.of));
  if (sources.size !== ofThis.length || ofThis.length !== objects)
    faults.push(`${ofThis.length} copies of ${sources.size} objects, not ${objects}`);
  const standing = (await into.objects()).filter(({ key }) => key.endsWith(".log.gz")).map(({ key }) => key);
  for (const { key } of copies) keys.add(key);
  const strays = standing.filter((key) => !keys.has(key));
  if (strays.length > 0) faults.push(`nobody knows of ${strays.join(", ")}`);
  const rewritten = (await into.objects()).filter(({ key, puts }) => key.endsWith(".log.gz") && puts !== 1);
  if (rewritten.length > 0) faults.push(`written more than once: ${rewritten.map(({ key }) => key).join(", ")}`);
  const sum = (of: readonly ObjectEntry[], name: "records" | "bytes"): number =>
    of.reduce((total, entry) => total + entry[name], 0);
  const { done } = await shipped.read(id);
  const listed = { objects: ofThis.length, records: sum(ofThis, "records"), bytes: sum(ofThis, "bytes") };
  if (JSON.stringify(done) !== JSON.stringify(listed))
    faults.push(`done is ${JSON.stringify(done)}, and ${JSON.stringify(listed)} are listed`);
  const ledger = await shipped.ledger();
  const counted = { objects: copies.length, records: sum(copies, "records"), bytes: sum(copies, "bytes") };
  if (JSON.stringify(ledger.replayed) !== JSON.stringify(counted))
    faults.push(`the ledger says ${JSON.stringify(ledger.replayed)}, and ${JSON.stringify(counted)} are listed`);
  if (ledger.delivered !== sum(own, "records")) faults.push(`the ledger has ${ledger.delivered} delivered`);
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
