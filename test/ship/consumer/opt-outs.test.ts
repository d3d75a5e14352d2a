import { describe, expect, it } from "vitest";
import { consumeEvents } from "../../../src/ship/consumer/consume.ts";
import type { OptOut } from "../../../src/ship/job/config.ts";
import { traceRecord } from "../../formats/record/samples.ts";
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
});
