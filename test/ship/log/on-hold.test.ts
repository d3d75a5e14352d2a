/** Messages that are kept from the jobs until a person decides. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LogShards } from "../../../src/ship/log/log-shards.ts";
import type { HoldMessage } from "../../../src/ship/log/on-hold.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { id, job, snapshot } from "../consumer/scripted.ts";
import {
  type Control,
  control,
  eventOf,
  failingAt,
  headsOf,
  loaded,
  message,
  open,
  rowsWritten,
  shard,
  stateOf,
  unread,
} from "./shard.ts";

const COUNTS = "processed, routed, not_enabled, not_routed, set_aside, discarded";
const counts = () => stateOf<Record<string, number>>(COUNTS);
const NOTHING = { processed: 0, routed: 0, not_enabled: 0, not_routed: 0, set_aside: 0, discarded: 0 };
const from = (fromMs: number, untilMs: number | null = null) => ({ windows: [{ fromMs, untilMs }] });

let plane: Control;
beforeEach(() => {
  setClock(NOON);
  plane = control();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const partsOf = (bytes: ArrayBuffer): HoldMessage["parts"] =>
  loaded(bytes).map(({ message: { id: part, takenInMs, keyed, records } }) => ({
    id: part,
    takenInMs,
    keyed,
    records,
  }));

/** As the queue handler sets it aside. */
const holding = (bytes: ArrayBuffer, fields: Partial<HoldMessage> = {}): HoldMessage => ({
  ...{ message: bytes, queue: "q", why: "failed too often" },
  parts: fields.parts ?? partsOf(bytes),
  hash: { id: "f".repeat(32), takenInMs: NOON, keyed: true },
  ...fields,
});
const hold = async (bytes: ArrayBuffer, fields: Partial<HoldMessage> = {}, n = 1) => {
  await shard(n).hold(holding(bytes, fields));
};
const resend = async (number: number, bytes: ArrayBuffer) => shard().holdResend(number, headsOf(bytes));
const append = async (...messages: ArrayBuffer[]) => (await shard().append(open(messages))).fresh;
const listed = async () => (await shard().holdList(0, 10)).entries.map((entry) => [entry.id, entry.events]);

/** Three events, one of a function that may be off. */
const three = (n: number, fields = {}) =>
  message(n, { records: [eventOf("shop"), eventOf("till"), eventOf("shop")], ...fields });

describe("a message on hold", () => {
  it("is without the parts that are known, and does not exist if all are", async () => {
    await append(three(1));
    await hold(three(1));
    expect([await listed(), await counts()]).toEqual([[], { ...NOTHING, processed: 3, routed: 3 }]);
  });

  it("is what its jobs are not complete without, and no other", async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2, from(NOON + 1))] };
    await append(message(9));
    await hold(message(1));
    const { jobs, oldestUnfinishedMs } = await shard().status([1, 2]);
    expect([jobs[1]?.isOnHold, jobs[2]?.isOnHold, oldestUnfinishedMs]).toEqual([true, false, NOON]);
    expect((await shard().accountStatus()).setAsideMessages).toEqual({
      ...{ messages: 1, events: 1, oldestMs: NOON, stopsClaims: false },
    });
    await shard().holdDiscard(1);
    expect(await shard().status([1])).toMatchObject({ jobs: { 1: { isOnHold: false } }, oldestUnfinishedMs: null });
  });

  it("was noted as coming again, and is not any more", async () => {
    await append(message(9));
    await shard().expectAgain([{ id: id(1), takenInMs: NOON - 5, keyed: false }], "returned");
    await hold(message(1));
    expect((await shard().accountStatus()).oldestUnfinishedMs).toBeNull();
  });

  it("is discarded once, and its number is not used again", async () => {
    await hold(three(1));
    expect([await shard().holdDiscard(1), await shard().holdDiscard(1)]).toEqual([3, null]);
    await hold(message(2));
    expect(await listed()).toEqual([[2, 1]]);
  });

  it("costs as many rows as docs/storage.md says", async () => {
    await append(message(9));
    const written = await rowsWritten(
      (log) => log.hold(holding(message(1))),
      (log) => log.holdResend(1, headsOf(message(1))),
    );
    expect(written).toEqual([5, 6]);
  });
});

