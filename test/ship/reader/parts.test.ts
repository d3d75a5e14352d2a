/** A job whose path tells hours and scripts apart: batches and objects of parts of a day. */
import { abortAllDurableObjects } from "cloudflare:test";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { prepare } from "../../../src/ship/job/build.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { Attempts } from "../../../src/ship/reader/attempts.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { id, loadedRecord } from "../consumer/scripted.ts";
import { append, configure, cutObjects, forgetJobs, inLog, jobInto, textOfMember } from "./direct.ts";

const HOUR_MS = 3_600_000;

const jobAt = (path: string, fields: Partial<JobConfig> = {}): JobConfig => jobInto("nowhere", { path, ...fields });

const event = (ScriptName: string, EventTimestampMs = NOON, more: Partial<TraceRecord> = {}): TraceRecord =>
  traceRecord({ ScriptName, EventTimestampMs, ...more });

/** What a job ships of these records is appended to the log, and read. */
function take(job: JobConfig, records: readonly TraceRecord[]): Promise<void> {
  const message = { id: id(1), takenInMs: NOON, keyed: false, shards: 1, records: records.length };
  return append(job, prepare(job, [{ message, records: records.map(loadedRecord) }]).fragments);
}

/** Cuts all that waits, by a change of the format. @returns the changed job. */
async function cutAll(job: JobConfig): Promise<JobConfig> {
  const changed = { ...job, version: job.version + 1, outputVersion: job.version + 1 };
  await configure(changed);
  return changed;
}

const folders = (storage: DurableObjectStorage): string[] =>
  cutObjects(storage).map(({ row }) => row.key.slice(0, row.key.lastIndexOf("/")));

/** No store takes anything: what is cut stays, and can be read. */
beforeEach(() => {
  vi.spyOn(Attempts.prototype, "put").mockResolvedValue({
    kind: "failed",
    error: { kind: "busy", words: "HTTP 503", retryAfterS: null, cause: 503 },
  });
});

describe("an object", () => {
  const name = fc.constantFrom("shop", "..", "", "a/b", "é".repeat(60), "_test");
  const ms = fc.nat({ max: 5 * HOUR_MS }).map((more) => NOON + 10 * HOUR_MS + more);
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.array(fc.tuple(name, ms), { minLength: 1, maxLength: 12 }) },
    { weight: 2, arbitrary: fc.constantFrom("alarm" as const, "cron" as const, "config" as const, "die" as const) },
  );
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
  const UNITS = { "{DATE}": 24 * HOUR_MS, "{HOUR}": HOUR_MS } as const;

  it("has records of one part of a day, and each record is in one, whatever comes in which order", async () => {
    const clock = setClock(NOON);
    let jobs = 5_000;
    const run = async (path: string, most: number, steps: readonly Step[]): Promise<void> => {
      jobs += 1;
      const limits = { bytes: 100_000_000, records: most, intervalMs: 30_000 };
      forgetJobs();
      let job = { ...jobAt(path, { limits }), id: jobs };
      const sent = new Map<string, TraceRecord>();
      await configure(job);
      for (const each of steps) {
        if (each === "die") await abortAllDurableObjects();
        else
          await inLog(job, async (log) => {
            log.alarmWaitMs = 0;
            if (each === "config") job = await cutAll(job);
            else if (each === "cron") await log.drive("scheduled", 0);
            else if (each === "alarm") {
              clock.advance(40_000);
              await log.alarm();
            } else {
              const records = each.map(([script, at], i) => event(script, at, { Outcome: `${sent.size + i}` }));
              for (const record of records) sent.set(record.Outcome, record);
              await take(job, records);
            }
          });
      }
      await inLog(job, async (_log, storage) => {
        await cutAll(job);
        const found = cutObjects(storage).flatMap(({ row, bytes }) => {
          const lines = textOfMember(bytes).split("\n").slice(0, -1);
          const records = lines.map((line) => JSON.parse(line) as TraceRecord);
          const units = path.includes("{HOUR}") ? UNITS["{HOUR}"] : UNITS["{DATE}"];
          expect(new Set(records.map((record) => Math.floor(record.EventTimestampMs / units))).size).toBe(1);
          if (path.includes("{SCRIPT}")) expect(new Set(records.map(({ ScriptName }) => ScriptName)).size).toBe(1);
          expect(records.length).toBe(row.records);
          return records.map(({ Outcome }) => Outcome);
        });
        expect(found.toSorted()).toEqual([...sent.keys()].toSorted());
      });
    };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("{HOUR}", "{SCRIPT}", "a/{SCRIPT}/{DATE_ISO}/{HOUR}", "{DATE}"),
        fc.constantFrom(3, 1_000),
        fc.array(step, { minLength: 1, maxLength: 12 }),
        run,
      ),
      { numRuns: 25 },
    );
  }, 120_000);

  it("is in the folder of its part", async () => {
    setClock(NOON);
    const job = jobAt("{SCRIPT}/dt={DATE_ISO}/hour={HOUR}");
    await inLog(job, async (_log, storage) => {
      await configure(job);
      await take(job, [event("shop"), event("a/b"), event("shop", NOON + HOUR_MS), event("")]);
      await cutAll(job);
      expect(folders(storage).toSorted()).toEqual([
        "_none/dt=2100-11-20/hour=12",
        "a%2Fb/dt=2100-11-20/hour=12",
        "shop/dt=2100-11-20/hour=12",
        "shop/dt=2100-11-20/hour=13",
      ]);
    });
  });

  it("that was cut by another path keeps what it is of: a folder of many scripts is _mixed", async () => {
    setClock(NOON);
    const plain = jobInto("nowhere");
    await inLog(plain, async (_log, storage) => {
      await configure(plain);
      await take(plain, [event("shop", NOON + HOUR_MS), event("cart", NOON + 2 * HOUR_MS)]);
      const cut = await cutAll(plain);
      await take(cut, [event("open")]);
      const moved = { ...cut, version: 3, destinationVersion: 3, path: "{SCRIPT}/{HOUR}" };
      await configure(moved);
      expect(folders(storage)).toEqual(["_mixed/13"]);
      await take(moved, [event("shop")]);
      const next = await cutAll(moved);
      // What waited in a batch of the old path is no part of the new one.
      expect(folders(storage).toSorted()).toEqual(["_mixed/12", "_mixed/13", "shop/12"]);
      await configure({ ...next, version: 9, destinationVersion: 9, path: "{YYYY}/{SCRIPT}" });
      expect(folders(storage).toSorted()).toEqual(["2100/_mixed", "2100/_mixed", "2100/shop"]);
      await configure({ ...next, version: 10, destinationVersion: 10, path: "all" });
      expect(new Set(folders(storage))).toEqual(new Set(["all"]));
    });
  });

  it("keeps its folder under a new number, and when it is sent again", async () => {
    setClock(NOON);
    const job = jobAt("{SCRIPT}/{HOUR}");
    const put = vi.spyOn(Attempts.prototype, "put");
    await inLog(job, async (log, storage) => {
      await configure(job);
      await take(job, [event("shop")]);
      put.mockResolvedValueOnce({ kind: "key_taken" });
      put.mockResolvedValueOnce({
        kind: "failed",
        error: { kind: "refused", words: "HTTP 400", cause: 400 },
      });
      await log.drive("manual", 10_000);
      expect(cutObjects(storage).map(({ row }) => [row.number, row.state])).toEqual([[2, "set_aside"]]);
      log.asideResend(2);
      expect(folders(storage)).toEqual(["shop/12"]);
    });
  });
});

