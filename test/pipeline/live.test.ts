import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import type { OptOut } from "../../src/job/config.ts";
import type { Live } from "../../src/live/live.ts";
import { showLive } from "../../src/live/push.ts";
import { consumeEvents } from "../../src/pipeline/consume.ts";
import { type Arrived, arrivedOf } from "../../src/pipeline/live.ts";
import { encodeParts } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import { RecordLine } from "../../src/record/line.ts";
import { NOON, noise, traceRecord } from "../record/samples.ts";
import { deliver, id, job, one, outcomes, record, type World, world } from "./scripted.ts";

let warned: ReturnType<typeof vi.spyOn>;
let infos: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  infos = vi.spyOn(console, "info").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});

const shown = (it_: World): (readonly [string[], number])[] =>
  it_.shown.map(({ lines, leftOut }) => [outcomes(lines), leftOut]);

async function consume(bodies: readonly ArrayBuffer[], change: Partial<World> = {}): Promise<World> {
  const it_ = Object.assign(world([job(1)]), { watched: true }, change);
  const { batch, fates } = deliver(bodies);
  await consumeEvents(batch, it_);
  expect(fates()).toEqual(bodies.map(() => "ack"));
  return it_;
}

describe("records while a page is open", () => {
  it("are handed over once they are counted, whole, in order, and whatever jobs think of them", async () => {
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "a" } });
    const logs = [{ Level: "log", Message: ["x".repeat(20_000)], TimestampMs: NOON }];
    const whole = traceRecord({ Outcome: "b", Logs: logs });
    const it_ = await consume([one(1, { records: [record("a"), whole] }), one(2)], { config: [job(1, { filter })] });
    expect(shown(it_)).toEqual([[["a", "b", "event 2"], 0]]);
    expect(it_.shown[0]?.lines[1]).toBe(JSON.stringify(whole));
    expect(infos.mock.calls.at(-1)?.[0]).toMatchObject({ message: "batch", events: 3, acknowledged: 2 });
  });

  it("are handed over with where each came from", async () => {
    const from = (n: number, source: string): ArrayBuffer => {
      const part = { id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: 1, source };
      return encodeParts([part], encodeUtf8(`${recordLine(record(`${n}`))}\n`)).buffer;
    };
    const it_ = await consume([from(1, "tail"), one(2), from(3, "http:ci")]);
    expect(it_.shown).toMatchObject([{ lines: { length: 3 }, sources: ["tail", "", "http:ci"] }]);
  });

  it("go nowhere where nobody does", async () => {
    expect(shown(await consume([one(1)], { watched: false }))).toEqual([]);
  });

  it("are not shown again when they were counted before, nor twice where they came twice", async () => {
    expect(shown(await consume([one(1), one(2)], { done: new Set([id(1)]) }))).toEqual([[["event 2"], 0]]);
    expect(shown(await consume([one(1)], { done: new Set([id(1)]) }))).toEqual([]);
    expect(shown(await consume([one(2), one(2, { takenInMs: NOON + 1 })]))).toEqual([[["event 2"], 0]]);
  });

  it("are none of a function whose logging is off, or was when they were taken in", async () => {
    const off = (scriptName: string, fromMs: number, untilMs: number | null): OptOut => ({
      scriptName,
      windows: [{ fromMs, untilMs }],
    });
    const names = ["shop", "later", "was", "before"];
    const records = names.map((name) => traceRecord({ ScriptName: name, Outcome: name }));
    const optOuts = [off("later", NOON + 5, null), off("was", NOON - 5, NOON + 5), off("before", NOON - 9, NOON - 5)];
    expect(shown(await consume([one(1, { records })], { optOuts }))).toEqual([[["shop", "before"], 0]]);
  });

  it("are the 500 newest of a group, and the others are counted", async () => {
    const many = (n: number) => one(n, { records: Array.from({ length: 300 }, (_, i) => record(`${n}.${i}`)) });
    const [[texts, leftOut] = [[], 0]] = shown(await consume([many(1), many(2)]));
    expect([texts.length, texts[0], texts.at(-1), leftOut]).toEqual([500, "1.100", "2.299", 100]);
  });

  it("have 2 MiB together; one that is larger alone keeps no other from being shown", async () => {
    const sized = (outcome: string, units: number) => traceRecord({ Outcome: outcome, Entrypoint: noise(units) });
    const loaded = (outcome: string, units: number) => ({
      index: 0,
      whole: RecordLine.read(JSON.stringify(sized(outcome, units))) as RecordLine,
    });
    const groupOf = (records: ReturnType<typeof loaded>[]) =>
      [{ message: { id: id(1), takenInMs: NOON }, records, ascii: true }] as unknown as Parameters<typeof arrivedOf>[0];
    const of = (...records: ReturnType<typeof loaded>[]): [string[], number] => {
      const { lines, leftOut } = arrivedOf(groupOf(records), new Set([id(1)]), []);
      return [outcomes(lines), leftOut];
    };
    expect(of(loaded("a", 10), loaded("huge", 2_200_000), loaded("b", 10))).toEqual([["a", "b"], 1]);
    expect(of(loaded("old", 10), loaded("a", 1_200_000), loaded("b", 1_200_000))).toEqual([["b"], 2]);
  });

  it("delay and break nothing where they cannot be handed over, and nothing of them is logged", async () => {
    const it_ = world([job(1)]);
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    it_.arrivals.show = () => {
      throw new SyntaxError("secret text");
    };
    await consume([one(1)], { arrivals: it_.arrivals });
    const line = { message: "records could not be shown as they arrived", error: "SyntaxError" };
    expect(said.mock.calls).toEqual([[{ ...line, batch_id: expect.any(String) }]]);
  });
});

describe("the way to those who watch", () => {
  const namespace = (push: (records: Arrived) => Promise<void>) =>
    ({ getByName: () => ({ push }) }) as unknown as DurableObjectNamespace<Live>;
  const records: Arrived = { lines: ["secret text"], sources: [""], leftOut: 0, parts: [] };

  it("takes two seconds at most", async () => {
    vi.useFakeTimers();
    try {
      const sent = showLive(
        namespace(() => new Promise(() => {})),
        records,
      );
      await vi.advanceTimersByTimeAsync(2_000);
      await sent;
    } finally {
      vi.useRealTimers();
    }
    expect(warned.mock.calls).toEqual([[{ message: "records are late for live viewers" }]]);
  });

  it("may be broken", async () => {
    await showLive(
      namespace(() => Promise.reject(new TypeError("secret text"))),
      records,
    );
    await showLive(
      namespace(() => {
        throw new RangeError("secret text");
      }),
      records,
    );
    const message = "records could not be shown as they arrived";
    expect(warned.mock.calls).toEqual([[{ message, error: "TypeError" }], [{ message, error: "RangeError" }]]);
  });
});
