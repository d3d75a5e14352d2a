/**
 * Stores that say 200 and do not mean it, and answers that do not come: what is there in the end is
 * whole.
 */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, jobObjects, logStatus, pack, runAlarm, settle } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";
import { HEADS, PUTS, waitingJob } from "./waiting.ts";

describe("a store that keeps half of what it is sent, and says 200", () => {
  it("once: found out at once, and sent again over it", async ({ expect }) => {
    const { clock, control, job, view, asked, expectWhole } = await waitingJob();
    await control.script([rule({ do: "truncate" }, PUTS, 1)]);
    clock.advance(30_000);
    await runAlarm(job);
    expect(await asked()).toEqual(["PUT 200", "HEAD 200", "PUT 200"]);
    expect(await view()).toMatchObject({ error_message: null });
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true, attempts: 1 }]);
  });

  it("for hours: nothing is claimed, it is said how much is missing, and once it keeps all, all is there", async ({
    expect,
  }) => {
    const { clock, control, job, view, written, expectWaiting, expectWhole } = await waitingJob();
    await control.script([rule({ do: "truncate" }, PUTS)]);
    for (let i = 0; i < 24; i++) {
      clock.advance(900_000);
      await runAlarm(job);
      await expectWaiting();
    }
    const size = (await written())[0]?.size;
    expect(await view()).toMatchObject({
      error_message: `upload failed: the store keeps ${size} of ${(await jobObjects(job))[0]?.bytes} bytes; it is being tried again`,
      last_error: expect.any(String),
    });
    // Twice in the first attempt; each later one meets it with the condition, and sends over it
    // once.
    expect((await written()).length).toBeLessThanOrEqual(2 + 23);
    await control.script([]);
    await settle(job, clock);
    expect(await view()).toMatchObject({ error_message: null });
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
    expect(new Set((await written()).map(({ key }) => key)).size).toBe(1);
  });

  it("and the log dies before it can ask: what is met later is known for half of ours", async ({ expect }) => {
    const { clock, control, job, asked, expectWaiting, expectWhole } = await waitingJob();
    await control.script([rule({ do: "truncate" }, PUTS, 1), rule({ do: "hold" }, HEADS, 1)]);
    clock.advance(30_000);
    const alarm = runAlarm(job).catch(() => false);
    await control.whenHeld(1);
    await abortAllDurableObjects();
    await alarm;
    await control.release();
    await expectWaiting();
    await settle(job, clock);
    expect((await asked()).slice(2)).toEqual(["PUT 412", "HEAD 200", "PUT 200"]);
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
  });

  it("and does not know If-None-Match either", async ({ expect }) => {
    const { clock, control, job, expectWhole } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 501, code: "NotImplemented" }, { conditional: true }),
      rule({ do: "truncate" }, PUTS, 3),
    ]);
    await settle(job, clock);
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true, attempts: 2 }]);
  });

  it("and drops what stands beside it: the same attempt still knows whose it is", async ({ expect }) => {
    const { clock, control, job, expectWhole } = await waitingJob();
    await control.script([rule({ do: "truncate" }, PUTS, 1), rule({ do: "drop-meta" })]);
    await settle(job, clock);
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true, attempts: 1 }]);
  });

  it("of an object that is streamed: it is read again from its start", async ({ expect }) => {
    const { clock, control, job, oracle, expectWhole } = await waitingJob();
    const large = oracle.mint(60).map((minted) => {
      const noise = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(45_000))));
      const ScriptTags = [noise];
      return { ...minted, event: { ...minted.event, ScriptTags }, record: { ...minted.record, ScriptTags } };
    });
    oracle.acknowledged("job", large);
    await deliver(pack(large, clock.nowMs(), { perMessage: 1 }));
    await control.script([rule({ do: "truncate" }, PUTS, 1)]);
    await nodeAt(env.READERS, job, 0).drive("manual", 15_000);
    const objects = await expectWhole();
    expect(objects).toMatchObject([{ state: "delivered", verified: true, attempts: 1, records: 70 }]);
    expect(objects[0]?.bytes).toBeGreaterThan(2_000_000);
  });
});

