/** An upload that fails, and a user who sets it aside, tries it at once, or sends it elsewhere. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { api } from "../support/runtime/api.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { rule } from "../support/s3-script.ts";
import { asideOf, resend } from "./aside.ts";
import { ALL, POSTS, resent } from "./receivers.ts";
import { row } from "./row.ts";
import { arrive, controlOf, countsOf, failingJob, PUTS, pass, said, viewOf, waitingJob } from "./stores.ts";

const idOf = ({ id }: WorldJob, number = 1): string => `object-${id}-${number}`;
const setAside = (id: string) => api<{ why: string }>("PUT", `/logship/set-aside/${id}`);

/** When the job's reader wakes by itself, in ms since the epoch. */
const alarmMs = ({ id }: WorldJob): Promise<number | null> =>
  runInDurableObject(nodeAt(env.READERS, id, 0), (_reader, { storage }) => storage.getAlarm());

describe("an upload that fails", () => {
  row("is set aside by hand, holds up nothing, and is sent again", async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "answer", status: 503 }, PUTS));
    await pass(world);
    const { status, body } = await setAside(idOf(job));
    expect([status, body.result.why]).toEqual([200, expect.stringMatching(/^put on hold by hand; .*HTTP 503/)]);
    expect(await countsOf(job)).toMatchObject({ pending: 0, set_aside: 10 });
    await world.checkBalances();
    // Once more changes nothing.
    expect((await setAside(idOf(job))).status).toBe(200);
    await control.script([
      rule({ do: "answer", status: 413 }, { ...PUTS, holds: "second" }),
      rule({ do: "hold" }, PUTS, 0),
    ]);
    // It was not refused: the next one that is refused is set aside as well, and does not park.
    await arrive(world, world.mint(3, { scriptName: "second" }));
    await pass(world);
    expect(await countsOf(job)).toMatchObject({ pending: 0, set_aside: 13 });
    await control.script([]);
    for (const { id } of await asideOf(job)) expect((await resend(id)).status).toBe(200);
    await world.settle();
    expect([await countsOf(job), await said(job)]).toMatchObject([{ delivered: 13, set_aside: 0 }, null]);
  });

  row("is tried at once, whatever its store asked for", async (world) => {
    const headers = { "retry-after": "3600" };
    const { job, control } = await failingJob(world, rule({ do: "answer", status: 503, headers }, PUTS));
    await pass(world);
    await control.script([]);
    expect((await resend(idOf(job))).status).toBe(200);
    expect(await said(job)).toBeNull();
    await pass(world, 0);
    expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
  });

  row("holds up no other any more once it is set aside, or sent elsewhere", async (world) => {
    for (const way of ["aside", "elsewhere"]) {
      const headers = { "retry-after": "3600" };
      const { job, control } = await failingJob(world, rule({ do: "answer", status: 503, headers }, PUTS));
      await pass(world);
      await arrive(world, world.mint(3));
      await pass(world);
      expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 13 });
      await control.script([]);
      const conf = { destination_conf: world.jobs.elsewhere(job, null).conf };
      const done = way === "aside" ? setAside(idOf(job)) : api("POST", `/logship/set-aside/${idOf(job)}/resend`, conf);
      expect((await done).status).toBe(200);
      expect(await alarmMs(job)).toBeLessThanOrEqual(world.clock.nowMs());
      expect((await said(job)) ?? "").not.toContain("logship is retrying");
      await pass(world, 0);
      expect(await countsOf(job)).toMatchObject({ delivered: way === "aside" ? 3 : 13, pending: 0 });
      for (const { id } of await asideOf(job)) expect((await resend(id)).status).toBe(200);
    }
  });

  row("is sent elsewhere while its own store fails on", async (world) => {
    const { job } = await failingJob(world, rule({ do: "answer", status: 503 }, PUTS));
    await pass(world);
    const elsewhere = world.jobs.elsewhere(job, null);
    const body = { destination_conf: elsewhere.conf };
    expect((await api("POST", `/logship/set-aside/${idOf(job)}/resend`, body)).status).toBe(200);
    await pass(world, 0);
    expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
    expect((await elsewhere.control.puts()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
    await controlOf(job).script([]);
  });

  row("is set aside while it is sent, and may be there: in doubt when it is sent again", async (world) => {
    const { job, control } = await waitingJob(world, { receiver: "https" });
    await control.script([rule({ do: "withhold" }, POSTS, 1)]);
    world.clock.advance(30_000);
    const alarms = world.runAlarms();
    await control.whenHeld(1);
    expect((await resend(idOf(job))).status).toBe(409);
    expect((await setAside(idOf(job))).status).toBe(200);
    await control.release();
    await alarms;
    expect(await countsOf(job)).toMatchObject({ delivered: 0, set_aside: 10, pending: 0 });
    expect((await resend(idOf(job))).status).toBe(200);
    await world.settle();
    expect([await countsOf(job), await resent(job)]).toMatchObject([{ delivered: 10, set_aside: 0 }, 10]);
  });

  row("is said as long as it fails, whatever succeeds beside it", async (world) => {
    const job = await world.createJob({ receiver: "https" });
    await controlOf(job).script([rule({ do: "answer", status: 500 }, { ...ALL, holds: "stubborn" })]);
    await arrive(world, world.mint(1, { scriptName: "stubborn" }));
    await pass(world);
    for (let n = 0; n < 2; n++) {
      await arrive(world, world.mint(2));
      await pass(world);
      expect((await countsOf(job)).delivered).toBe(2 * n + 2);
      expect(await viewOf(job)).toMatchObject({
        error_message: "upload failed: HTTP 500; logship is retrying",
        last_error: expect.any(String),
      });
    }
    await controlOf(job).script([]);
    await world.settle();
    expect(await viewOf(job)).toMatchObject({ error_message: null, last_error: null });
  });

  row("is none of what is delivered, of another kind, or of no job", async (world) => {
    const job = await world.createJob();
    await arrive(world, world.mint(2));
    await world.settle();
    expect(await jobObjects(job.id)).toMatchObject([{ state: "delivered" }]);
    for (const id of [idOf(job), idOf(job, 9), `object-${job.id + 9}-1`, "message-1", `entry-${job.id}-0-1`])
      expect([id, (await setAside(id)).status]).toEqual([id, 404]);
    expect((await resend(idOf(job))).status).toBe(404);
    world.injected();
  });
});
