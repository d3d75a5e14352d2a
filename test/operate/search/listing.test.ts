/** What a search lists of many logs, within one bound for all of them. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BatchPlace } from "../../../src/operate/search/cursor.ts";
import { estimate } from "../../../src/operate/search/estimate.ts";
import { listObjects, sharesOf } from "../../../src/operate/search/listing.ts";
import type { Source } from "../../../src/operate/search/source.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";

const MINUTE_MS = 60_000;

describe("the room that logs share", () => {
  it("is given out whole, to each as much as it wants or as any other gets, and never nothing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
        fc.nat(200),
        (wanted, room) => {
          const shares = sharesOf(wanted, room);
          const sum = shares.reduce((all, share) => all + share, 0);
          const all = wanted.reduce((whole, want) => whole + want, 0);
          expect(sum).toBeLessThanOrEqual(Math.max(room, wanted.length));
          expect(sum).toBeGreaterThan(Math.min(all, room) - wanted.length);
          const most = Math.max(...shares);
          for (const [i, share] of shares.entries())
            if (share < (wanted[i] as number)) expect(share).toBeGreaterThanOrEqual(Math.max(1, most - 1));
        },
      ),
    );
  });
});

/** Readers as a test says, of a log with one shard. */
const readers = (reader: (name: string) => object): Pick<Env, "READERS" | "CONTROL"> =>
  ({
    READERS: { getByName: reader },
    CONTROL: { getByName: () => ({ shards: async () => [0] }) },
  }) as unknown as Env;

describe("a list over several logs", () => {
  /** Jobs with so many objects, one a minute, the first job's the newest. */
  async function shipped(counts: readonly number[]) {
    const clock = setClock(NOON);
    const oracle = new Oracle({ at: NOON });
    const jobs: number[] = [];
    for (const count of counts) {
      const { name } = freshBucket();
      const job = await createJob(name, { filter: `{"where":{"key":"ScriptName","operator":"eq","value":"${name}"}}` });
      jobs.push(job);
      for (let i = 0; i < count; i++) {
        const events = oracle.mint(1, { at: NOON - (i + 1) * MINUTE_MS, scriptName: name });
        await deliver(pack(events, clock.nowMs()));
        await settle(job, clock);
      }
    }
    return jobs;
  }

  it.each(["newest", "oldest"] as const)("has at most so many at once, and all on its pages (%s)", async (order) => {
    const jobs = await shipped([9, 2, 1]);
    const LIMIT = 6;
    const span = { sinceMs: NOON - 60 * MINUTE_MS, untilMs: NOON, order };
    const seen: string[] = [];
    let without: BatchPlace[] = [];
    for (let page = 0, fromMs: number | null = null; page === 0 || fromMs !== null; page++) {
      const narrowed = order === "newest" ? { untilMs: (fromMs ?? NOON) + 1 } : { sinceMs: fromMs ?? 0 };
      const asked = { ...span, ...(fromMs !== null && narrowed), without };
      const { found, listedToMs, silent } = await listObjects(env, jobs, asked, LIMIT);
      expect(silent).toEqual([]);
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThanOrEqual(LIMIT);
      // Nothing beyond the time up to which all are listed.
      for (const { object } of found)
        expect(order === "newest" ? object.lastMs >= (listedToMs ?? 0) : object.firstMs <= (listedToMs ?? NOON)).toBe(
          true,
        );
      seen.push(...found.map(({ job, object }) => `${job} ${object.number}`));
      without = found.map(({ job, node, object }) => [job, node, object.batch]);
      fromMs = listedToMs;
      expect(page).toBeLessThan(9);
    }
    expect(seen.toSorted()).toEqual([...new Set(seen)].sort());
    expect(seen).toHaveLength(12);
    // One with few leaves its share to the others: the first job has three of six at first.
    const { found } = await listObjects(env, jobs, { ...span, without: [] }, LIMIT);
    expect(found.filter(({ job }) => job === jobs[0]).length).toBe(3);
  });

  it("asks eight logs at once, and keeps the order of jobs", async () => {
    let underWay = 0;
    let most = 0;
    const slow = async <T>(answer: T): Promise<T> => {
      underWay += 1;
      most = Math.max(most, underWay);
      for (let i = 0; i < 20; i++) await Promise.resolve();
      underWay -= 1;
      return answer;
    };
    const object = { batch: 1, number: 1, firstMs: 1, lastMs: 1 };
    const env = readers(() => ({
      searchableCount: () => slow({ objects: 1, unmade: 0, sealed: false }),
      searchable: () => slow({ objects: [object], isAll: true, sealed: false }),
    }));
    const jobs = Array.from({ length: 30 }, (_, i) => 30 - i);
    const span = { sinceMs: 0, untilMs: 9, order: "newest", without: [] } as const;
    const { found, silent } = await listObjects(env, jobs, span);
    expect([most, silent]).toEqual([8, []]);
    expect(found.map(({ job }) => job)).toEqual(jobs);
  });

  it("names the jobs whose logs do not answer, and lists the others", async () => {
    const env = readers((name) => ({
      searchableCount: async () => {
        if (name.startsWith("job 1 ")) throw new Error("it is away");
        return { objects: 1, unmade: name.startsWith("job 3 ") ? 7 : 0, sealed: false };
      },
      searchable: async () => {
        if (name.startsWith("job 2 ")) throw new Error("it is away");
        return { objects: [{ batch: 1, number: 1, firstMs: 1, lastMs: 1 }], isAll: true, sealed: false };
      },
    }));
    const span = { sinceMs: 0, untilMs: 9, order: "newest", without: [] } as const;
    const { found, silent, unmade } = await listObjects(env, [1, 2, 3], span);
    expect([silent, found.map(({ job }) => job), unmade]).toEqual([[1, 2], [3], [{ job: 3, records: 7 }]]);
  });
});

