/** What is found out about uploads that fail beside others, and what is said of it. */
import { describe, expect, it, vi } from "vitest";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import type { WriteOutcome } from "../../../src/ship/destinations/destination.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { until } from "../../support/until.ts";
import { asked, RECEIVERS, type ReceiverFixture } from "../destinations/receivers.ts";
import { append, configure, format, fragmentsOf, inLog, jobInto } from "./direct.ts";
import { countsOf, jobTo, receiver, record, records, rowsOf } from "./receiver-log.ts";

const fixtureOf = (name: string): ReceiverFixture => RECEIVERS[name] as ReceiverFixture;
const [https, splunk] = [fixtureOf("https"), fixtureOf("splunk, events")];
const VENOM = "venom";

/** Numbers from 0 to 1 that look like chance, the same for each seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Time passes in steps, and what is due is sent. @param each before every step. */
async function passes(
  log: JobReader,
  clock: { advance(ms: number): void },
  { ms, stepMs = 5_000 }: { ms: number; stepMs?: number },
  each: (n: number) => Promise<void> = async () => {},
): Promise<void> {
  for (let n = 0; n * stepMs < ms; n++) {
    await each(n);
    clock.advance(stepMs);
    await log.drive("scheduled", 10_000);
  }
}

const isTest = (init: RequestInit): boolean =>
  (new Headers(init.headers).get("idempotency-key") ?? "").startsWith("test-");

/** One record arrives with each step. */
const arriving = (job: JobConfig) => (n: number) => append(job, fragmentsOf(NDJSON, [record(`mark-${n}`)]));

describe("a destination that fails on half of what it gets, by chance", () => {
  it.each([1, 2, 3])("has no sound record set aside, where records come one by one (%i)", async (seed) => {
    const random = chance(seed);
    const { clock } = receiver(https, (fetch) => async (url, init) => {
      return random() < 0.5 ? new Response(null, { status: 503 }) : fetch(url, init);
    });
    const job = jobTo(https.conf);
    await inLog(job, async (log) => {
      await configure(job);
      await passes(log, clock, { ms: 1_800_000, stepMs: 30_000 }, arriving(job));
      expect(countsOf(log)).toMatchObject({ received: 60, set_aside: 0 });
      expect(countsOf(log).delivered).toBeGreaterThan(10);
    });
  });

  it("has no sound object set aside, where it is a store", async () => {
    const random = chance(4);
    const { clock } = receiver(https);
    const job = jobInto("unused");
    await inLog(job, async (log) => {
      await configure(job);
      const busy: WriteOutcome = {
        kind: "failed",
        error: { kind: "busy", words: "HTTP 503 SlowDown", retryAfterS: null, cause: 503 },
      };
      vi.spyOn(log.attempts, "put").mockImplementation(async () => {
        return random() < 0.5 ? busy : { kind: "delivered", verified: true };
      });
      await passes(log, clock, { ms: 1_800_000, stepMs: 30_000 }, arriving(job));
      expect(countsOf(log)).toMatchObject({ received: 60, set_aside: 0 });
    });
  });
});

