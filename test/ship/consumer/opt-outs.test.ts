import { describe, expect, it } from "vitest";
import { consumeEvents } from "../../../src/ship/consumer/consume.ts";
import type { OptOut } from "../../../src/ship/job/config.ts";
import { NOON, traceRecord } from "../../formats/record/samples.ts";
import { deliver, job, one, shipped, world } from "./scripted.ts";

describe("functions whose logging is off", () => {
  const from = (scriptName: string, outcome: string) => traceRecord({ ScriptName: scriptName, Outcome: outcome });
  const mixed = [from("shop", "a"), from("till", "b"), from("shop", "c"), from("till", "d")];
  const off = (scriptName: string, fromMs: number, untilMs: number | null = null): OptOut => ({
    scriptName,
    windows: [{ fromMs, untilMs }],
  });

  it("have their records left out of what is made for every job; the log is told of all", async () => {
    const it_ = world([job(1), job(2)]);
    it_.optOuts = [off("till", 0)];
    const { batch, fates } = deliver([one(1, { records: mixed })]);
    await consumeEvents(batch, it_);
    expect(shipped(it_)).toEqual([
      [1, ["a", "c"]],
      [2, ["a", "c"]],
    ]);
    expect(it_.appends[0]?.append).toMatchObject({
      prepared: [{ jobs: [{ received: 2 }, { received: 2 }] }],
      parts: [
        {
          functions: [
            { scriptName: "shop", records: 2 },
            { scriptName: "till", records: 2 },
          ],
        },
      ],
      work: { offered: 4, entries: 2 },
    });
    expect(fates()).toEqual(["ack"]);
  });

  it("leave nothing to make of a message that is theirs alone, and it is appended all the same", async () => {
    const it_ = world([job(1)]);
    it_.optOuts = [off("shop", 0), off("till", 0)];
    const { batch, fates } = deliver([one(1, { records: mixed })]);
    await consumeEvents(batch, it_);
    expect(fates()).toEqual(["ack"]);
    expect(it_.appends).toMatchObject([{ append: { prepared: [], parts: [{}], work: { offered: 0, entries: 0 } } }]);
  });

  it("are judged by when an event was taken in: what came before or after ships", async () => {
    const it_ = world([job(1)]);
    it_.optOuts = [off("shop", NOON + 1_000, NOON + 2_000)];
    const at = [999, 1_000, 2_000, 2_001].map((ms, n) => one(n, { takenInMs: NOON + ms }));
    await consumeEvents(deliver(at).batch, it_);
    expect(shipped(it_)).toEqual([[1, ["event 0", "event 3"]]]);
  });
});
