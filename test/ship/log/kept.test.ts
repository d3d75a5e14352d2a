/** What a shard keeps of what it has taken in, and for how long. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeParts } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { Live } from "../../../src/operate/live/live.ts";
import { JOB_KNOWN_MS, type TraceLog } from "../../../src/ship/log/trace-log.ts";
import { KEPT_MS, keepHours } from "../../support/runtime/keeping.ts";
import { NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { id, job, snapshot } from "../consumer/scripted.ts";
import {
  type Control,
  control,
  eventOf,
  failingAt,
  kept,
  message,
  open,
  page,
  prepared,
  readers,
  rowsOf,
  shard,
  stateOf,
  unread,
} from "./shard.ts";

const DAY_MS = 86_400_000;
const from = (fromMs: number, untilMs: number | null = null) => ({ windows: [{ fromMs, untilMs }] });

let clock: ReturnType<typeof setSteadyClock>;
let plane: Control;
beforeEach(() => {
  clock = setSteadyClock(NOON);
  plane = control();
  // What is read, tests read.
  readers(() => ({}));
  vi.spyOn(console, "error").mockImplementation(() => {});
});

/** A block for each, a second apart. */
async function append(...ns: number[]): Promise<void> {
  for (const n of ns) {
    await shard().append(open([message(n, { takenInMs: clock.nowMs() })]));
    clock.advance(1_000);
  }
}
const read = async (jobId = 1) => void (await page(jobId, (await stateOf<{ n: number }>("last_block AS n")).n));
/** All that was added later is kept, in ms since noon; null: all that ever was. */
const since = async (): Promise<number | null> => {
  const { ms } = await stateOf<{ ms: number }>("kept_since_ms AS ms");
  return ms === 0 ? null : ms - NOON;
};
const sweep = () => shard().sweep();
const evicted = () => evictDurableObject(shard());
/** So many blocks of one event fit. */
const room = (blocks: number) =>
  runInDurableObject(shard(), (log: TraceLog, { storage: { sql } }) => {
    const { bytes } = sql.exec<{ bytes: number }>("SELECT max(length(body)) AS bytes FROM block").one();
    log.keptMaxBytes = bytes * blocks;
  });
const events = (...ns: number[]): string[] => ns.map((n) => `event ${n}`);

describe("what is kept", () => {
  it("is all that was taken in, once, whether a job wants it or not, and has read it or not", async () => {
    plane.now = { ...plane.now, jobs: [job(1, from(NOON + 1_000))] };
    await append(1, 2);
    await read();
    await append(2, 3);
    expect([await kept(), await rowsOf("block")]).toEqual([events(1, 2, 3), 3]);
    // As it came, beside what was prepared of it.
    await shard().append(prepared([message(4, { takenInMs: NOON + 1_000 })], plane.now));
    expect([await kept(), (await unread(1)).at(-1)?.made]).toEqual([events(1, 2, 3, 4), "prepared"]);
  });

  it("is nothing of functions that were off, though they came in one message with others", async () => {
    plane.now = snapshot("epoch.1.mark", [], [{ scriptName: "off", ...from(NOON, NOON + 500) }]);
    const part = (n: number) => ({ id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: 1 });
    const lines = ["off", "till"].map((name) => `${recordLine(eventOf(name))}\n`).join("");
    await shard().append(open([encodeParts([part(1), part(2)], encodeUtf8(lines)).buffer]));
    await shard().append(open([message(3, { records: [eventOf("off")], takenInMs: NOON + 501 })]));
    expect(await kept()).toEqual(["till", "off"]);
    expect((await shard().records(0, 1e9)).messages.map(({ parts }) => parts)).toEqual([[id(2)], [id(3)]]);
  });

  it("is shown without functions that are off now, or were, though it has them", async () => {
    const off = (scriptName: string, untilMs: number | null) => ({ scriptName, ...from(NOON, untilMs) });
    plane.now = snapshot("epoch.1.mark", [], [off("was", NOON + 9)]);
    await shard().append(open([message(1, { records: ["shop", "till", "was"].map(eventOf) })]));
    await shard().configure(snapshot("epoch.2.mark", [], [off("till", null)]));
    expect(await kept()).toEqual(["shop"]);
    await shard().configure(snapshot("epoch.3.mark", [], [off("till", NOON + 10)]));
    expect(await kept()).toEqual(["shop", "till"]);
  });

  it("is read from a position on, or from its end, whole blocks at a time", async () => {
    await append(1, 2, 3);
    const of = async (...asked: [after: number, maxBytes: number, newest?: boolean]) => {
      const { messages, end } = await shard().records(...asked);
      return [messages.map(({ parts }) => Number(`0x${parts[0]}`)), (end - NOON * 1_024) / 1_024_000];
    };
    const [{ bytes }] = (await shard().records(0, 1)).messages.map(({ body }) => ({ bytes: body.length })) as [
      { bytes: number },
    ];
    expect(await of(0, 1e9)).toEqual([[1, 2, 3], 2]);
    expect(await of(0, 2 * bytes)).toEqual([[1, 2], 1]);
    expect(await of(NOON * 1_024, 1)).toEqual([[2], 1]);
    expect(await of(0, 2 * bytes, true)).toEqual([[2, 3], 2]);
    expect(await of(0, 1, true)).toEqual([[3], 2]);
  });

  it("has no copy of a keyed part twice; a block of further copies goes with the others", async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2, from(NOON + 1_000))] };
    const keyed = (takenInMs: number) => message(1, { keyed: true, takenInMs });
    await shard().append(open([keyed(NOON)]));
    clock.advance(500);
    await shard().append(open([keyed(NOON + 1_000)]));
    expect([await rowsOf("block"), await kept(), (await unread(2)).length]).toEqual([2, events(1), 1]);
    await Promise.all([read(1), read(2)]);
    clock.advance(KEPT_MS - 500);
    await sweep();
    expect(await rowsOf("block")).toBe(2);
    clock.advance(501);
    await sweep();
    expect([await rowsOf("block"), await since()]).toEqual([0, 0]);
  });
});

