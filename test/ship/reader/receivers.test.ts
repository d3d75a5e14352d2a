import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { WriteOutcome } from "../../../src/ship/destinations/destination.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { asked, POISON, RECEIVERS } from "../destinations/receivers.ts";
import { append, configure, cutObjects, format, fragmentsOf, inLog, jobInto, textOfMember } from "./direct.ts";
import { countsOf, drain, jobTo, marks, receiver, record, records, rowsOf } from "./receiver-log.ts";

type Fixture = (typeof RECEIVERS)[string];
const { https, elastic, otlp } = RECEIVERS as { https: Fixture; elastic: Fixture; otlp: Fixture };

describe("a receiver that takes an object", () => {
  it("has its records, and the log says that it did not see them", async () => {
    const { held } = receiver(https);
    const job = jobTo(https.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(3)));
      await log.drive("manual", 10_000);
      expect(countsOf(log)).toEqual({ received: 3, delivered: 3, pending: 0, set_aside: 0, discarded: 0, resent: 0 });
      expect(rowsOf(storage)).toMatchObject([{ state: "delivered", verified: 0, attempts: 1, records: 3 }]);
    });
    expect(held.taken().sort()).toEqual(marks(3));
  });

  it("whose answer is lost gets the same id again, and the repeat is counted", async () => {
    let lost = 1;
    const { held, ids, clock } = receiver(https, (fetch) => async (url, init) => {
      const answer = await fetch(url, init);
      if (lost-- > 0) throw new TypeError("connection reset");
      return answer;
    });
    const job = jobTo(https.conf);
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(3)));
      await drain(log, clock, 3);
      expect(countsOf(log)).toMatchObject({ received: 3, delivered: 3, resent: 3 });
    });
    expect(held.taken().length).toBe(6);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
  });

  it.each([
    ["key", https.conf.replace("Bearer%20", "Bearer%20new-"), 3],
    ["parameter", `${https.conf}&env=prod`, 3],
    ["path", https.conf.replace("/in?", "/out?"), 0],
    ["host", https.conf.replace("logs.example", "logs2.example"), 0],
  ])(
    "whose answer is lost, and then gets another %s: what it may have is still counted",
    async (_what, conf, resent) => {
      let lost = 1;
      const { held, clock } = receiver(https, (fetch) => async (url, init) => {
        const answer = await fetch(url, init);
        if (lost-- > 0) throw new TypeError("connection reset");
        return answer;
      });
      await inLog(jobTo(https.conf), async (log) => {
        await configure(jobTo(https.conf));
        await append({ id: 1 }, fragmentsOf(NDJSON, records(3)));
        await log.drive("manual", 10_000);
        await configure(jobTo(conf, { version: 2, modifiedVersion: 2, destinationVersion: 2 }));
        await drain(log, clock, 2);
        expect(countsOf(log)).toMatchObject({ received: 3, delivered: 3, resent });
      });
      expect(held.taken()).toHaveLength(6);
    },
  );
});