describe("what a job says once nothing of it fails any more", () => {
  it("is nothing, after what failed was set aside and deleted", async () => {
    const { clock } = receiver(https, (fetch) => async (url, init) => {
      return isTest(init) ? fetch(url, init) : new Response(null, { status: 500 });
    });
    const job = jobTo(https.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(1)));
      await passes(log, clock, { ms: 300_000 });
      expect(countsOf(log)).toMatchObject({ set_aside: 1, pending: 0 });
      expect(log.status()).toMatchObject({ errorMessage: "an object is on hold: HTTP 500", failingSinceMs: null });
      log.asideDiscard(rowsOf(storage)[0]?.number ?? 0);
      expect(log.status()).toMatchObject({ errorMessage: null, lastErrorMs: null, failingSinceMs: null });
    });
  });

  it("is that it was set aside, after that was done by hand; nothing waits for its delay", async () => {
    let isShut = true;
    const { clock } = receiver(https, (fetch) => async (url, init) => {
      return isShut ? new Response(null, { status: 401 }) : fetch(url, init);
    });
    const job = jobTo(https.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(2)));
      await passes(log, clock, { ms: 35_000 });
      expect(log.status()).toMatchObject({ parked: true });
      log.asidePut(rowsOf(storage)[0]?.number ?? 0);
      expect(log.status()).toMatchObject({ parked: false, failingSinceMs: null });
      expect(log.status()?.errorMessage).toContain("put on hold by hand");
      isShut = false;
      await append(job, fragmentsOf(NDJSON, [record("mark-3")]));
      await passes(log, clock, { ms: 35_000, stepMs: 35_000 });
      expect(countsOf(log)).toMatchObject({ delivered: 1, set_aside: 2, pending: 0 });
    });
  });

  it("still is what another object fails on", async () => {
    const { clock } = receiver(https, () => async () => new Response(null, { status: 401 }));
    const job = jobTo(https.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(1)));
      await passes(log, clock, { ms: 35_000 });
      await append(job, fragmentsOf(NDJSON, records(1)));
      await passes(log, clock, { ms: 180_000 });
      log.asidePut(rowsOf(storage)[0]?.number ?? 0);
      expect(log.status()).toMatchObject({
        parked: true,
        errorMessage: expect.stringContaining("delivery paused: HTTP 401"),
      });
    });
  });
});

describe("the watch", () => {
  it("is woken when delivery pauses, not while it is, and again the next time", async () => {
    const woken = vi.spyOn(Watch.prototype, "look").mockReturnValue().mock.calls;
    let isShut = true;
    const { clock } = receiver(https, (fetch) => async (url, init) => {
      return isShut ? new Response(null, { status: 401 }) : fetch(url, init);
    });
    const job = jobTo(https.conf);
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, records(1)));
      await passes(log, clock, { ms: 60_000 });
      expect(log.status()).toMatchObject({ parked: true });
      await until(() => woken.length === 1);
      await passes(log, clock, { ms: 600_000 });
      isShut = false;
      await log.drive("manual", 10_000);
      expect(log.status()).toMatchObject({ parked: false });
      isShut = true;
      await append(job, fragmentsOf(NDJSON, records(1)));
      await passes(log, clock, { ms: 60_000 });
      expect(log.status()).toMatchObject({ parked: true });
      await until(() => woken.length > 1);
      expect(woken).toHaveLength(2);
    });
  });

  it("is woken with the first upload that fails, and when records are on hold; not by what is tried again", async () => {
    const woken = vi.spyOn(Watch.prototype, "look").mockReturnValue().mock.calls;
    let isBusy = true;
    const { clock } = receiver(splunk, (fetch) => async (url, init) => {
      if (isBusy) return new Response(null, { status: 503 });
      const entry = (await asked(url, init)).text.split("\n").findIndex((line) => line.includes(VENOM));
      if (entry === -1) return fetch(url, init);
      return Response.json({ text: "no", code: 6, "invalid-event-number": entry }, { status: 400 });
    });
    const job = jobTo(splunk.conf);
    await inLog(job, async (log) => {
      const append1 = () => append(job, fragmentsOf(NDJSON, [record("mark-1"), record("mark-x", VENOM)]));
      await configure(job);
      await append1();
      await passes(log, clock, { ms: 300_000 });
      await until(() => woken.length > 0);
      expect(woken).toHaveLength(1);
      isBusy = false;
      await log.drive("manual", 10_000);
      await passes(log, clock, { ms: 50_000 }, append1);
      const held = countsOf(log).set_aside;
      expect(held).toBeGreaterThan(2);
      await until(() => woken.length > 1);
      const before = woken.length;
      await append1();
      await passes(log, clock, { ms: 60_000 });
      expect(countsOf(log).set_aside).toBeGreaterThan(held);
      await until(() => woken.length > before);
    });
  });
});