describe("what is read is kept", () => {
  it.each([false, true])("as far as it fits, the newest; after a death: %s", async (dies) => {
    await append(1, 2, 3);
    if (dies) await evicted();
    await read();
    await room(2);
    await append(4);
    expect([await kept(), await since()]).toEqual([events(3, 4), 1_000]);
    await append(5);
    expect([await kept(), await since()]).toEqual([events(4, 5), 2_000]);
  });

  it("no longer than now says, though a clock that was ahead added it", async () => {
    clock.advance(2 * DAY_MS);
    await append(1);
    clock.advance(-2 * DAY_MS - 1_000);
    await append(2);
    await read();
    await append(3);
    // Positions go on from the one that was ahead.
    expect([await kept(), await since()]).toEqual([events(2, 3), 0]);
  });
});

describe("what is unread", () => {
  beforeEach(async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2, from(NOON, NOON))] };
    await append(1, 2, 3);
    await read(1);
  });

  it.each([
    ["time", () => clock.advance(KEPT_MS)],
    ["room", () => room(0)],
  ])("stays when its %s is over, and goes when it is read; what is newer does not wait for it", async (_what, end) => {
    await end();
    await sweep();
    expect([await rowsOf("block"), await kept(), await since()]).toEqual([1, events(1), 2_000]);
    await evicted();
    await end();
    await sweep();
    expect([await rowsOf("block"), (await unread(2)).length]).toEqual([1, 1]);
    // How far it had read was in memory.
    await read(1);
    await read(2);
    expect(await rowsOf("block")).toBe(0);
  });

  it("has only what was prepared, once its time is over, some blocks at a time, and is read as it was", async () => {
    const bytes = async () => (await stateOf<{ b: number }>("(SELECT sum(length(body)) FROM block) AS b")).b;
    await read(2);
    for (let n = 10; n < 50; n++) await shard().append(prepared([message(n, { takenInMs: clock.nowMs() })], plane.now));
    const [before, wanted] = [await bytes(), (await unread(1)).slice(-40)];
    expect(wanted.map(({ made }) => made)).toEqual(Array(40).fill("prepared"));
    clock.advance(KEPT_MS + 1);
    await sweep();
    // What is read goes at once.
    expect([await rowsOf("block"), (await kept()).length]).toEqual([40, 8]);
    await sweep();
    expect([await rowsOf("block"), await kept(), await unread(1)]).toEqual([40, [], wanted]);
    expect(await bytes()).toBeLessThan(before * 0.9);
    await evicted();
    await read(1);
    await sweep();
    expect(await rowsOf("block")).toBe(0);
  });
});

