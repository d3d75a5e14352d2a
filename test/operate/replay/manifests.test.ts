/** Copies of a replay, and what manifests say of them: src/ship/reader/replayed.ts. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replays } from "../../../src/operate/replay/replays.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { controlOf } from "../../faults/stores.ts";
import { listed, manifestsIn, signWith, verified } from "../../ship/reader/manifest-world.ts";
import { api } from "../../support/runtime/api.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import type { WorldJob } from "../../support/runtime/world-jobs.ts";
import { rule } from "../../support/s3-script.ts";
import { runReplays } from "./shipped.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

async function cron(world: World): Promise<void> {
  await world.runCron();
  for (const { id } of world.jobs.all) await listed(id).catch(() => {});
}

async function days(world: World, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    world.clock.advance(DAY_MS);
    await cron(world);
    world.clock.advance(HOUR_MS);
    await cron(world);
  }
}

async function ship(world: World): Promise<void> {
  for (let n = 0; n < 4; n++) {
    await world.take(world.mint(5), 5);
    await world.deliverDue();
    world.clock.advance(60_000);
    await world.runAlarms();
  }
}

/** A job whose deliveries of a day are listed, and a replay of them into its own folder. */
async function replaying(world: World): Promise<{ job: WorldJob; id: string }> {
  signWith(1);
  const job = await world.createJob();
  await ship(world);
  await days(world, 1);
  const span = { since: new Date(NOON - HOUR_MS).toISOString(), until: new Date(NOON + HOUR_MS).toISOString() };
  const begun = await api<{ id: string }>("POST", `/logship/jobs/${job.id}/replay`, {
    ...span,
    allow_duplicates: true,
  });
  return { job, id: begun.body.result.id };
}

async function untilOver(world: World): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    await runReplays();
    world.clock.advance(60_000);
  }
}

describe("copies that a replay writes into its job's own folder", () => {
  const MOVES: readonly [words: string, moves: number][] = [
    ["to another bucket", 1],
    ["to another bucket, and on to a third one", 2],
  ];
  for (const [words, moves] of MOVES)
    it(`are listed as of where they are, where the job moves meanwhile ${words}`, async () => {
      const world = new World(NOON);
      const { job, id } = await replaying(world);
      for (let n = 0; n < moves; n++) await world.jobs.move(job);
      // The readers follow.
      await ship(world);
      await untilOver(world);
      const { body } = await api<{ state: string; done: { objects: number } }>(
        "GET",
        `/logship/jobs/${job.id}/replay/${id}`,
      );
      expect(body.result).toMatchObject({ state: "done", done: { objects: 4 } });
      await days(world, 2);
      const all = await manifestsIn(controlOf(job));
      const copies = all.flatMap(({ objects }) => objects).filter(({ copy_of }) => copy_of !== undefined);
      expect(copies.map(({ at }) => at)).toEqual(["unknown", "unknown", "unknown", "unknown"]);
      expect((await verified(controlOf(job), world.clock.nowMs())).said).toEqual([]);
    });

  it("are listed, even if the job is deleted while their copies are in doubt", async () => {
    const world = new World(NOON);
    const { job } = await replaying(world);
    const control = controlOf(job);
    await control.script([rule({ do: "reset", when: "after" }, { method: "PUT", keyIncludes: ".log.gz" }, 2)]);
    await runReplays();
    await control.script([]);
    await world.jobs.remove(job);
    await cron(world);
    await untilOver(world);
    await days(world, 2);
    expect((await verified(control, world.clock.nowMs())).said).toEqual([]);
    expect(await replays(env.REPLAYS).list(job.id)).toEqual([]);
  });
});

describe("a deleted job", () => {
  it("keeps its readers until all is listed that they delivered", async () => {
    const world = new World(NOON);
    signWith(1);
    const job = await world.createJob();
    await ship(world);
    await days(world, 1);
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    await ship(world);
    await world.jobs.remove(job);
    await days(world, 16);
    // Of another job: the queue has nothing older.
    await world.createJob();
    await ship(world);
    await control.script([]);
    await days(world, 3);
    const objects = (await control.objects()).filter(({ key }) => key.endsWith(".log.gz"));
    const all = await manifestsIn(control);
    expect(all.flatMap((each) => each.objects)).toHaveLength(objects.length);
    expect((await verified(control, world.clock.nowMs())).said).toEqual([]);
    expect(await nodeAt(env.READERS, job.id, 0).following()).toBeNull();
  });
});
