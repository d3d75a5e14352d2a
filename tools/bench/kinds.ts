/** What uploads to each kind of destination take, beside S3. */
import type { CpuClock } from "./cpu-clock.ts";
import type { Harness } from "./harness.ts";
import { type CutSize, KIND_NAMES, type KindName, type ShippedKind, type StackedKind } from "./protocol.ts";
import { type Summary, summary } from "./stats.ts";

export interface KindEffort {
  rounds: number;
  warmUpRounds: number;
  /** Objects of a round. */
  objects: number;
}

export interface KindResult {
  kind: KindName;
  /** An object, as it waits. */
  size: CutSize;
  /** CPU time of an upload, in µs for each record. */
  microseconds: Summary;
  /** To that of S3, round by round. */
  ratio: Summary;
  /** Of one object: what was sent, in bytes; requests; and rows that its upload wrote. */
  sentBytes: number;
  requests: number;
  rows: number;
  /** What a million records are at least, by the limits of the kind and the defaults of a job. */
  objectsOfMillion: number;
}

/** Records of an object: one body of each kind holds them. */
export const KIND_RECORDS = 600;

/** By turns, and only the uploads: their objects are cut before. */
export async function measureKinds(harness: Harness, clock: CpuClock, effort: KindEffort): Promise<KindResult[]> {
  const { rounds, warmUpRounds, objects } = effort;
  const times = new Map<KindName, number[]>(KIND_NAMES.map((kind) => [kind, []]));
  const asking: number[] = [];
  const last = new Map<KindName, { stacked: StackedKind; shipped: ShippedKind }>();
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    await harness.awake();
    const before = clock.nowMs();
    await harness.ask("ping", null);
    if (round >= warmUpRounds) asking.push(clock.nowMs() - before);
    for (const kind of KIND_NAMES) {
      const stacked = await harness.ask<StackedKind>("stackKind", { kind, records: KIND_RECORDS, objects });
      const { tookMs, shipped } = await ship(harness, clock, kind);
      if (round >= warmUpRounds) times.get(kind)?.push(tookMs);
      last.set(kind, { stacked, shipped });
    }
  }
  const nothing = summary(asking).median;
  const records = KIND_RECORDS * objects;
  const of = (kind: KindName): number[] => (times.get(kind) ?? []).map((ms) => ((ms - nothing) / records) * 1_000);
  const s3 = of("s3");
  return KIND_NAMES.map((kind) => {
    const { stacked, shipped } = last.get(kind) as { stacked: StackedKind; shipped: ShippedKind };
    const { use, sentBytes } = shipped;
    const microseconds = of(kind);
    return {
      kind,
      size: stacked.size,
      microseconds: summary(microseconds),
      ratio: summary(microseconds.map((value, round) => value / (s3[round] ?? 0))),
      sentBytes: sentBytes / objects,
      requests: (use.puts + use.otherStoreRequests) / objects,
      rows: Object.values(use.objects).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0) / objects,
      objectsOfMillion: Math.ceil(1e6 / stacked.recordsOfFull),
    };
  });
}

/** A connection inside the runtime may be closed before a request is on it: that asks again. */
async function ship(
  harness: Harness,
  clock: CpuClock,
  kind: KindName,
): Promise<{ tookMs: number; shipped: ShippedKind }> {
  for (let tries = 1; ; tries++) {
    await harness.awake();
    const begunMs = clock.nowMs();
    try {
      const shipped = await harness.ask<ShippedKind>("shipKind", kind);
      if (shipped.sentBytes === 0) throw new Error(`nothing waited for ${kind}`);
      return { tookMs: clock.nowMs() - begunMs, shipped };
    } catch (error) {
      if (tries === 3 || !String(error).includes("Network connection lost")) throw error;
    }
  }
}