describe("the answer to what is set aside", () => {
  const SAID = "Mars is no planet";

  it("is kept of a record that the answer names", async () => {
    const { clock } = receiver(splunk, (fetch) => async (url, init) => {
      const entry = (await asked(url, init)).text.split("\n").findIndex((line) => line.includes(VENOM));
      if (entry === -1) return fetch(url, init);
      return Response.json({ text: SAID, code: 6, "invalid-event-number": entry }, { status: 400 });
    });
    const job = jobTo(splunk.conf);
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [...records(3), record("mark-x", VENOM)]));
      await passes(log, clock, { ms: 60_000 });
      const aside = rowsOf(storage).find(({ state }) => state === "set_aside");
      expect(aside).toMatchObject({ records: 1, answer: expect.stringContaining(SAID) });
    });
  });

  it.each([400, 500])("is kept of an object that cannot be taken apart, after %i", async (status) => {
    const { clock } = receiver(https, (fetch) => async (url, init) => {
      return isTest(init) ? fetch(url, init) : new Response(SAID, { status });
    });
    const csv = format({ type: "csv", recordPrefix: "", recordSuffix: "\n" });
    const job = jobTo(https.conf, { output: csv });
    await inLog(job, async (log, storage) => {
      await configure(job);
      await append(job, fragmentsOf(csv, ["1,a\n", "2,b\n"]));
      await passes(log, clock, { ms: 300_000 });
      expect(rowsOf(storage)).toMatchObject([{ state: "set_aside", records: 2, answer: SAID }]);
    });
  });
});

describe("repeats", () => {
  /** How often the receiver has what it had before. */
  const doubled = (taken: readonly string[]): number => {
    const marks = taken.filter((mark) => mark.startsWith("mark-"));
    return marks.length - new Set(marks).size;
  };

  it("are counted of what was taken in part while its job got another key of the same place", async () => {
    const { held, clock } = receiver(splunk);
    const job = jobTo(splunk.conf);
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [...records(3), record("mark-x", "poison")]));
      const { put } = log.attempts;
      vi.spyOn(log.attempts, "put").mockImplementationOnce(async (...args) => {
        const outcome = await put.apply(log.attempts, args);
        const conf = splunk.conf.replace("Splunk%20", "Splunk%20new-");
        await configure(jobTo(conf, { version: 2, modifiedVersion: 2, destinationVersion: 2 }));
        return outcome;
      });
      await passes(log, clock, { ms: 60_000 });
      expect(doubled(held.taken())).toBe(6);
      expect(countsOf(log).resent).toBeGreaterThanOrEqual(6);
    });
  });

  it.each(["https", "splunk, events"])("of %s are never counted too few, however it fails", async (name) => {
    const random = chance(name.length);
    const { held, clock } = receiver(fixtureOf(name), (fetch) => async (url, init) => {
      const [roll, { text }] = [random(), await asked(url, init)];
      if (text.includes(VENOM)) {
        if (roll < 0.3) throw new TypeError("connection reset");
        return new Response(null, { status: roll < 0.6 ? 500 : roll < 0.8 ? 400 : 429 });
      }
      if (roll < 0.1) return new Response(null, { status: 429 });
      const answer = await fetch(url, init);
      if (roll < 0.2) throw new TypeError("connection reset");
      return roll < 0.3 ? new Response(null, { status: 504 }) : answer;
    });
    const job = jobTo(fixtureOf(name).conf);
    await inLog(job, async (log) => {
      await configure(job);
      await append(job, fragmentsOf(NDJSON, [record("mark-x", VENOM), ...records(20), record("mark-y", VENOM)]));
      const more = (n: number) => append(job, fragmentsOf(NDJSON, n < 20 ? [record(`mark-${n + 100}`)] : []));
      await passes(log, clock, { ms: 600_000, stepMs: 10_000 }, more);
      expect(countsOf(log).resent).toBeGreaterThanOrEqual(doubled(held.taken()));
      expect(new Set(held.taken().filter((mark) => /^mark-\d/.test(mark))).size).toBe(40);
    });
  });
});