describe("a message on hold that is sent again", () => {
  it("stays as it is if something fails halfway, or a part is missing", async () => {
    await hold(three(1));
    const before = await stateOf("*");
    await expect((async () => shard().holdResend(1, headsOf(three(2))))()).rejects.toThrow("missing");
    await failingAt("UPDATE state SET processed = processed + ", (log) => log.holdResend(1, headsOf(three(1))));
    expect([await stateOf("*"), await unread(1), await listed()]).toEqual([before, [], [[1, 3]]]);
    expect((await shard().status([1])).jobs[1]).toMatchObject({ received: 0, unread: null });
    expect(await resend(1, three(1))).toMatchObject({ jobs: [1] });
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 3 });
  });

  it("counts nothing as routed where all of its jobs are gone, or were discarded", async () => {
    await hold(three(1));
    const discarded = snapshot("epoch.2.mark", [job(1, { discard: true, windows: [] })]);
    plane.now = discarded;
    await shard().configure(discarded);
    expect(await resend(1, three(1))).toMatchObject({ jobs: [], gone: [1], count: { notRouted: 3 } });
    expect((await shard().status([1])).jobs[1]).toMatchObject({ received: 0, unread: null });
  });
});

describe("a message whose head cannot be read", () => {
  const headless = (n = 1, fields = {}) =>
    hold(new Uint8Array([n, 2, 3]).buffer, { parts: [], unreadable: "shorter than a header", ...fields });

  it("counts as one event, is known by its bytes, and may be for any job of any time", async () => {
    await headless();
    await headless();
    expect([await listed(), await counts()]).toEqual([[[1, 1]], { ...NOTHING, processed: 1, set_aside: 1 }]);
    const { jobs, oldestUnfinishedMs } = await shard().status([1]);
    expect([jobs[1]?.isOnHold, oldestUnfinishedMs]).toEqual([true, 0]);
    expect((await shard().accountStatus()).setAsideMessages).toMatchObject({ stopsClaims: true });
    expect(await shard().holdMessage(1)).toMatchObject({ takenInMs: null, parts: [], unreadable: expect.any(String) });
  });

  it("goes once its parts were appended, and counts as they do", async () => {
    await headless();
    await append(three(1));
    expect([await shard().holdSent(1), await shard().holdSent(1)]).toEqual([true, false]);
    expect([await listed(), await counts()]).toEqual([[], { ...NOTHING, processed: 3, routed: 3 }]);
    // Its bytes are still known.
    await headless();
    expect(await listed()).toEqual([]);
  });
});

describe("messages on hold in several shards", () => {
  const ONE_OF_SHARD_2 = 2 * 2 ** 40 + 1;
  const log = () => new LogShards(env, [1, 2]);

  it("are one list, shard by shard, with numbers of their own", async () => {
    await hold(message(1));
    await hold(message(2));
    await hold(message(3), {}, 2);
    const pages = await Promise.all([0, 1, 2, 3].map((offset) => log().holdList(offset, 1)));
    const first = 2 ** 40 + 1;
    expect(pages.map(({ entries, total }) => [entries.map((entry) => entry.id), total])).toEqual([
      [[first], 3],
      [[first + 1], 3],
      [[ONE_OF_SHARD_2], 3],
      [[], 3],
    ]);
    expect((await log().holdList(1, 100)).entries.map((entry) => entry.id)).toEqual([first + 1, ONE_OF_SHARD_2]);
    expect(await log().holdMessage(ONE_OF_SHARD_2)).toMatchObject({ id: ONE_OF_SHARD_2, events: 1 });
    expect(await log().holdDiscard(ONE_OF_SHARD_2)).toBe(1);
    expect((await log().status()).setAsideMessages).toMatchObject({ messages: 2, events: 2 });
  });

  it("of a shard that there is not make no shard", async () => {
    for (const number of [5 * 2 ** 40 + 1, 999_999_999_999_999])
      expect([await log().holdMessage(number), await log().holdDiscard(number)]).toEqual([null, null]);
    expect(plane.joined).toEqual([]);
  });
});