describe("many scripts", () => {
  const scripts = (count: number): TraceRecord[] => Array.from({ length: count }, (_, n) => event(`s${n}`));

  it("are left open by the cron beyond 64, the oldest first, and cut by their own interval or by hand", async () => {
    const clock = setClock(NOON);
    const job = jobAt("{SCRIPT}", { limits: { bytes: 1e8, records: 1e5, intervalMs: 300_000 } });
    await inLog(job, async (log, storage) => {
      log.alarmWaitMs = 0;
      await configure(job);
      await take(job, scripts(64));
      await log.drive("scheduled", 0);
      expect(cutObjects(storage)).toHaveLength(64);
      await take(job, scripts(100));
      await log.drive("scheduled", 0);
      const cut = cutObjects(storage);
      expect(cut.slice(64).map(({ row }) => row.part)).toEqual(scripts(64).map(({ ScriptName }) => `/${ScriptName}`));
      expect(new Set(cut.map(({ row }) => row.reason))).toEqual(new Set(["scheduled"]));
      clock.advance(300_000);
      await log.alarm();
      expect(
        cutObjects(storage)
          .slice(128)
          .map(({ row }) => row.reason),
      ).toEqual(Array(36).fill("interval"));
      await take(job, scripts(100));
      await log.drive("manual", 0);
      expect(cutObjects(storage)).toHaveLength(264);
      expect(log.status()?.counts).toMatchObject({ received: 264, pending: 264 });
    });
  });

  it("do not change what the cron cuts of days", async () => {
    setClock(NOON);
    const job = jobInto("nowhere");
    await inLog(job, async (log, storage) => {
      await configure(job);
      await take(
        job,
        Array.from({ length: 100 }, (_, n) => event("shop", NOON + n * 24 * HOUR_MS)),
      );
      await log.drive("scheduled", 0);
      expect(cutObjects(storage)).toHaveLength(100);
    });
  });

  it("as 3,000 names in a minute are taken, cut a thousand at a time, and said", async () => {
    const clock = setClock(NOON);
    const job = jobAt("{SCRIPT}/{HOUR}");
    await inLog(job, async (log, { sql }) => {
      log.alarmWaitMs = 0;
      await configure(job);
      const all = scripts(3_000);
      for (let n = 0; n < all.length; n += 1_000) await take(job, all.slice(n, n + 1_000));
      expect(log.status()).toMatchObject({ scripts: 3_000, counts: { pending: 3_000 } });
      clock.advance(30_000);
      for (let turn = 1; turn <= 3; turn++) {
        await log.alarm();
        expect(sql.exec("SELECT count(*) AS n FROM object").one()).toEqual({ n: 1_000 * turn });
      }
      expect(log.status()).toMatchObject({ scripts: 2_000, counts: { pending: 3_000 } });
      clock.advance(600_000);
      expect(log.status()?.scripts).toBe(0);
    });
  });

  it("are counted where a path tells them apart, whatever the hours", async () => {
    setClock(NOON);
    const hours = jobAt("{HOUR}");
    await inLog(hours, async (log) => {
      await configure(hours);
      await take(hours, [event("a"), event("b", NOON + HOUR_MS)]);
      expect(log.status()).not.toHaveProperty("scripts");
      const both = { ...hours, version: 2, path: "{HOUR}/{SCRIPT}", destinationVersion: 2 };
      await configure(both);
      await take(both, [event("a"), event("b", NOON + HOUR_MS), event("b")]);
      expect(log.status()?.scripts).toBe(2);
    });
  });
});