describe("a shard that keeps nothing", () => {
  beforeEach(() => keepHours(0));

  it("keeps what comes for a minute while pages are open, and no longer than they are", async () => {
    await append(1);
    await shard().watchedUntil(NOON + 200_000);
    await append(2);
    clock.advance(59_000);
    await append(3);
    await read();
    expect([await kept(), await since()]).toEqual([events(2, 3), 0]);
    await append(4);
    expect([await kept(), await since()]).toEqual([events(3, 4), 1_000]);
    await read();
    await shard().watchedUntil(0);
    await append(5);
    expect([await kept(), await since()]).toEqual([[], 63_000]);
  });
});

describe("live viewers", () => {
  it("are told of what is new, by its position, and of no further copies", async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2, from(NOON + 1_000))] };
    const keyed = (takenInMs: number) => message(1, { keyed: true, takenInMs });
    await shard().watchedUntil(NOON + 60_000);
    const told = vi.spyOn(Live.prototype, "added").mockResolvedValue();
    await shard().append(open([keyed(NOON)]));
    await shard().append(open([keyed(NOON + 1_000), message(2)]));
    await shard().append(open([keyed(NOON + 1_000)]));
    await shard().append(open([message(3)]));
    await until(() => told.mock.calls.length === 3);
    const block = (n: number, ...ids: string[]) => [{ shard: 1, n: NOON * 1_024 + n, ids }];
    expect(told.mock.calls).toEqual([block(0, id(1)), block(1, id(2)), block(3, id(3))]);
  });
});

describe("since when all is kept", () => {
  it.each<[what: string, change: () => unknown, since: number | null]>([
    ["as before where nothing was between", () => {}, null],
    [
      "when it was read, where nothing was to be kept then",
      async () => {
        keepHours(0);
        await read();
        await sweep();
        keepHours(KEPT_MS / 3_600_000);
      },
      2_000,
    ],
    [
      "as before where it was too old",
      async () => {
        await read();
        clock.advance(KEPT_MS);
        await sweep();
        clock.advance(-KEPT_MS);
      },
      1_000,
    ],
    [
      "as before where events are on hold",
      () => {
        const parts = [{ id: id(9), takenInMs: NOON, keyed: false, records: 1 }];
        const hash = { id: id(8), takenInMs: NOON, keyed: false };
        return shard().hold({ message: message(9), parts, hash, queue: "q", why: "failed too often" });
      },
      null,
    ],
  ])("is %s", async (_what, change, ms) => {
    await append(1, 2);
    await change();
    if (ms === 1_000) clock.advance(KEPT_MS);
    await evicted();
    expect(await since()).toBe(ms);
    await append(3);
    await evicted();
    expect(await since()).toBe(ms);
  });

  it("is told as so much later that it is kept until all shards know of it", async () => {
    const told = async () => (await shard().accountStatus()).keptSinceMs;
    await append(1, 2);
    expect(await told()).toBe(NOON + 2_000 - DAY_MS);
    await read();
    await room(1);
    await append(3);
    // But no time to come: no job could start then.
    expect([await since(), await told()]).toEqual([1_000, clock.nowMs()]);
    clock.advance(DAY_MS + JOB_KNOWN_MS - 2_000);
    expect(await told()).toBe(NOON + 1_000 + JOB_KNOWN_MS);
    clock.advance(1);
    expect(await told()).toBe(NOON + 1_001 + JOB_KNOWN_MS);
    keepHours(0);
    expect(await told()).toBeNull();
  });

  it("is when storage was known to have been set back", async () => {
    await append(1);
    clock.advance(4_000);
    await page(1, NOON * 1_024 + 77);
    expect(await since()).toBe(5_000);
  });
});

describe("an append that fails", () => {
  it("has ended nothing, on disk or in memory", async () => {
    await append(1, 2);
    await read();
    await room(2);
    for (let times = 0; times < 3; times++)
      await failingAt("UPDATE state SET processed", (log) => log.append(open([message(3)])));
    await sweep();
    expect([await kept(), await since()]).toEqual([events(1, 2), null]);
    // As how far it had read was in memory.
    await read();
    await append(4);
    expect([await kept(), await since()]).toEqual([events(2, 4), 0]);
  });
});
