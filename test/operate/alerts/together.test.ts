/** Incidents that begin together are one message, also where several checks see them begin. */
import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { HOLD } from "../../../src/operate/alerts/alert-calls.ts";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import type { Finding } from "../../../src/operate/status/finding.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { putWebhook, readWebhook, runWatchAlarm, saidBy, theWatch } from "./receiver.ts";
import { checkAt, clock, eyes, HOUR_MS, MINUTE_MS, of, pass, post, watchEach } from "./watching.ts";

watchEach();
beforeEach(() => {
  HOLD.ms = 20_000;
});

const armed = () => runInDurableObject(theWatch(), (_watch, { storage }) => storage.getAlarm());

/** The alarms of so many ms. */
async function alarmsFor(ms: number): Promise<void> {
  const endMs = clock.nowMs() + ms;
  for (let at = await armed(); at !== null && at <= endMs; at = await armed()) {
    clock.advance(Math.max(0, at - clock.nowMs()));
    await runWatchAlarm();
  }
  clock.advance(endMs - clock.nowMs());
}

/** Three begin at noon, and two more so much later; a shard asks for a check of these. */
async function beginTwice(afterMs: number): Promise<Finding[]> {
  const all = [1, 2, 3, 4, 5].map((id) => of(id));
  await checkAt(0, all.slice(0, 3));
  clock.advance(afterMs);
  eyes.now(all);
  await theWatch().look();
  await alarmsFor(0);
  return all;
}

/** When each message came, in s after noon, and of how many incidents. */
const messages = (): [number, number][] => post.calls.map((each) => [each.atS - NOON / 1_000, saidBy([each]).length]);

describe("what begins within twenty seconds", () => {
  it("is one message, a minute and twenty seconds after the first was seen, and what begins later the next", async () => {
    await putWebhook();
    await beginTwice(15_000);
    await alarmsFor(5 * MINUTE_MS);
    expect(messages()).toEqual([[80, 5]]);
    expect(await readWebhook()).toMatchObject({ delivered: 1, waiting: 0 });
  });

  it("is not waited for any longer", async () => {
    await putWebhook();
    await beginTwice(30_000);
    await alarmsFor(5 * MINUTE_MS);
    expect(messages()).toEqual([
      [80, 3],
      [110, 2],
    ]);
  });

  it("is one message, even if the object is evicted or read while it is held", async () => {
    await putWebhook();
    await beginTwice(15_000);
    await alarmsFor(MINUTE_MS - 15_000);
    expect(await readWebhook()).toMatchObject({ waiting: 3 });
    await abortAllDurableObjects();
    await call("GET", "/logship/audit");
    expect(await readWebhook()).toMatchObject({ waiting: 3 });
    await alarmsFor(5 * MINUTE_MS);
    expect(messages()).toEqual([[80, 5]]);
  });

  it("is held where an earlier call fails, too", async () => {
    await putWebhook();
    post.answers(503);
    await checkAt(0, [of(9)]);
    await alarmsFor(90_000);
    post.calls.length = 0;
    eyes.now([of(9), of(1)]);
    await theWatch().check();
    await alarmsFor(MINUTE_MS);
    const openedMs = clock.nowMs();
    await alarmsFor(19_000);
    expect(saidBy(post.calls)).not.toContain("opened 1");
    post.answers(204);
    await alarmsFor(HOUR_MS);
    const told = post.calls.find((each) => saidBy([each]).includes("opened 1"));
    expect((told?.atS ?? 0) * 1_000).toBeGreaterThanOrEqual(openedMs + 20_000);
  });

  it("is not held for a pager, which gets each alone, nor by a clock that was ahead", async () => {
    const pager = { name: "pager", format: "pagerduty", secret: "0123456789abcdef0123456789abcdef" };
    expect((await call("POST", "/logship/alerts", pager)).status).toBe(201);
    await checkAt(0, [of(1)]);
    await alarmsFor(MINUTE_MS);
    expect(post.calls).toHaveLength(1);
    await putWebhook();
    clock.advance(-HOUR_MS);
    await theWatch().check();
    expect(post.calls.map(({ url }) => new URL(url).hostname)).toEqual(["events.pagerduty.com", "hooks.example.com"]);
  });

  it("is told though it is over before it was sent: as begun, and as over", async () => {
    await putWebhook();
    post.answers(503);
    await checkAt(0, [of(1)]);
    await alarmsFor(MINUTE_MS);
    await pass(30 * MINUTE_MS, []);
    post.answers(204);
    post.calls.length = 0;
    await pass(HOUR_MS, []);
    expect(saidBy(post.calls)).toEqual(["opened 1", "over 1"]);
  });
});

describe("a check that a shard asks for", () => {
  it("is made again a minute later if it fails, until one succeeds", async () => {
    await theWatch().check();
    clock.advance(10_000);
    eyes.fails(new Error("no answer"));
    await theWatch().look();
    await alarmsFor(2 * MINUTE_MS - 1);
    eyes.now([of(1)]);
    await alarmsFor(MINUTE_MS);
    expect((await theWatch().snapshot())?.findings).toMatchObject([{ kind: "failing", sinceMs: NOON + 130_000 }]);
    await alarmsFor(MINUTE_MS);
    expect(await armed()).toBeNull();
  });

  it("is made although the object ends first, and though there is no receiver", async () => {
    await theWatch().check();
    await theWatch().look();
    await evictDurableObject(theWatch());
    const { calls } = vi.mocked(Watch.prototype.see).mock;
    const before = calls.length;
    await alarmsFor(10_000);
    expect(calls.length).toBe(before + 1);
  });

  it("keeps its time when a receiver changes in a new instance", async () => {
    await putWebhook();
    await theWatch().check();
    await theWatch().look();
    await evictDurableObject(theWatch());
    await putWebhook({ rotate: true });
    expect(await armed()).toBe(NOON + 10_000);
  });
});
