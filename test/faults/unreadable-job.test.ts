/**
 * A job that a newer version wrote, after a rollback: this code cannot read it. It is one job; the
 * others go on, and it goes on itself as soon as the newer version is back.
 */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { traceLog } from "../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import { api } from "../support/runtime/api.ts";
import type { World } from "../support/runtime/world.ts";
import { row } from "./row.ts";
import { arrive, countsOf } from "./stores.ts";

/** Changes a job's output type wherever its configuration is stored, as if written that way. */
async function write(id: number, type: string, world: World): Promise<void> {
  const set = (table: string, column: string, where: string) => async (_object: unknown, state: DurableObjectState) => {
    state.storage.sql.exec(
      `UPDATE ${table} SET ${column} = json_set(${column}, '$.output.type', ?) WHERE ${where}`,
      type,
    );
  };
  await runInDurableObject(controlPlane(env.CONTROL), set("job", "config", `id = ${id}`));
  await runInDurableObject(traceLog(env.TRACE_LOG, 0), set("job", "config", `id = ${id}`));
  await runInDurableObject(nodeAt(env.READERS, id, 0), set("reader", "job", "id = 1"));
  await abortAllDurableObjects();
  world.coldIsolate();
}

interface Shown {
  id: number;
  error_message: string | null;
}

/** What the API says of a job. */
async function shown(id: number): Promise<string | null | undefined> {
  const { body } = await api("GET", "/logship/jobs");
  return (body.result as Shown[]).find((job) => job.id === id)?.error_message;
}

async function findings(id: number): Promise<string[]> {
  const { body } = await api("GET", "/logship/status");
  const { findings: all } = body.result as { findings: { kind: string; subject: { id?: number } }[] };
  return all.filter(({ subject }) => subject.id === id).map(({ kind }) => kind);
}

describe("a job of a newer version", () => {
  row("holds up what was taken in for it, and no other job, until that version is back", async (world) => {
    const [healthy, newer] = [await world.createJob(), await world.createJob()];
    await arrive(world, world.mint(3));
    await write(newer.id, "avro", world);
    world.injected();
    await arrive(world, world.mint(5));
    expect((await countsOf(healthy)).received).toBe(8);
    expect(await countsOf(newer)).toMatchObject({ received: 8, pending: 8 });
    expect(world.queue.held).toEqual([]);
    // Its open batch waits, its alarm does not fire without end, and the cron carries on.
    world.clock.advance(60_000);
    await runDurableObjectAlarm(nodeAt(env.READERS, newer.id, 0));
    await world.runCron();
    expect((await countsOf(newer)).pending).toBe(8);
    const alarmMs = await runInDurableObject(nodeAt(env.READERS, newer.id, 0), (_log, { storage }) =>
      storage.getAlarm(),
    );
    expect(alarmMs).toBeGreaterThan(world.clock.nowMs() + 1_000);

    expect(await shown(healthy.id)).toBeNull();
    expect(await shown(newer.id)).toContain("a newer version of this service wrote the job");
    expect(await findings(newer.id)).toEqual(["job_unreadable"]);
    const put = await api("PUT", `/logship/jobs/${newer.id}`, { name: "renamed" });
    expect(put.status).toBe(409);

    await write(newer.id, "ndjson", world);
    await world.settle();
    expect((await countsOf(newer)).delivered).toBe(8);
    expect(await findings(newer.id)).toEqual([]);
  });

  row("can be deleted with all that it holds, which is counted", async (world) => {
    const newer = await world.createJob();
    await arrive(world, world.mint(3));
    await write(newer.id, "avro", world);
    world.injected();
    await world.jobs.remove(newer, { discard: true });
    await world.runAlarms();
    expect(await countsOf(newer)).toMatchObject({ received: 3, pending: 0, discarded: 3 });
  });
});
