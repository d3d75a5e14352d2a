/** The configuration by which a shard decides: what it takes from whom, and when it asks. */
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { JobsSnapshot } from "../../../src/ship/job/config.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { id, job, snapshot } from "../consumer/scripted.ts";
import {
  alarmAt,
  type Control,
  control,
  failingAt,
  message,
  open,
  page,
  passing,
  readers,
  shard,
  unread,
} from "./shard.ts";

const MINUTES_MS = 60_000;

let clock: ReturnType<typeof setClock>;
let plane: Control;
beforeEach(() => {
  clock = setClock(NOON);
  plane = control();
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const append = async (n: number, state = "") => shard().append(open([message(n)], { state }));
const later = (version: number, mark = "mark"): JobsSnapshot =>
  snapshot(`epoch.${version}.${mark}`, [job(version, { mark })]);
/** Until what goes on beside an append has ended. */
const joins = (count: number) => until(() => plane.joined.length === count);

describe("a shard asks the control plane", () => {
  it("when it starts, and with the first append or drive after five minutes", async () => {
    await append(1);
    await append(2);
    expect(plane.joined).toEqual([""]);
    clock.advance(5 * MINUTES_MS - 1);
    await append(3);
    expect(plane.joined.length).toBe(1);
    clock.advance(1);
    await append(4);
    await joins(2);
    await evictDurableObject(shard());
    await append(5);
    expect(plane.joined).toEqual(["", "epoch.1.mark", "epoch.1.mark"]);
    clock.advance(5 * MINUTES_MS);
    readers(async () => ({}));
    await shard().drive();
    await joins(4);
  });

  it("when its clock goes back by as much", async () => {
    await append(1);
    clock.advance(-5 * MINUTES_MS);
    await append(2);
    await joins(2);
  });

  it.each(["epoch.2.mark", "epoch.1.other", "other.1.mark"])(
    "when an append names a state that it may lack, %s, and decides by its own meanwhile",
    async (state) => {
      await append(1);
      plane.now = snapshot("epoch.2.mark", [job(1, { windows: [] }), job(2)]);
      await append(2, state);
      await until(async () => (await shard().configState()) === "epoch.2.mark");
      await append(3, state);
      expect([(await unread(1)).length, (await unread(2)).length]).toEqual([2, 1]);
      await shard().configure(snapshot("epoch.3.mark", [job(2)]));
      expect(Object.keys((await shard().status([1, 2])).jobs)).toEqual(["2"]);
    },
  );

  it("not when an append names an older one", async () => {
    plane.now = later(2);
    await append(1);
    await append(2, "epoch.1.mark");
    await append(3, "epoch.2.mark");
    expect(plane.joined).toEqual([""]);
  });

  it("once at a time, however many appends wait for it", async () => {
    const answer = Promise.withResolvers<void>();
    plane.answer = () => answer.promise;
    const appends = [1, 2, 3].map((n) => append(n));
    await joins(1);
    answer.resolve();
    expect((await Promise.all(appends)).map(({ fresh }) => fresh)).toEqual([[id(1)], [id(2)], [id(3)]]);
    expect(plane.joined).toEqual([""]);
  });
});

describe("a control plane that does not answer", () => {
  it("stops a new shard: it decides nothing, and asks again with each append", async () => {
    plane.answer = () => Promise.reject(new Error("out of reach"));
    for (const n of [1, 2]) await expect(append(n)).rejects.toThrow("ShardNotReady");
    await expect((async () => shard().drive())()).rejects.toThrow("ShardNotReady");
    expect(plane.joined).toEqual(["", "", ""]);
    plane.answer = async () => {};
    expect((await append(1)).fresh).toEqual([id(1)]);
  });

  it("holds up the first append of an instance for five seconds, and then it goes on with its copy", async () => {
    await append(1);
    await evictDurableObject(shard());
    plane.answer = () => new Promise(() => {});
    passing(5_000);
    expect((await append(2)).fresh).toEqual([id(2)]);
    // No other waits.
    expect((await append(3)).fresh).toEqual([id(3)]);
    expect(plane.joined.length).toBe(2);
  });

  it.each([undefined, null, 7, {}, { state: "epoch.1.mark" }, { state: "", jobs: null }])(
    "so does one that answers nonsense: %j",
    async (answer) => {
      plane.now = answer as unknown as JobsSnapshot;
      await expect(append(1)).rejects.toThrow("ShardNotReady");
    },
  );
});

describe("a change", () => {
  beforeEach(async () => {
    plane.now = later(2);
    await append(1);
  });

  it.each([1, 2])("that is not later changes nothing, and is answered by what is in force: %i", async (version) => {
    expect(await shard().configure({ ...later(version), jobs: [] })).toBe("epoch.2.mark");
    expect(plane.joined.length).toBe(1);
    expect((await unread(2)).length).toBe(1);
  });

  it("of another history is asked for: the control plane tells which of them is over", async () => {
    // A late call of a control plane that was restored meanwhile.
    expect(await shard().configure(later(9, "lost"))).toBe("epoch.2.mark");
    plane.now = later(3, "restored");
    expect(await shard().configure(later(3, "restored"))).toBe("epoch.3.restored");
    // Its answer counts, though its version may be older.
    plane.now = later(1, "again");
    expect(await shard().configure(later(1, "again"))).toBe("epoch.1.again");
    expect(await shard().configure(later(7, "restored"))).toBe("epoch.1.again");
  });

  it("of another history is not confirmed while the control plane does not say", async () => {
    plane.answer = () => Promise.reject(new Error("out of reach"));
    await expect((async () => shard().configure(later(3, "other")))()).rejects.toThrow("out of reach");
    expect(await shard().configState()).toBe("epoch.2.mark");
  });

  it("that was taken is not undone by an answer that is older, and was under way", async () => {
    clock.advance(5 * MINUTES_MS);
    const answer = Promise.withResolvers<void>();
    plane.answer = () => answer.promise;
    plane.now = later(3);
    await append(2);
    await joins(2);
    await shard().configure(later(4));
    answer.resolve();
    // It has ended when the next one begins.
    await until(async () => {
      clock.advance(5 * MINUTES_MS);
      await append(3);
      return plane.joined.length === 3;
    });
    expect(await shard().configState()).toBe("epoch.4.mark");
  });

  it("makes a job due that has read anything, so that its reader learns of it", async () => {
    const [{ n } = { n: 0 }] = (await page(2)).items;
    await page(2, n, { stamp: "1.mark" });
    expect((await page(2, n)).items).toEqual([]);
    await shard().configure(snapshot("epoch.3.mark", [job(2, { version: 3 }), job(3)]));
    expect(await alarmAt()).toBe(clock.nowMs());
    const pulls = readers(async () => ({ cursor: n, stamp: "3.mark" }));
    await runDurableObjectAlarm(shard());
    await runDurableObjectAlarm(shard());
    expect(pulls.map(({ name }) => name)).toEqual(["job 2 log 1"]);
  });

  it("that fails halfway leaves the shard as it was", async () => {
    const discarded = snapshot("epoch.3.mark", [job(2, { discard: true }), job(3)]);
    await failingAt("UPDATE state SET readers", (log) => log.configure(discarded));
    expect(await shard().configState()).toBe("epoch.2.mark");
    expect((await shard().status([2, 3])).jobs).toMatchObject({ 2: { received: 1, unread: { records: 1 } } });
    await append(2);
    expect([(await unread(2)).length, (await unread(3)).length]).toEqual([2, 0]);
  });
});
