/** How much one sender may name in an hour, and that it harms none but itself. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { SENT_PLACES_MAX } from "../../../src/base/limits.ts";
import { KnownPlaces, placesOf } from "../../../src/ship/intake/places.ts";
import { LogShards } from "../../../src/ship/log/log-shards.ts";
import { TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { control } from "../log/shard.ts";

const DAY_MS = 86_400_000;
const TODAY = Math.floor(NOON / DAY_MS);
const MINUTE_MS = 60_000;

let clock: ReturnType<typeof setClock>;
let known: KnownPlaces;
beforeEach(() => {
  control([]);
  clock = setClock(NOON);
  known = new KnownPlaces();
});

/** Names these functions and days. @returns how long the sender is to wait. */
const name = (source: string, scripts: readonly string[], days: readonly number[] = [TODAY], at = known) => {
  const places = scripts.flatMap((script) => days.flatMap((day) => placesOf(script, day, clock.nowMs())));
  return at.waitS(source, new Set(places), env, { now: () => clock.nowMs() });
};
const names = (count: number, prefix = "f"): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const crowded = async () => (await new LogShards(env, [0]).status()).crowded;

describe("a sender of events", () => {
  it("may name so much in an hour, and is refused until it ends; others are not", async () => {
    expect(await name("http:ci", names(SENT_PLACES_MAX))).toBeNull();
    expect(await name("http:ci", ["one more"])).toBe(3_600);
    expect(await name("http:ci", names(SENT_PLACES_MAX))).toBeNull();
    expect(await name("http:other", ["one more"])).toBeNull();
    expect(await crowded()).toEqual([{ source: "http:ci", what: "refused" }]);
    clock.advance(60 * MINUTE_MS);
    expect(await name("http:ci", ["one more"])).toBeNull();
    expect(await crowded()).toHaveLength(1);
    clock.advance(60 * MINUTE_MS);
    expect(await crowded()).toEqual([]);
  });

  it("has one budget, whichever isolate it reaches", async () => {
    for (let n = 0; n < 10; n++)
      expect(await name("rpc", names(SENT_PLACES_MAX / 10, `${n} `), [TODAY], new KnownPlaces())).toBeNull();
    expect(await name("rpc", ["one more"], [TODAY], new KnownPlaces())).toBe(3_600);
  });

  it("may send a backfill of two years at once, in the order of its days", async () => {
    for (let day = TODAY - 731; day < TODAY - 1; day++) {
      for (let request = 0; request < 3; request++) expect(await name("http:ci", ["shop", "till"], [day])).toBeNull();
      clock.advance(1_000);
    }
  });

  it("makes no objects without end of the same days: each counts anew every minute", async () => {
    const days = Array.from({ length: 31 }, (_, n) => TODAY - 40 + n);
    let taken = 0;
    for (let minute = 0; minute < 59; minute++) {
      if ((await name("http:ci", ["shop"], days)) === null) taken += 31;
      clock.advance(MINUTE_MS);
    }
    expect(taken).toBe(31 * Math.floor((SENT_PLACES_MAX - 1) / 31));
  });

  it("is not asked about for what is usual: its names again, and the days around now", async () => {
    const asked = vi.spyOn(TraceLog.prototype, "admit");
    for (let n = 0; n < 5; n++) await name("http:ci", ["shop"], [TODAY - 1, TODAY, TODAY + 1]);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("asks for no more than it may be told, and by no more than the beginnings of names", async () => {
    const asked = vi.spyOn(TraceLog.prototype, "admit");
    expect(await name("http:ci", names(20_000, "f".repeat(200)))).toBe(3_600);
    const [, places = []] = asked.mock.calls[0] ?? [];
    expect(places).toHaveLength(SENT_PLACES_MAX + 1);
    expect(Math.max(...places.map(({ length }) => length))).toBeLessThanOrEqual(128);
  });

  it("is taken from where the log does not answer", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(TraceLog.prototype, "admit").mockImplementation(() => {
      throw new Error("busy");
    });
    expect(await name("http:ci", names(5_000))).toBeNull();
  });

  it("leaves nothing behind after a day", async () => {
    await name("http:ci", names(10));
    clock.advance(2 * DAY_MS);
    await traceLog(env.TRACE_LOG, 0).sweep();
    expect(await crowded()).toEqual([]);
  });
});
