/** Sketches that cannot be kept; and what a search reads dies, refuses, breaks off or differs. */
import { describe, expect } from "vitest";
import { JobReader, SketchStore } from "../../src/index.ts";
import { searchAll } from "../operate/search/searched.ts";
import { cells } from "../support/matrix.ts";
import { BREAKAGES, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { jobObjects, NOON } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { giveUp, resendAll } from "./aside.ts";
import { shipped } from "./crashes.ts";
import { breaks, Fault } from "./fault.ts";
import { row } from "./row.ts";
import { arrive, controlOf, pass } from "./stores.ts";

const DAY_MS = 86_400_000;

/** Every record that was shipped or waits. The word is in all of them, so sketches are asked. */
const QUESTION = {
  since: new Date(NOON - 9 * DAY_MS).toISOString(),
  until: new Date(NOON + 9 * DAY_MS).toISOString(),
  filter: '{"where":{"key":"ScriptName","operator":"eq","value":"shop"}}',
  limit: 1_000,
};

/** What a search finds, and what it says that it did not look at. */
async function searched(): Promise<{ records: number; left: string; complete: boolean }> {
  const pages = await searchAll(QUESTION);
  return {
    records: pages.reduce((sum, { hits }) => sum + hits.length, 0),
    left: pages.flatMap(({ end }) => end.not_searched.map(({ what, why }) => `${what}: ${why}`)).join("; "),
    complete: pages.at(-1)?.end.complete === true,
  };
}

/** @throws unless a search finds every record of every object. */
async function findsAll(world: World): Promise<void> {
  const objects = (await Promise.all(world.jobs.all.map(({ id }) => jobObjects(id)))).flat();
  const records = objects.reduce((sum, object) => sum + object.records, 0);
  expect(records).toBeGreaterThan(0);
  expect(await searched()).toEqual({ records, left: "", complete: true });
}

describe("a sketch that is not kept", () => {
  const WORDS = {
    refused: "the store of sketches refuses one",
    lost: "the answer of the store of sketches is lost",
    "dies before": "the store of sketches dies before it keeps one",
    "dies after": "the store of sketches dies after it has kept one",
    "dies after, on disk": "the store of sketches dies with one on disk",
    hangs: "everything dies between an upload and its sketch",
    late: "everything dies between a sketch and the settling of its upload",
  } as const;
  for (const breakage of BREAKAGES) {
    row(
      `${WORDS[breakage]}: the object is delivered once, and found`,
      async (world) => {
        const fault = new Fault(world, SketchStore.prototype, "add", breakage);
        await shipped("the platform")(world, fault);
        expect(fault.took()).toBe(true);
      },
      async (world) => {
        for (const job of world.jobs.all) {
          const twice = (await controlOf(job).puts()).filter(({ key, version }) => /log\.gz$/.test(key) && version > 1);
          expect(twice).toEqual([]);
        }
        await findsAll(world);
      },
    );
  }
});

describe("a search", () => {
  const METHODS = ["searchableCount", "searchable", "batchBytes"] as const;
  for (const [method, breakage] of cells(METHODS, PROMPT_BREAKAGES)) {
    row(
      `a log ${breakage} at ${method}() of a search`,
      async (world) => {
        await world.createJob();
        await arrive(world, world.mint(20, { days: 2 }));
        breaks(world, JobReader, method, (n) => (n === 1 ? breakage : null));
        const { records, left, complete } = await searched();
        // What waits is asked for again.
        if (method === "batchBytes") expect([records, left, complete]).toEqual([20, "", true]);
        else expect([records, left, complete]).toEqual([0, expect.stringMatching(/^job \d+: its log/), false]);
        expect((await searched()).records).toBe(20);
      },
      findsAll,
    );
  }

  row(
    "a job does not read the log, and a message is on hold: the search says that it did not look there",
    async (world) => {
      const job = await world.createJob();
      await world.take(world.mint(3));
      await giveUp(world);
      await arrive(world, world.mint(4));
      breaks(world, JobReader, "pull", "refused");
      await arrive(world, world.mint(5));
      const { records, left, complete } = await searched();
      expect([records, complete]).toEqual([4, false]);
      expect(left).toBe(
        `job ${job.id}: 5 records not read from the log yet: search again; job ${job.id}: messages on hold may have records for it: resend or delete them`,
      );
      await world.mend();
      await resendAll();
      await world.read();
      expect(await searched()).toEqual({ records: 12, left: "", complete: true });
    },
  );

  for (const breakage of ["refused", "dies before"] as const) {
    row(
      `the store of sketches ${breakage} at the question of a search: its objects are read`,
      async (world) => {
        await world.createJob();
        await arrive(world, world.mint(20, { days: 2 }));
        await pass(world);
        breaks(world, SketchStore, "ask", (n) => (n === 1 ? breakage : null));
        expect(await searched()).toEqual({ records: 20, left: "", complete: true });
      },
      findsAll,
    );
  }

  const ANSWERS: Record<string, Action> = {
    "answers 503": { do: "answer", status: 503 },
    "gives other bytes": { do: "answer", status: 200, body: "another object" },
    "breaks off in the middle": { do: "trickle", status: 200, body: "\u001f", everyMs: 1 },
    "resets the connection": { do: "reset", when: "before" },
  };
  for (const [words, action] of Object.entries(ANSWERS)) {
    row(
      `the store ${words} while a search reads: the object is named, and the others' records found`,
      async (world) => {
        const job = await world.createJob();
        await arrive(world, world.mint(20, { days: 2 }));
        await pass(world);
        const [first] = (await jobObjects(job.id)).filter(({ records }) => records === 10);
        await controlOf(job).script([rule(action, { method: "GET", keyIncludes: first?.key ?? "none" })]);
        const found = await searched();
        expect(found).toMatchObject({ records: 10, complete: false });
        expect(found.left).toContain(`object ${first?.number} of job ${job.id}`);
        await controlOf(job).script([]);
        expect(await searched()).toEqual({ records: 20, left: "", complete: true });
      },
      findsAll,
    );
  }
});
