/** Calls of the webhook to receivers of every kind, through the durable object. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { AlertCalls } from "../../../src/operate/alerts/alert-calls.ts";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import { GIVE_UP_MS, REST_MAX_MS, restMs } from "../../../src/operate/alerts/webhook.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { untilPasses } from "../../support/until.ts";
import { call } from "../../web/api/harness.ts";
import { type Call, expectSigned, putWebhook, readWebhook, runWatchAlarm, saidBy, theWatch } from "./receiver.ts";
import { begin, checkAt, clock, errors, eyes, HOUR_MS, MINUTE_MS, of, pass, post, watchEach } from "./watching.ts";

watchEach();

describe("a receiver that is down", () => {
  it("for an hour gets every call, in order, under the ids of earlier tries, and is left alone in between", async () => {
    const secret = await putWebhook();
    post.answers(503);
    const found = await begin(1, 2);
    await pass(HOUR_MS, found.slice(1));
    const tries = post.calls.splice(0);
    // Doubling from five seconds: a dozen at most, for all calls together.
    expect([tries.length > 8, tries.length < 13]).toEqual([true, true]);
    const gaps = tries.slice(1).map(({ atS }, i) => atS - (tries[i]?.atS ?? 0));
    expect(gaps.slice(0, 6)).toEqual([5, 10, 20, 40, 80, 160]);
    expect(await readWebhook()).toMatchObject({ waiting: 3, delivered: 0, last_answer: "HTTP 503" });
    post.answers(204);
    await pass(2 * HOUR_MS, found.slice(1));
    expect(saidBy(post.calls).sort()).toEqual(["opened 1", "opened 2", "over 1"]);
    expect(saidBy(post.calls).indexOf("opened 1")).toBeLessThan(saidBy(post.calls).indexOf("over 1"));
    const first = new Map(tries.map(({ id, raw }) => [id, raw]));
    for (const { id, raw, body } of post.calls) if (body.type === "incident.opened") expect(first.get(id)).toBe(raw);
    await expectSigned([...tries, ...post.calls], secret);
    // What opened together was one message for five tries, and then two.
    expect(await readWebhook()).toMatchObject({ waiting: 0, delivered: 3, failures: 0, failing_since: null });
  });

  it("is a finding with the third failure, and none when a call is accepted; no call is made about it", async () => {
    await putWebhook();
    post.answers("refuses");
    const found = await begin(1);
    // The second failure after 5 s, the third 10 s later; a look in between is not reused.
    await pass(6_000, found);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).toEqual(["failing"]);
    await pass(9_999, found);
    const sight = await theWatch().snapshot();
    expect(sight?.findings).toEqual([
      expect.objectContaining({ kind: "failing" }),
      expect.objectContaining({
        kind: "webhook_failing",
        severity: "warning",
        sinceMs: NOON + MINUTE_MS,
        summary: "The address of the webhook does not accept calls: connection failed. 1 call waiting.",
        advice: expect.stringMatching(/^Check that the service at this address is up\. Then test it/),
      }),
    ]);
    await pass(17 * MINUTE_MS, found);
    post.answers(200);
    await pass(2 * HOUR_MS, found);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).toEqual(["failing"]);
    expect(new Set(saidBy(post.calls))).toEqual(new Set(["opened 1"]));
  });

  it("is a finding after ten minutes, if it asked to be left alone for longer", async () => {
    await putWebhook();
    post.answers(new Response(null, { status: 503, headers: { "retry-after": "3600" } }));
    const found = await begin(1);
    await pass(10 * MINUTE_MS - 1, found);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).toEqual(["failing"]);
    clock.advance(1);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).toEqual(["failing", "webhook_failing"]);
    expect(await readWebhook()).toMatchObject({ failures: 1 });
  });

  it.each([
    ["a test call is accepted", async () => void (await call("POST", "/logship/webhook/test"))],
    ["it is removed", async () => void (await call("DELETE", "/logship/webhook"))],
    ["it gets another address", async () => void (await putWebhook({ url: "https://other.example.com/" }))],
    ["it is switched off", async () => void (await putWebhook({ enabled: false }))],
  ])("is no finding any more as soon as %s", async (_what, act) => {
    await putWebhook();
    post.answers(403);
    const found = await begin(1);
    await pass(20_000, found);
    const kinds = async () => (await theWatch().snapshot())?.findings.map(({ kind }) => kind);
    expect(await kinds()).toEqual(["failing", "webhook_failing"]);
    post.answers(204);
    await act();
    // At once, although the last look is a moment old.
    expect(await kinds()).toEqual(["failing"]);
  });

  it("gets what waits at once when a test call is accepted, and not when one is refused", async () => {
    await putWebhook();
    post.answers(500);
    const found = await begin(1);
    await pass(HOUR_MS, found);
    post.calls.splice(0);
    await call("POST", "/logship/webhook/test");
    await pass(5_000, found);
    expect(post.calls.map(({ body }) => body.type)).toEqual(["webhook.test"]);
    post.answers(204);
    await call("POST", "/logship/webhook/test");
    await runWatchAlarm();
    expect(saidBy(post.calls.slice(2))).toEqual(["opened 1"]);
    expect(await readWebhook()).toMatchObject({ waiting: 0, failures: 0, failing_since: null });
  });

  it("says how a test call ended, where the watch cannot note it", async () => {
    await putWebhook();
    vi.spyOn(Watch.prototype, "noteTest").mockImplementation(() => {
      throw new Error("no such method");
    });
    const { status, body } = await call<{ delivered: boolean }>("POST", "/logship/webhook/test");
    expect([status, body.result.delivered]).toEqual([200, true]);
  });

  it("for three days is given up, counted and said, and what comes later goes on", async () => {
    await putWebhook();
    post.answers(500);
    await begin(1);
    clock.advance(GIVE_UP_MS - 2 * HOUR_MS);
    await runWatchAlarm();
    expect(await readWebhook()).toMatchObject({ waiting: 1, given_up: 0 });
    clock.advance(2 * HOUR_MS);
    await runWatchAlarm();
    expect(await readWebhook()).toMatchObject({ waiting: 0, given_up: 1 });
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ message: "calls of an alert were given up", calls: 1 }),
    );
    post.answers(204);
    post.calls.splice(0);
    await begin(1, 2);
    await pass(2 * HOUR_MS, [of(1), of(2)]);
    expect(saidBy(post.calls)).toEqual(["opened 2"]);
  });

  it.each([
    [422, "at once", 5],
    [500, "after five tries", 11],
    [404, "after five tries", 11],
  ])(
    "answers one incident with %i holds up no other of its message: that goes in halves %s",
    async (status, _when, tries) => {
      await putWebhook();
      const isOfOne = (each: Call): boolean => saidBy([each]).some((said) => said.endsWith(" 1"));
      post.answers((each) => (isOfOne(each) ? status : 204));
      const found = await begin(1, 2, 3, 4, 5);
      await pass(HOUR_MS, found);
      // Ids are random, and so is which half has it: of each the other one may come first.
      const alone = post.calls.findIndex((each) => isOfOne(each) && saidBy([each]).length === 1);
      expect([alone > 0, alone <= tries + 3]).toEqual([true, true]);
      await pass(30 * MINUTE_MS, []);
      await pass(2 * HOUR_MS, []);
      const taken = saidBy(post.calls.filter((each) => !isOfOne(each)));
      expect(taken.sort()).toEqual(["opened", "over"].flatMap((type) => [2, 3, 4, 5].map((id) => `${type} ${id}`)));
      expect(saidBy(post.calls)).not.toContain("over 1");
      expect(await readWebhook()).toMatchObject({ waiting: 2 });
    },
  );

  it("and says for how long is left alone for so long", async () => {
    await putWebhook();
    post.answers(new Response(null, { status: 429, headers: { "retry-after": "600" } }));
    const found = await begin(1);
    post.answers(204);
    await pass(9 * MINUTE_MS, found);
    expect(post.calls).toHaveLength(1);
    await pass(2 * MINUTE_MS, found);
    expect(post.calls.map(({ atS }) => atS - NOON / 1_000)).toEqual([60, 660]);
  });

  it("is called again after a clock that was years ahead is put back", async () => {
    await putWebhook();
    post.answers(500);
    clock.advance(10 * 365 * 24 * HOUR_MS);
    await begin(1);
    clock.advance(-10 * 365 * 24 * HOUR_MS);
    post.answers(204);
    await theWatch().check();
    expect(saidBy(post.calls)).toEqual(["opened 1", "opened 1"]);
    expect(await readWebhook()).toMatchObject({ waiting: 0, delivered: 1 });
  });
});

describe("a receiver that answers", () => {
  it.each([
    [301, "HTTP 301: redirects are not followed"],
    [307, "HTTP 307: redirects are not followed"],
    [400, "HTTP 400"],
    [401, "HTTP 401"],
    [404, "HTTP 404"],
    [500, "HTTP 500"],
  ])("%i has not taken the call: it is tried again, at the same place", async (status, words) => {
    await putWebhook();
    post.answers(new Response("body", { status, headers: { location: "https://evil.example/" } }));
    const found = await begin(1);
    expect(await readWebhook()).toMatchObject({ waiting: 1, last_answer: words, failures: 1 });
    post.answers(200);
    await pass(MINUTE_MS, found);
    expect(post.calls.map(({ url }) => new URL(url).host)).toEqual(["hooks.example.com", "hooks.example.com"]);
    expect(post.calls.map(({ redirect }) => redirect)).toEqual(["manual", "manual"]);
    expect(post.calls[0]?.id).toBe(post.calls[1]?.id);
    expect(await readWebhook()).toMatchObject({ waiting: 0 });
  });

  it("410 is called no more, which is said, until it is switched on again", async () => {
    await putWebhook();
    const found = await begin(1);
    post.answers(410);
    await begin(1, 2);
    expect(await readWebhook()).toMatchObject({
      enabled: false,
      gone_at: new Date(clock.nowMs()).toISOString(),
      waiting: 0,
      last_answer: "HTTP 410",
    });
    post.answers(204);
    post.calls.splice(0);
    await pass(HOUR_MS, [...found, of(2)]);
    expect(post.calls).toEqual([]);
    const sight = await theWatch().snapshot();
    expect(sight?.findings.map(({ kind }) => kind)).toContain("webhook_failing");
    // A new secret does not hide it.
    await putWebhook({ rotate: true });
    expect(await readWebhook()).toMatchObject({ enabled: false, gone_at: expect.any(String) });
    await pass(MINUTE_MS, [...found, of(2)]);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).toContain("webhook_failing");
    await putWebhook({ enabled: true });
    await pass(MINUTE_MS, [...found, of(2)]);
    expect(saidBy(post.calls).sort()).toEqual(["opened 1", "opened 2"]);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).not.toContain("webhook_failing");
  });

  it("nothing for ten seconds is given up for now", async () => {
    await putWebhook();
    post.answers("hangs");
    await runInDurableObject(theWatch(), async (instance: Watch) => {
      eyes.now([of(1)]);
      await instance.check();
      clock.advance(MINUTE_MS);
      vi.useFakeTimers();
      let ended = false;
      const alarm = instance.alarm().finally(() => {
        ended = true;
      });
      let seconds = 0;
      for (; !ended && seconds < 60; seconds++) await vi.advanceTimersByTimeAsync(1_000);
      await alarm;
      expect(vi.getTimerCount()).toBe(0);
      vi.useRealTimers();
      expect(seconds).toBeLessThanOrEqual(11);
    });
    expect(await readWebhook()).toMatchObject({ waiting: 1, last_answer: "no answer within 10 s" });
  });

  it("with a body that never ends has taken the call", async () => {
    await putWebhook();
    let cancelled = false;
    const endless = (): Response =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          cancel: () => {
            cancelled = true;
          },
        }),
      );
    post.answers(() => endless);
    await begin(1);
    expect(await readWebhook()).toMatchObject({ waiting: 0, delivered: 1 });
    expect(cancelled).toBe(true);
  });
});

describe("a crash", () => {
  /** The cron, in an object that dies meanwhile. */
  async function diesWhile(isThere: () => boolean): Promise<void> {
    eyes.now([of(1)]);
    const cron = theWatch()
      .check()
      .catch(() => {});
    await untilPasses(() => expect(isThere()).toBe(true));
    await abortAllDurableObjects();
    await cron;
    // What was not asked anything since it died is not emptied after the test: the audit would be
    // in the next one.
    await call("GET", "/logship/audit");
  }

  it("between what was seen and the call: the alarm that was set with it makes it", async () => {
    await putWebhook();
    await checkAt(0, [of(1)]);
    clock.advance(MINUTE_MS);
    // No other alarm.
    await runInDurableObject(theWatch(), (_watch, { storage }) => storage.deleteAlarm());
    await abortAllDurableObjects();
    // The finding is kept, and nothing is sent.
    const send = vi.spyOn(AlertCalls.prototype, "send").mockImplementation(() => new Promise(() => {}));
    await diesWhile(() => send.mock.calls.length > 0);
    send.mockRestore();
    expect([post.calls, await readWebhook()]).toMatchObject([[], { waiting: 1 }]);
    expect(await runWatchAlarm()).toBe(true);
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
    await pass(HOUR_MS, [of(1)]);
    expect(post.calls).toHaveLength(1);
  });

  it("between the call and its note: it is made again, and is the same", async () => {
    const secret = await putWebhook();
    await checkAt(0, [of(1)]);
    clock.advance(MINUTE_MS);
    post.answers("hangs");
    await diesWhile(() => post.calls.length > 0);
    expect(await readWebhook()).toMatchObject({ waiting: 1, delivered: 0, failures: 0 });
    post.answers(204);
    await pass(10 * MINUTE_MS, [of(1)]);
    expect(post.calls).toHaveLength(2);
    const [first, second] = post.calls as [Call, Call];
    expect([second.id, second.raw]).toEqual([first.id, first.raw]);
    await expectSigned(post.calls, secret);
    expect(await readWebhook()).toMatchObject({ waiting: 0, delivered: 1 });
  });
});

describe("waits after a failure", () => {
  it("double from five seconds to an hour, a fifth more or less", () => {
    const waits = (chance: number) => Array.from({ length: 12 }, (_, i) => restMs(i + 1, null, chance) / 1_000);
    expect(waits(0.5)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
    expect(waits(0).slice(0, 3)).toEqual([4, 8, 16]);
    expect(waits(1).at(-1)).toBe(4_320);
    expect(restMs(1e9, null, 1)).toBeLessThanOrEqual(REST_MAX_MS);
  });

  it("are at least what the receiver asks for", () => {
    expect(restMs(1, 600, 0.5)).toBe(600_000);
    expect(restMs(12, 600, 0.5)).toBe(3_600_000);
  });
});
