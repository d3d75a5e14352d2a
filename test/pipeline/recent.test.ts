import { beforeEach, describe, expect, it, vi } from "vitest";
import type { OptOut } from "../../src/job/config.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { RecentTurns, recentOf } from "../../src/pipeline/recent.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { RecordLine } from "../../src/record/line.ts";
import type { RecentRecords } from "../../src/trace-log/recent.ts";
import { NOON, noise, traceRecord } from "../record/samples.ts";
import { deliver, id, job, one, outcomes, record, type World, world } from "./scripted.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const linesOf = ({ ndjson }: RecentRecords): string[] => new TextDecoder().decode(ndjson).split("\n").slice(0, -1);

/**
 * What each append brings: the records' outcomes by part, and how many were too large. Of two
 * copies the log takes one.
 */
const handed = (it_: World): (readonly [string, string[], number])[][] =>
  it_.appends.map(({ append: { parts } }) => {
    const copies = new Map(parts.map((part) => [part.id, part]));
    return [...copies.values()].flatMap(({ id, recent }) =>
      recent === undefined ? [] : [[id, outcomes(linesOf(recent)), recent.tooLarge] as const],
    );
  });

async function consume(bodies: readonly ArrayBuffer[], change: Partial<World> = {}): Promise<World> {
  const it_ = Object.assign(world([job(1)]), { turns: 1 }, change);
  const { batch, fates } = deliver(bodies);
  await consumeEvents(batch, it_);
  expect(fates()).toEqual(bodies.map(() => "ack"));
  return it_;
}

const large = (outcome: string, bytes: number): TraceRecord =>
  traceRecord({ Outcome: outcome, Entrypoint: noise(bytes) });

/** A record whose line has this many bytes. */
const exactly = (outcome: string, bytes: number): TraceRecord => {
  const without = JSON.stringify(large(outcome, 0)).length;
  return large(outcome, bytes - without);
};

describe("recent records", () => {
  it("go with the append, whole, in order, and whatever jobs think of them", async () => {
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "a" } });
    const logs = [{ Level: "log", Message: ["x".repeat(20_000)], TimestampMs: NOON }];
    const whole = traceRecord({ Outcome: "b", Logs: logs });
    const it_ = await consume([one(1, { records: [record("a"), whole] }), one(2)], { config: [job(1, { filter })] });
    expect(handed(it_)).toEqual([
      [
        [id(1), ["a", "b"], 0],
        [id(2), ["event 2"], 0],
      ],
    ]);
    const [recent] = it_.appends[0]?.append.parts ?? [];
    expect(recent?.recent && linesOf(recent.recent)[1]).toBe(JSON.stringify(whole));
  });

  it("go where there is no job at all", async () => {
    expect(handed(await consume([one(1)], { config: [] }))).toEqual([[[id(1), ["event 1"], 0]]]);
  });

  it("do not go without a turn", async () => {
    expect(handed(await consume([one(1)], { turns: 0 }))).toEqual([[]]);
  });

  it("do not go while it is not known which functions are off", async () => {
    expect(handed(await consume([one(1)], { config: null }))).toEqual([[]]);
  });

  it("take one turn for a group", async () => {
    const it_ = await consume([one(1), one(2)], { turns: 2 });
    expect([handed(it_)[0]?.length, it_.turns]).toEqual([2, 1]);
  });

  it("are the 200 newest of a group", async () => {
    const many = (n: number) => one(n, { records: Array.from({ length: 150 }, (_, i) => record(`${n}.${i}`)) });
    const handedOf = async (...bodies: ArrayBuffer[]) => {
      const [messages = []] = handed(await consume(bodies));
      return messages.map(([message, texts]) => [message, texts[0], texts.length]);
    };
    const newest = [
      [id(2), "2.100", 50],
      [id(3), "3.0", 150],
    ];
    expect(await handedOf(many(1), many(2), many(3))).toEqual(newest);
    // A copy takes no other message's place.
    expect(await handedOf(many(1), many(2), many(3), many(3))).toEqual(newest);
  });

  it("have 32 KiB each at most, and larger ones are counted", async () => {
    const bytes = 32 * 1024;
    const umlaut = traceRecord({ Outcome: "umlaut", Entrypoint: "é".repeat(bytes / 2) });
    const records = [exactly("fits", bytes), exactly("not", bytes + 1), umlaut];
    expect(handed(await consume([one(1, { records })]))).toEqual([[[id(1), ["fits"], 2]]]);
  });

  it("have 512 KiB together at most, newlines included", async () => {
    const records = Array.from({ length: 20 }, (_, i) => exactly(`${i}`, 32 * 1024 - 1));
    const [[[, texts] = []] = []] = handed(await consume([one(1, { records })]));
    expect(texts).toEqual(["4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"]);
    // Fits but for its newline.
    const tight = [exactly("not", 32 * 1024), ...records.slice(5)];
    const [[[, fewer] = []] = []] = handed(await consume([one(1, { records: tight })]));
    expect([fewer?.length, fewer?.[0]]).toEqual([15, "5"]);
  });

  it("are none of a function whose logging is off, or was when they were taken in", async () => {
    const off = (scriptName: string, fromMs: number, untilMs: number | null): OptOut => ({
      scriptName,
      windows: [{ fromMs, untilMs }],
    });
    const names = ["shop", "later", "was", "before"];
    const records = names.map((name) => traceRecord({ ScriptName: name, Outcome: name }));
    const optOuts = [off("later", NOON + 5, null), off("was", NOON - 5, NOON + 5), off("before", NOON - 9, NOON - 5)];
    expect(handed(await consume([one(1, { records })], { optOuts }))).toEqual([[[id(1), ["shop", "before"], 0]]]);
  });

  it("are none of a message that has to come again, and once of one that came twice", async () => {
    const it_ = Object.assign(world([job(1)]), { turns: 1, script: ["fail" as const] });
    await consumeEvents(deliver([one(1)]).batch, it_);
    expect(handed(it_)).toEqual([]);
    const copies = [one(2), one(2, { takenInMs: NOON + 1 })];
    expect(handed(await consume(copies))).toEqual([[[id(2), ["event 2"], 0]]]);
  });

  it("hold up nothing where they cannot be gathered, and nothing of them is logged", async () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.spyOn(RecordLine.prototype, "ScriptName", "get").mockImplementationOnce(() => {
      throw new SyntaxError('"secret text" is not valid JSON');
    });
    expect(handed(await consume([one(1)]))).toEqual([[]]);
    const line = { message: "recent records could not be handed over", error: "SyntaxError" };
    expect(said.mock.calls).toEqual([[{ ...line, batch_id: expect.any(String) }]]);
  });

  it("of an empty group are none", () => {
    expect(recentOf([], [])).toEqual(new Map());
  });
});

describe("turns", () => {
  it("come once a second, also where the clock goes back", () => {
    const turns = new RecentTurns();
    const at = [0, 0, 999, 1_000, 1_001, 1_999, 2_000, 1_500, 900, 1_000, 1_900];
    expect(at.filter((ms) => turns.take(NOON + ms))).toEqual([0, 1_000, 2_000, 900, 1_900]);
  });
});
