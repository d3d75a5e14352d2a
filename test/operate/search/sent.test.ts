/** Searches of objects that were divided, and of those that were sent elsewhere. */
import { describe, expect, it } from "vitest";
import { POSTS } from "../../faults/receivers.ts";
import { controlOf, pass } from "../../faults/stores.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, jobObjects, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import { rule } from "../../support/s3-script.ts";
import { searchAll } from "./searched.ts";

const DAY_MS = 86_400_000;
const SPAN = {
  since: new Date(NOON - DAY_MS).toISOString(),
  until: new Date(NOON + DAY_MS).toISOString(),
};

/** What is found page by page, sorted, and what is not searched. */
async function searched(question: object = {}) {
  const pages = await searchAll({ ...SPAN, limit: 3, ...question });
  return {
    ids: pages.flatMap(({ hits }) => hits.map(({ record }) => idOf(record))).sort(),
    left: pages.flatMap(({ end }) => end.not_searched),
  };
}

const idOf = ({ Logs }: { [name: string]: unknown }): string =>
  (Logs as { Message: string[] }[])[0]?.Message[0] ?? "none";

describe("a search", () => {
  it("finds each record of an object that was divided once, while its parts wait and when they are delivered", async () => {
    const world = new World(NOON);
    world.coldIsolate();
    const job = await world.createJob({ receiver: "https" });
    const events = world.mint(10);
    await controlOf(job).script([
      rule({ do: "answer", status: 413 }, POSTS, 1),
      rule({ do: "answer", status: 503 }, POSTS),
    ]);
    await world.take(events);
    await world.deliverDue();
    for (let n = 0; n < 2; n++) await pass(world, 60_000);
    const parts = await jobObjects(job.id);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map(({ state }) => state)).toEqual(parts.map(() => "waiting"));
    const ids = events.map(({ id }) => id).sort();
    expect((await searched()).left).toEqual([
      { what: `job ${job.id}`, why: "its destination takes records and gives none back: search there", job: job.id },
    ]);
    const moved = { destination_conf: destinationConf(freshBucket().name) };
    expect((await api("PUT", `/logship/jobs/${job.id}`, moved)).status).toBe(200);
    for (const order of ["newest", "oldest"]) expect(await searched({ order })).toEqual({ ids, left: [] });
    await world.settle();
    expect((await jobObjects(job.id)).map(({ state }) => state)).toEqual(parts.map(() => "delivered"));
    for (const order of ["newest", "oldest"]) expect(await searched({ order })).toEqual({ ids, left: [] });
  });

  it("finds each record of an object that is sent elsewhere once while it waits, and names it when it is there", async () => {
    const world = new World(NOON);
    world.coldIsolate();
    const job = await world.createJob();
    const tooLarge = { do: "answer", status: 413, code: "EntityTooLarge" } as const;
    await controlOf(job).script([rule(tooLarge, { method: "PUT", keyIncludes: ".log.gz" })]);
    const [refused, others] = [world.mint(4), world.mint(4)];
    await world.take(refused);
    await world.deliverDue();
    await pass(world, 60_000);
    await controlOf(job).script([]);
    await world.take(others);
    await world.deliverDue();
    await pass(world, 60_000);
    const all = [...refused, ...others].map(({ id }) => id).sort();
    expect(await searched()).toEqual({ ids: all, left: [] });
    const [aside] = (await api<{ id: string; number: number }[]>("GET", "/logship/set-aside")).body.result;
    const target = { destination_conf: destinationConf(freshBucket().name, "other/{DATE}") };
    expect((await api("POST", `/logship/set-aside/${aside?.id}/resend`, target)).status).toBe(200);
    const waiting = await searched();
    await world.settle();
    expect((await jobObjects(job.id)).map(({ state }) => state)).toEqual(["delivered", "delivered"]);
    const there = await searched();
    const left = [
      {
        what: `object ${aside?.number} of job ${job.id}`,
        why: "it was sent to another destination, which the job has no keys for",
        ...{ job: job.id, objects: [aside?.number] },
      },
    ];
    expect(there).toEqual({ ids: others.map(({ id }) => id).sort(), left });
    // Where it goes, it cannot be read; until it is there, this service has it.
    expect(waiting).toEqual({ ids: all, left: [] });
  });
});