describe("a receiver that takes an object partly", () => {
  it("and names the record that it refuses, behind others that it took: these are sent again, and counted", async () => {
    const splunk = RECEIVERS["splunk, events"] as Fixture;
    const { held, clock } = receiver(splunk);
    const job = jobTo(splunk.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [...records(5), record("mark-x", POISON), record("mark-7")]));
      await drain(log, clock, 3);
      expect(countsOf(log)).toMatchObject({ received: 7, delivered: 6, pending: 0, set_aside: 1, resent: 6 });
      const aside = rowsOf(storage).find(({ state }) => state === "set_aside");
      expect(aside?.error).toContain("HTTP 400 Splunk.6");
    });
    expect(held.taken().sort()).toEqual([...marks(5), ...marks(5), "mark-7"].sort());
  });

  it("gets again what it had no room for, and nothing else", async () => {
    let rounds = 2;
    const sent: number[] = [];
    const { clock } = receiver(elastic, (fetch) => async (url, init) => {
      const { text } = await asked(url, init);
      const lines = text.trimEnd().split("\n");
      const count = lines.length / 2;
      sent.push(count);
      // Every second item, twice.
      if (rounds-- <= 0) return fetch(url, init);
      const items = Array.from({ length: count }, (_, i) => ({
        create: i % 2 === 0 ? { status: 201 } : { status: 429, error: { type: "es_rejected_execution_exception" } },
      }));
      return Response.json({ errors: true, items });
    });
    const job = jobTo(elastic.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(8)));
      await log.drive("manual", 10_000);
      expect(countsOf(log)).toMatchObject({ received: 8, delivered: 4, pending: 4, resent: 0 });
      expect(log.status()).toMatchObject({ errorMessage: expect.stringContaining("HTTP 429"), parked: false });
      // Half of 5 s, as chance is 0 here.
      expect(rowsOf(storage).at(-1)).toMatchObject({ attempts: 1, next_attempt_ms: NOON + 2_500 });
      await drain(log, clock, 6);
      expect(countsOf(log)).toMatchObject({ received: 8, delivered: 8, pending: 0, set_aside: 0, resent: 0 });
      expect(rowsOf(storage).every(({ state }) => state === "delivered")).toBe(true);
    });
    expect(sent).toEqual([8, 4, 2]);
  });

  it("goes on at the new destination with what the old one has not taken", async () => {
    const { clock } = receiver(elastic);
    const job = jobTo(elastic.conf);
    const { name, control } = freshBucket();
    const moved = jobInto(name, { version: 2, modifiedVersion: 2, destinationVersion: 2 });
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [...records(2), record("mark-x", POISON)]));
      const { put } = log.attempts;
      vi.spyOn(log.attempts, "put").mockImplementationOnce(async (...args) => {
        const outcome = await put.apply(log.attempts, args);
        await configure(moved);
        vi.mocked(platform.fetch).mockRestore();
        return outcome;
      });
      await drain(log, clock, 3);
      expect(countsOf(log)).toMatchObject({ received: 3, delivered: 3, set_aside: 0, pending: 0 });
    });
    const stored = (await control.objects()).filter(({ key }) => key.endsWith(".log.gz"));
    expect(stored).toHaveLength(1);
  });

  it("keeps nothing back of a job that is discarded meanwhile, and loses nothing of what was taken", async () => {
    const { clock } = receiver(elastic);
    const job = jobTo(elastic.conf);
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [...records(2), record("mark-x", POISON)]));
      const { put } = log.attempts;
      vi.spyOn(log.attempts, "put").mockImplementationOnce(async (...args) => {
        const outcome = await put.apply(log.attempts, args);
        await configure({ ...job, version: 2, deletedMs: NOON, discard: true });
        return outcome;
      });
      await drain(log, clock, 3);
      expect(countsOf(log)).toMatchObject({ received: 3, delivered: 2, pending: 0 });
    });
  });

  /** Names none that it rejects, and takes what is no record. */
  const rejecting = {
    ...otlp,
    service: () => ({
      taken: () => [],
      fetch: async (url: string, init: RequestInit) => {
        const rejectedLogRecords = (await asked(url, init)).text.split("logship.record.id").length - 1;
        return Response.json({ partialSuccess: { rejectedLogRecords } });
      },
    }),
  };

  it.each([
    ["named", elastic],
    ["not named", rejecting],
  ])(
    "parks where it refuses every record of one object after another (%s), and sets aside no more",
    async (_how, fixture) => {
      const { clock } = receiver(fixture);
      const job = jobTo(fixture.conf, { limits: { records: 2, bytes: 1_000_000, intervalMs: 30_000 } });
      await inLog(job, async (log) => {
        await configure(job);
        for (let i = 0; i < 3; i++)
          await append(job, fragmentsOf(NDJSON, [record(`mark-${i}`, POISON), record(`mark-1${i}`, POISON)]));
        await drain(log, clock, 4);
        expect(countsOf(log)).toMatchObject({ received: 6, set_aside: 2, pending: 4 });
        expect(log.status()).toMatchObject({
          parked: true,
          errorMessage: expect.stringContaining("one object after another"),
        });
      });
    },
  );

  it("and has another reason for every record: few objects are set aside, of which the last has the others", async () => {
    const items = Array.from({ length: 300 }, (_, i) => ({
      create: i === 299 ? { status: 201 } : { status: 400, error: { type: `type_${i}` } },
    }));
    receiver(elastic, () => async () => Response.json({ errors: true, items }));
    await inLog(jobTo(elastic.conf), async (log, storage) => {
      await configure(jobTo(elastic.conf));
      await append({ id: 1 }, fragmentsOf(NDJSON, records(300)));
      await log.drive("manual", 10_000);
      expect(countsOf(log)).toMatchObject({ received: 300, delivered: 1, set_aside: 299, pending: 0 });
      const [, ...aside] = rowsOf(storage);
      expect(aside.map(({ records: n }) => n)).toEqual([...Array.from({ length: 16 }, () => 1), 283]);
      expect(aside.at(-1)?.error).toContain("HTTP 400 type_16; and others");
    });
  });

  it.each([
    ["nothing of a record", { create: {} }, 4],
    ["no status that there is", { create: { status: 1e308 } }, 4],
    ["that something broke", { create: { status: 500 } }, 4],
    ["that a shard is not there", { create: { status: 503 } }, 0],
    ["that it has no room", { create: { status: 429 } }, 0],
  ])("and says %s: what is sent again is counted where it may be there", async (_what, odd, resent) => {
    const created = { create: { status: 201 } };
    const answers: unknown[][] = [
      [odd, odd, odd],
      [created, odd, created],
    ];
    const { clock } = receiver(elastic, (fetch) => async (url, init) => {
      const items = answers.shift();
      return items === undefined ? fetch(url, init) : Response.json({ errors: true, items });
    });
    await inLog(jobTo(elastic.conf), async (log) => {
      await configure(jobTo(elastic.conf));
      await append({ id: 1 }, fragmentsOf(NDJSON, records(3)));
      await drain(log, clock, 4);
      expect(countsOf(log)).toMatchObject({ received: 3, delivered: 3, pending: 0, resent });
    });
  });

  it("and does not say which records it refuses: all are kept, and those counted", async () => {
    receiver(elastic);
    const job = jobTo(elastic.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(5)));
      vi.spyOn(log.attempts, "put").mockResolvedValueOnce({
        kind: "partly",
        isSent: true,
        again: [],
        error: null,
        refused: [],
        unnamed: { records: 2, words: "2 of these were refused" },
      });
      await log.drive("manual", 10_000);
      expect(countsOf(log)).toMatchObject({ received: 5, delivered: 3, set_aside: 2, pending: 0 });
      const [, kept] = cutObjects(storage);
      expect(kept?.row).toMatchObject({ state: "set_aside", records: 2, error: expect.stringContaining("2 of these") });
      expect(textOfMember(kept?.bytes as Uint8Array<ArrayBuffer>)).toBe(records(5).join(""));
    });
  });

  const left = { isSent: true, again: [], error: null, refused: [], unnamed: null };
  it.each<[string, WriteOutcome, object]>([
    ["is taken", { kind: "delivered", verified: false }, { delivered: 5, set_aside: 0 }],
    ["is divided", { kind: "divide", records: 2, bytes: 1_000, why: "HTTP 413" }, { delivered: 3, set_aside: 2 }],
    ["is refused", { kind: "partly", ...left, refused: [{ record: 0, words: "bad" }] }, { delivered: 3, set_aside: 2 }],
    ["has to wait", { kind: "partly", ...left, again: [0, 1, 2, 3, 4] }, { delivered: 3, set_aside: 2 }],
    // As a store may say of it, to which it was sent in between.
    ["gets another key", { kind: "key_taken" }, { delivered: 5, set_aside: 0, resent: 10 }],
  ])("keeps its books when what it does not name is sent again, and %s", async (_how, outcome, counts) => {
    const { clock } = receiver(https);
    await inLog(jobTo(https.conf), async (log, storage) => {
      await configure(jobTo(https.conf));
      await append({ id: 1 }, fragmentsOf(NDJSON, records(5)));
      const unnamed: WriteOutcome = { kind: "partly", ...left, unnamed: { records: 2, words: "2 of these" } };
      const write = vi.spyOn(log.attempts, "put").mockResolvedValueOnce(unnamed);
      await log.drive("manual", 10_000);
      const [, kept] = rowsOf(storage);
      expect(log.asideResend(kept?.number ?? 0)).toMatchObject({ state: "waiting", records: 2 });
      write.mockRestore();
      const outcomeOf = vi.spyOn(log.attempts, "settle");
      const { settle } = Object.getPrototypeOf(log.attempts) as typeof log.attempts;
      outcomeOf.mockImplementationOnce((object, _outcome, job, startedMs) =>
        settle.call(log.attempts, object, outcome, job, startedMs),
      );
      clock.advance(60_000);
      await log.drive("manual", 10_000);
      // All five lines were sent, of which three had been taken.
      expect(countsOf(log)).toMatchObject({ received: 5, pending: 0, resent: 5, ...counts });
    });
  });
});

