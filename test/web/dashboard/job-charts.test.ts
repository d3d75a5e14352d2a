/** Hours as bars, bars as drawings, and a job in words: pure functions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { percent } from "../../../src/base/words.ts";
import {
  addsUp,
  guaranteeWords,
  limitsWords,
  nameOf,
  objectState,
  outputWords,
  pendingWords,
  recordsWords,
  stateOf,
} from "../../../src/web/dashboard/pages/job/job-text.ts";
import { bucketed, RANGES, type Range, rangeOf, startOf, whole } from "../../../src/web/dashboard/pages/job/series.ts";
import { stack } from "../../../src/web/dashboard/parts/chart.tsx";
import { timeEntered } from "../../../src/web/dashboard/parts/entered-time.ts";
import type { HourView, JobView, LedgerView, ObjectView } from "../../../src/web/dashboard/views/job.ts";

const HOUR_MS = 3_600_000;
const count = fc.nat({ max: 10_000 });

const hourAt = (ms: number): fc.Arbitrary<HourView> =>
  fc.record({
    hour: fc.constant(new Date(ms).toISOString()),
    uploads: fc.record({ ok: count, retried: count, failed: count }),
    errors: fc.dictionary(fc.constantFrom("403", "503", "timeout", "__proto__", "constructor"), count, { maxKeys: 3 }),
    records: count,
    bytes_raw: count,
    bytes_compressed: count,
    duration_ms: fc.record({ sum: count, max: count }),
  });

const sumBy = <T>(all: readonly T[], value: (each: T) => number): number =>
  all.reduce((sum, each) => sum + value(each), 0);

describe("hours as bars", () => {
  const now = fc.integer({ min: Date.parse("2026-01-01"), max: Date.parse("2100-01-01") });
  const range = fc.constantFrom<Range>("24h", "7d", "30d");

  it("keep every sum, and stand in order without a gap", () => {
    const property = fc.property(
      now.chain((nowMs) =>
        range.chain((each) => {
          const firstMs = startOf(each, nowMs);
          const hours = Math.floor((nowMs - firstMs) / HOUR_MS) + 1;
          const all = Array.from({ length: hours }, (_, i) => hourAt(firstMs + i * HOUR_MS));
          return fc.record({ nowMs: fc.constant(nowMs), range: fc.constant(each), hours: fc.tuple(...all) });
        }),
      ),
      ({ nowMs, range: each, hours }) => {
        const { step, hours: wanted } = RANGES[each];
        const firstMs = startOf(each, nowMs);
        const sums = bucketed(hours, firstMs, step);
        expect(sums.map(({ hour }) => hour * HOUR_MS)).toEqual(sums.map((_, i) => firstMs + i * step * HOUR_MS));
        expect(sums.length).toBe(wanted / step);
        // The last bar holds the current hour, and the API remembers every hour asked for.
        expect(nowMs - (sums.at(-1)?.hour ?? 0) * HOUR_MS).toBeLessThan(step * HOUR_MS);
        expect(Math.floor(nowMs / HOUR_MS) - firstMs / HOUR_MS).toBeLessThan(720);
        if (step > 1) expect((firstMs / HOUR_MS) % step).toBe(0);
        const all = whole(sums);
        expect([all.ok, all.retried, all.failed, all.records, all.rawBytes, all.bytes, all.totalMs]).toEqual([
          sumBy(hours, ({ uploads }) => uploads.ok),
          sumBy(hours, ({ uploads }) => uploads.retried),
          sumBy(hours, ({ uploads }) => uploads.failed),
          sumBy(hours, ({ records }) => records),
          sumBy(hours, ({ bytes_raw }) => bytes_raw),
          sumBy(hours, ({ bytes_compressed }) => bytes_compressed),
          sumBy(hours, ({ duration_ms }) => duration_ms.sum),
        ]);
        expect(all.longestMs).toBe(Math.max(...hours.map(({ duration_ms }) => duration_ms.max)));
        const causes = hours.flatMap(({ errors }) => Object.values(errors));
        expect(sumBy(Object.values(all.causes), (n) => n)).toBe(sumBy(causes, (n) => n));
      },
    );
    fc.assert(property, { numRuns: 15 });
  });

  it("are a day, whatever is asked for that is no range", () => {
    expect([null, "", "1y", "constructor", "7d", "30d"].map(rangeOf)).toEqual([
      "24h",
      "24h",
      "24h",
      "24h",
      "7d",
      "30d",
    ]);
  });
});

describe("a stack", () => {
  it("stays in its drawing, stands on what is below, and shows whatever is not nothing", () => {
    const property = fc.property(
      fc.array(fc.nat({ max: 1e12 }), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      (values, more) => {
        const parts = stack(values, sumBy(values, (each) => each) + more);
        let below = 100;
        for (const [i, { y, height }] of parts.entries()) {
          expect(y).toBeGreaterThanOrEqual(0);
          expect(height > 0).toBe((values[i] ?? 0) > 0);
          expect(y).toBeCloseTo(Math.max(0, below - height));
          below = y;
        }
      },
    );
    fc.assert(property);
    expect(stack([0, 0], 0)).toEqual([
      { y: 100, height: 0 },
      { y: 100, height: 0 },
    ]);
  });

  it("says shares without ever calling something nothing, or not all all", () => {
    expect([
      percent(0, 0),
      percent(0, 5),
      percent(5, 5),
      percent(1, 3),
      percent(1, 1e9),
      percent(1e9 - 1, 1e9),
    ]).toEqual(["0 %", "0 %", "100 %", "33.3 %", "< 0.1 %", "> 99.9 %"]);
  });
});

describe("a job in words", () => {
  const job = (fields: Partial<JobView> = {}): JobView =>
    ({ id: 7, name: null, enabled: true, filter: null, error_message: null, ...fields }) as JobView;
  const ledger = (fields: Partial<LedgerView>): LedgerView =>
    ({ pending: 0, pending_objects: 0, oldest_pending_seconds: null, ...fields }) as LedgerView;

  it("is delivered once, or as its destination can tell", () => {
    const said = ["once", "at least once, id: header Idempotency-Key", null].map((guarantee) =>
      guaranteeWords({ guarantee }),
    );
    expect(said).toEqual([
      "once",
      "at least once, id: header Idempotency-Key",
      "unknown: the stored destination cannot be decrypted",
    ]);
  });

  it("has a name, a state, and what it ships", () => {
    expect([nameOf(job()), nameOf(job({ name: " " })), nameOf(job({ name: "shop" }))]).toEqual([
      "Job 7",
      "Job 7",
      "shop",
    ]);
    expect(
      [stateOf(job()), stateOf(job({ enabled: false })), stateOf(job({ error_message: "x" }))].map(
        ({ words }) => words,
      ),
    ).toEqual(["on", "paused", "failing"]);
    expect(recordsWords(job())).toBe("all records, all fields");
    const options = {
      field_names: ["Outcome"],
      sample_rate: 0.015,
      output_type: "csv" as const,
      record_template: "{{ .Outcome }}",
    };
    expect(recordsWords(job({ filter: "{}", output_options: options }))).toBe("filtered, 1.5 % sample, 1 field");
    expect(outputWords(job({ output_options: options }))).toBe("CSV, template, gzip");
    const rows = { rows: "log", truncate: false } as const;
    expect(outputWords(job({ output_options: rows }))).toBe("NDJSON, a row for each log line, whole texts, gzip");
    const columns = { output_type: "parquet", ...rows } as const;
    expect(outputWords(job({ output_options: columns }))).toBe("Parquet, a row for each log line, whole texts");
    expect(limitsWords(job({ max_upload_interval_seconds: 60, max_upload_records: 0, max_upload_bytes: null }))).toBe(
      "60 s, 100,000 records or 100 MB before compression",
    );
    expect(limitsWords(job({ max_upload_records: 1_000 }), { records: 20_000, bytes: 5_000_000 })).toBe(
      "30 s, 1,000 records or 5.0 MB before compression",
    );
  });

  it("says when the next upload starts", () => {
    const words = (fields: Partial<LedgerView>, of: Partial<JobView> = {}) => pendingWords(job(of), ledger(fields));
    expect(words({ pending: 1, oldest_pending_seconds: 12 })).toBe(
      "1 record waiting, the oldest for 12 s. Next upload in 18 to 33 s.",
    );
    expect(words({ pending: 2, oldest_pending_seconds: 40 })).toBe(
      "2 records waiting, the oldest for 40 s. The next upload is due.",
    );
    expect(words({ pending: 2, pending_objects: 1, oldest_pending_seconds: 40 })).toContain("1 object uploading.");
    expect(words({ pending: 2, pending_objects: 1, oldest_pending_seconds: 40 }, { error_message: "HTTP 403" })).toBe(
      "2 records waiting, the oldest for 40 s. 1 object not uploaded yet.",
    );
  });

  it("adds up exactly when every record is somewhere", () => {
    const property = fc.property(
      fc.array(count, { minLength: 6, maxLength: 6 }),
      fc.integer({ min: -5, max: 5 }),
      (of, off) => {
        const [filtered = 0, sampled_out = 0, delivered = 0, pending = 0, set_aside = 0, discarded = 0] = of;
        const sum = sumBy(of, (each) => each);
        const counts = ledger({ received: sum + off, filtered, sampled_out, delivered, pending, set_aside, discarded });
        expect(addsUp(counts)).toEqual({ ok: off === 0, sum });
      },
    );
    fc.assert(property);
  });

  it("has words for each state of an object", () => {
    const of = (fields: Partial<ObjectView>, isReadable = true) =>
      objectState({ attempts: 0, verified: true, ...fields } as ObjectView, isReadable).words;
    // No receiver shows what it has.
    expect(of({ state: "delivered", verified: false }, false)).toBe("delivered");
    expect([
      of({ state: "delivered" }),
      of({ state: "delivered", verified: false }),
      of({ state: "waiting" }),
      of({ state: "waiting", attempts: 2 }),
      of({ state: "set_aside" }),
      of({ state: "discarded" }),
    ]).toEqual(["delivered", "delivered, not verified", "waiting", "waiting, retrying", "on hold", "discarded"]);
  });

  it("takes a time without a zone as UTC, and leaves all else to the API", () => {
    expect(
      ["2026-11-20", "2026-11-20 12:00", " 2026-11-20T12:00:01.5 ", "2026-11-20T12:00:00+01:00", "yesterday", ""].map(
        timeEntered,
      ),
    ).toEqual([
      "2026-11-20T00:00:00Z",
      "2026-11-20T12:00:00Z",
      "2026-11-20T12:00:01.5Z",
      "2026-11-20T12:00:00+01:00",
      "yesterday",
      "",
    ]);
  });
});
