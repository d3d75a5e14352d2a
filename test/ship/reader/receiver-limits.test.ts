/** What a log brings to each kind of receiver: within its limits, each record once. */
import { describe, expect, it } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { asked, marksIn, POISON, RECEIVERS, type ReceiverFixture } from "../destinations/receivers.ts";
import { append, configure, cutObjects, fragmentsOf, inLog, textOfMember } from "./direct.ts";
import { countsOf, drain, jobTo, marks, receiver, record, records } from "./receiver-log.ts";

interface Limits {
  /** Of one request: records, and bytes before compression. null: there is none. */
  records: number | null;
  bytes: number | null;
  /** Of one record as it is sent, or of a value in it. null: there is none. */
  record: number | null;
}

const M = 1_000_000;

/** As the services, or their defaults, have them: docs/destinations.md. */
const LIMITS: { readonly [name: string]: Limits } = {
  https: { records: null, bytes: null, record: null },
  sumo: { records: 10_000, bytes: M, record: M },
  splunk: { records: 10_000, bytes: M, record: M },
  "splunk, events": { records: 10_000, bytes: M, record: M - 1 },
  datadog: { records: 1_000, bytes: 5 * M, record: M },
  "New Relic": { records: 5_000, bytes: M, record: 128_000 },
  elastic: { records: 10_000, bytes: 10 * M, record: 10 * M - 150 },
  loki: { records: 20_000, bytes: 4 * M, record: 262_144 },
  otlp: { records: 10_000, bytes: 10 * M, record: 10 * M - 10_000 },
  clickhouse: { records: 50_000, bytes: 16 * M, record: 16 * M - 1_000 },
  axiom: { records: 10_000, bytes: 8 * M, record: M },
};

const KINDS = Object.keys(RECEIVERS);
const fixtureOf = (name: string): ReceiverFixture => RECEIVERS[name] as ReceiverFixture;
const limitsOf = (name: string): Limits => LIMITS[name] as Limits;

/** Uploads until nothing waits, and says how a receiver is left. */
async function ship(log: JobReader, clock: { advance(ms: number): void }, texts: string[]): Promise<void> {
  await append({ id: 1 }, fragmentsOf(NDJSON, texts));
  for (let i = 0; i < 4 && countsOf(log).pending > 0; i++) await drain(log, clock, 4);
}

it("knows the limits of every kind", () => expect(Object.keys(LIMITS).toSorted()).toEqual(KINDS.toSorted()));

describe("a batch of 10 MB", () => {
  const COUNT = 10_400;
  const batch = records(COUNT, "x".repeat(900));
  expect(batch.join("").length).toBeGreaterThan(10 * M);

  // A log hands over what was cut for another destination, too.
  it.each(KINDS)("reaches %s in requests within its limits", async (name) => {
    const limits = limitsOf(name);
    const sent: { records: number; bytes: number }[] = [];
    const { held, clock } = receiver(fixtureOf(name), (fetch) => async (url, init) => {
      const { text } = await asked(url, init);
      sent.push({ records: marksIn(text).length, bytes: new TextEncoder().encode(text).length });
      return fetch(url, init);
    });
    const job = jobTo(fixtureOf(name).conf);
    await inLog(job, async (log) => {
      await configure(job);
      await ship(log, clock, batch);
      expect(countsOf(log)).toMatchObject({ received: COUNT, delivered: COUNT, pending: 0, set_aside: 0, resent: 0 });
    });
    expect(Math.max(...sent.map(({ records }) => records))).toBeLessThanOrEqual(limits.records ?? COUNT);
    expect(Math.max(...sent.map(({ bytes }) => bytes))).toBeLessThanOrEqual(limits.bytes ?? Number.POSITIVE_INFINITY);
    expect(sent.reduce((sum, { records }) => sum + records, 0)).toBe(COUNT);
    expect(held.taken().toSorted()).toEqual(marks(COUNT));
  });
});

describe("a record over the limit", () => {
  const limited = KINDS.filter((name) => limitsOf(name).record !== null);

  it.each(limited)("of %s is set aside whole, and the others arrive", async (name) => {
    const limit = limitsOf(name).record ?? 0;
    const large = record("mark-large", "x".repeat(limit));
    const good = records(4);
    const { held, clock } = receiver(fixtureOf(name));
    const job = jobTo(fixtureOf(name).conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await ship(log, clock, [...good.slice(0, 2), large, ...good.slice(2)]);
      expect(countsOf(log)).toMatchObject({ received: 5, delivered: 4, pending: 0, set_aside: 1, resent: 0 });
      const aside = cutObjects(storage).filter(({ row }) => row.state === "set_aside");
      expect(aside).toHaveLength(1);
      expect(aside[0]?.row.error).toMatch(
        new RegExp(`a record (?:of|with a value of) \\d+ bytes; .+ takes ${limit}\\b`),
      );
      expect(textOfMember(aside[0]?.bytes as Uint8Array)).toBe(large);
    });
    expect(held.taken().toSorted()).toEqual(marks(4));
  });
});

describe("a record that is refused", () => {
  it.each(KINDS)("by %s is set aside by itself", async (name) => {
    const { held, clock } = receiver(fixtureOf(name));
    const job = jobTo(fixtureOf(name).conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      const good = records(6);
      await ship(log, clock, [...good.slice(0, 3), record("mark-bad", POISON), ...good.slice(3)]);
      expect(countsOf(log)).toMatchObject({ received: 7, delivered: 6, pending: 0, set_aside: 1 });
      const aside = cutObjects(storage).find(({ row }) => row.state === "set_aside");
      expect(textOfMember(aside?.bytes as Uint8Array)).toBe(record("mark-bad", POISON));
    });
    expect(new Set(held.taken())).toEqual(new Set(marks(6)));
  });
});