describe("an object that is more than one request may hold", () => {
  it("goes on as several, in order, each of which fits; each has its own progress", async () => {
    let failing = false;
    const counts: number[] = [];
    const { held, ids, clock } = receiver(elastic, (fetch) => async (url, init) => {
      if (failing && counts.length === 1) {
        counts.push(0);
        return new Response(null, { status: 429 });
      }
      counts.push((await asked(url, init)).text.trimEnd().split("\n").length / 2);
      return fetch(url, init);
    });
    failing = true;
    // Cut for a store: a receiver takes 10,000.
    const limits = { records: 50_000, bytes: 100_000_000, intervalMs: 30_000 };
    const job = jobTo(elastic.conf, { limits });
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(25_000)));
      await drain(log, clock, 8);
      expect(countsOf(log)).toMatchObject({ received: 25_000, delivered: 25_000, pending: 0, resent: 0 });
      const rows = rowsOf(storage);
      expect(rows.map(({ records: n }) => n)).toEqual([10_000, 10_000, 5_000]);
      expect(rows.reduce((sum, { raw_bytes }) => sum + raw_bytes, 0)).toBe(records(25_000).join("").length);
    });
    expect(counts.filter((n) => n > 0).sort((a, b) => b - a)).toEqual([10_000, 10_000, 5_000]);
    expect(held.taken().length).toBe(25_000);
    expect(new Set(held.taken()).size).toBe(25_000);
    // What it is sent under never names other records.
    expect(new Set(ids).size).toBe(3);
  });

  it("is set aside whole where it is nothing that can be divided", async () => {
    const { clock } = receiver(elastic);
    const csv = format({ type: "csv", recordPrefix: "", recordSuffix: "\n" });
    const job = jobTo(elastic.conf, {
      output: csv,
      limits: { records: 50_000, bytes: 100_000_000, intervalMs: 30_000 },
    });
    await inLog(job, async (log) => {
      await configure(job);
      await append(
        job,
        fragmentsOf(
          csv,
          Array.from({ length: 20_000 }, (_, i) => `${i},${"x".repeat(900)}\n`),
        ),
      );
      await drain(log, clock, 3);
      expect(countsOf(log)).toMatchObject({ received: 20_000, set_aside: 20_000, pending: 0 });
    });
  });
});