describe("an estimate", () => {
  const source = (batch: number, firstMs: number, lastMs: number): Source => ({
    ...{ job: 1, node: 0, batch, number: batch, firstMs, lastMs, bytes: 10, rawBytes: 100, records: 7, isHeld: false },
    open: () => expect.unreachable("an object is read"),
  });
  /** The first two of what is left, those of odd batches excluded by their sketches. */
  const listOf =
    (all: readonly Source[], onList: () => void = () => {}) =>
    async (fromMs: number | undefined, without: readonly BatchPlace[]) => {
      onList();
      const left = all.filter(
        ({ batch, firstMs }) => firstMs <= (fromMs ?? 1e9) && !without.some(([, , each]) => each === batch),
      );
      const list = left.sort((a, b) => b.lastMs - a.lastMs).slice(0, 2);
      return {
        ...{ list, listedToMs: left.length > 2 ? (list[1] as Source).lastMs : null, notSearched: [] },
        lookUp: async (some: readonly Source[]) => ({
          out: new Set(some.filter(({ batch }) => batch % 2 === 1)),
          bytes: 3,
        }),
      };
    };

  it("counts all of the question, each object once, however many are listed at once", async () => {
    // All overlap.
    const all = Array.from({ length: 7 }, (_, batch) => source(batch, 1, 100 + batch));
    const platform = { now: () => 0 };
    expect(await estimate({ order: "newest", list: listOf(all), platform, maxMs: 1 })).toEqual({
      ...{ objects: 7, skipped: 3, bytes: 40, rawBytes: 400, records: 28, sketchBytes: 12, notSearched: [] },
    });
  });

  it("says what it lacks where it takes too long", async () => {
    const all = Array.from({ length: 7 }, (_, batch) => source(batch, 100 + batch, 100 + batch));
    let nowMs = 0;
    const list = listOf(all, () => {
      nowMs += 10;
    });
    const found = await estimate({ order: "newest", list, platform: { now: () => nowMs }, maxMs: 30 });
    expect([found.objects, found.notSearched]).toEqual([
      4,
      [
        {
          job: null,
          object: null,
          why: "estimating it takes too long: it lacks most of what is before 1970-01-01T00:00:00.102Z",
        },
      ],
    ]);
  });
});