describe("a store whose 200 says nothing", () => {
  it.for<readonly [what: string, put: Action, head: Action | null, requests: string[], verified: boolean]>([
    ["its ETag is not the MD5, though HEAD's is", { do: "wrong-etag" }, null, ["PUT 200", "HEAD 200"], true],
    ["its ETags are never the MD5", { do: "wrong-etag" }, { do: "wrong-etag" }, ["PUT 200", "HEAD 200"], true],
    ["it has no ETag, though HEAD has", { do: "no-etag" }, null, ["PUT 200", "HEAD 200"], true],
    ["it has no ETags", { do: "no-etag" }, { do: "no-etag" }, ["PUT 200", "HEAD 200"], true],
    ["it drops metadata, but knows the MD5", { do: "drop-meta" }, null, ["PUT 200"], true],
    [
      "its ETag is not the MD5, and HEAD is refused",
      { do: "wrong-etag" },
      { do: "answer", status: 403, code: "AccessDenied" },
      ["PUT 200", "HEAD 403"],
      false,
    ],
  ])("is asked once what it has: %s", async ([_what, put, head, requests, verified], { expect }) => {
    const { clock, control, job, asked, written, expectWhole } = await waitingJob();
    await control.script([rule(put, PUTS), ...(head === null ? [] : [rule(head, HEADS)])]);
    clock.advance(30_000);
    await runAlarm(job);
    expect(await asked()).toEqual(requests);
    expect(await written()).toHaveLength(1);
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified, attempts: 1 }]);
  });

  it.for<readonly [what: string, action: Action, heads: Action | null, words: string]>([
    ["it keeps nothing", { do: "discard" }, null, "HTTP 200, but the object is not there"],
    [
      "it is a page that wants a password",
      { do: "answer", status: 200, body: "<html>Log in" },
      null,
      "HTTP 200, but the object is not there",
    ],
    [
      "it is a page that answers HEAD as well",
      { do: "answer", status: 200, body: "<html>Log in" },
      { do: "answer", status: 200, body: "<html>Log in" },
      "the store keeps 12 of ",
    ],
    ["it is 204, and nothing is kept", { do: "answer", status: 204 }, null, "HTTP 204, but the object is not there"],
    [
      "HEAD is answered with 503",
      { do: "discard" },
      { do: "answer", status: 503, code: "SlowDown" },
      "HTTP 200, then HTTP 503 to HEAD",
    ],
    ["HEAD is reset", { do: "discard" }, { do: "reset", when: "before" }, "HTTP 200, then connection failed to HEAD"],
  ])("is not believed: %s", async ([_what, put, head, words], { expect }) => {
    const { clock, control, job, view, expectWaiting, expectWhole } = await waitingJob();
    await control.script([rule(put, PUTS), ...(head === null ? [] : [rule(head, HEADS)])]);
    for (let i = 0; i < 5; i++) {
      clock.advance(900_000);
      await runAlarm(job);
      await expectWaiting();
      expect((await view()).error_message).toContain(`upload failed: ${words}`);
    }
    await control.script([]);
    await settle(job, clock);
    expect(await view()).toMatchObject({ error_message: null, last_error: null });
    expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
  });

  it("gets no job in the first place, if it keeps nothing of the probe", async ({ expect }) => {
    const { name, control } = freshBucket();
    await control.script([rule({ do: "discard" })]);
    await expect(createJob(name)).rejects.toThrow(
      "error validating destination: error writing object: error uploading: HTTP 200, but the object is not there",
    );
  });
});

describe("an answer that does not come", () => {
  /**
   * Lets an alarm begin an upload, and then its deadlines pass, with no time in it that is real.
   */
  async function untilHungUp(
    world: Awaited<ReturnType<typeof waitingJob>>,
    action: "withhold" | "trickle",
  ): Promise<void> {
    const { clock, control, job } = world;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const timers = vi.spyOn(globalThis, "setTimeout");
    try {
      clock.advance(30_000);
      const alarm = runAlarm(job);
      await control.whenHeld(1);
      // The body has a deadline of its own, from when the status has come.
      if (action === "trickle") await until(() => timers.mock.calls.some(([, ms]) => ms === 5_000));
      // Deadlines belong to the log that set them.
      await runInDurableObject(nodeAt(env.READERS, job, 0), () => vi.advanceTimersByTimeAsync(61_000));
      await alarm;
      await until(async () => (await logStatus(job)).errorMessage !== null);
      const given = (await control.requests()).filter((request) => request.action === action);
      if (given.length !== 1) throw new Error(`${given.length} requests were answered with ${action}`);
      await until(async () => (await control.requests()).find(({ seq }) => seq === given[0]?.seq)?.state === "aborted");
    } finally {
      timers.mockRestore();
      vi.useRealTimers();
    }
  }

  it("to a PUT that was stored: hung up on after a minute, and found by the next attempt without sending it", async ({
    expect,
  }) => {
    const world = await waitingJob();
    await world.control.script([rule({ do: "withhold" }, PUTS, 1)]);
    await untilHungUp(world, "withhold");
    await world.expectWaiting();
    expect((await world.view()).error_message).toBe("upload failed: no answer in time; it is being tried again");
    await settle(world.job, world.clock);
    expect(await world.asked()).toEqual(["PUT null", "HEAD 200"]);
    expect(await world.expectWhole()).toMatchObject([{ number: 1, verified: true, attempts: 2 }]);
  });

  it("to the HEAD after a 200 without the MD5: the bytes stay here until it does", async ({ expect }) => {
    const world = await waitingJob();
    await world.control.script([rule({ do: "wrong-etag" }, PUTS), rule({ do: "withhold" }, HEADS, 1)]);
    await untilHungUp(world, "withhold");
    await world.expectWaiting();
    expect((await world.view()).error_message).toContain("HTTP 200, then no answer in time to HEAD");
    await settle(world.job, world.clock);
    expect(await world.asked()).toEqual(["PUT 200", "HEAD null", "HEAD 200"]);
    expect(await world.expectWhole()).toMatchObject([{ number: 1, verified: true, attempts: 2 }]);
  });

  it("to its end: a status that has come decides, however long its body drips", async ({ expect }) => {
    const world = await waitingJob();
    const headers = { "retry-after": "120" };
    await world.control.script([rule({ do: "trickle", status: 503, code: "SlowDown", headers, everyMs: 5 }, PUTS, 1)]);
    await untilHungUp(world, "trickle");
    await world.expectWaiting();
    expect((await world.view()).error_message).toMatch(
      /^upload failed: HTTP 503( SlowDown)?; it is being tried again$/,
    );
    await settle(world.job, world.clock);
    expect(await world.expectWhole()).toMatchObject([{ number: 1, verified: true, attempts: 2 }]);
  });

  it("to its end, of a 200 that dripped after the object was stored: nobody waits for it", async ({ expect }) => {
    const { clock, control, job, expectWhole } = await waitingJob();
    await control.script([rule({ do: "trickle", status: 200, store: true, everyMs: 5 }, PUTS, 1)]);
    clock.advance(30_000);
    await runAlarm(job);
    expect(await expectWhole()).toMatchObject([{ number: 1, verified: true, attempts: 1 }]);
  });
});
