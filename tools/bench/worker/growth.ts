/** A log that grows: from messages to delivered objects, through the real Durable Objects. */

import { platform } from "../../../src/base/platform.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import worker from "../../../src/index.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { packRecords } from "../../../src/ship/intake/packing.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import type { Grown } from "../protocol.ts";
import { RecordMix } from "../records.ts";
import { clock } from "./clock.ts";
import { type Bench, fireAlarm, nextAlarm } from "./meter.ts";
import { batchOf } from "./queue-batch.ts";

/** Messages of one batch, and the time between two batches: some 500 records a second. */
const BATCH = 10;
const BATCH_MS = 10_000;

/** Record lines that are reused: making new ones would take most of the time. */
let pool: string[] = [];
let packed: ArrayBuffer[] = [];

/** Makes the messages of the next {@link append}, under new ids. */
export function pack(records: number): void {
  const takenInMs = platform.now();
  if (pool.length !== records) pool = linesOf(records, takenInMs);
  const result = packRecords(pool, { takenInMs, idOf: randomIds(1), keyed: false, shards: 1 });
  if (!result.ok) throw new Error("a record is too large");
  packed = result.messages.map(({ body }) => body.slice().buffer);
}

/** Records of the mix, as they travel. */
export function linesOf(records: number, atMs: number): string[] {
  const mix = new RecordMix(7);
  const context = { takenInMs: atMs, defaultScriptName: "unnamed", lenient: true };
  return Array.from({ length: records }, () => {
    const record = toRecord(mix.next(atMs), context, "", { faults: [], unknownKeys: new Set() });
    if (record === null) throw new Error("a trace item is none");
    return recordLine(record);
  });
}

/** Ships the packed messages to the object store. */
export async function append(env: Env): Promise<void> {
  for (let from = 0; from < packed.length; from += BATCH) {
    const batch = batchOf(packed.slice(from, from + BATCH), clock.nowMs);
    await worker.queue(batch, env);
    batch.assertAcknowledged();
    clock.advanceTo(clock.nowMs + BATCH_MS);
    for (let alarm = nextAlarm(); alarm !== null && alarm.atMs <= clock.nowMs; alarm = nextAlarm()) {
      await fireAlarm(env, alarm);
    }
  }
  packed = [];
}

/** The size of a job's log and of the account's ledger. */
export async function grown(env: Env, jobId: number): Promise<Grown> {
  const log = nodeAt(env.READERS, jobId, 0);
  const ledger = traceLog(env.TRACE_LOG, 0);
  const status = await log.status();
  if (status === null) throw new Error(`job ${jobId} has no log`);
  const { counts } = status;
  return {
    records: counts.received,
    delivered: counts.delivered,
    pending: counts.pending,
    objects: (await log.objects(0, 0)).total,
    logBytes: await (log as unknown as Bench).databaseBytes(),
    ledgerBytes: await (ledger as unknown as Bench).databaseBytes(),
  };
}
