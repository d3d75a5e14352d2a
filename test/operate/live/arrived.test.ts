import { describe, expect, it } from "vitest";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { type Arrived, arrivedOf } from "../../../src/operate/live/arrived.ts";
import { NOON, noise, traceRecord } from "../../formats/record/samples.ts";
import { id } from "../../ship/consumer/scripted.ts";

/** A record with this outcome, and so many more bytes. */
const sized = (outcome: string, bytes = 0) => {
  const whole = RecordLine.read(recordLine(traceRecord({ Outcome: outcome, Entrypoint: noise(bytes) })));
  if (whole === null) throw new Error("not a record");
  return { index: 0, whole, shipped: whole };
};

type Sized = ReturnType<typeof sized>;
const arrived = (...parts: readonly Sized[][]): Arrived =>
  arrivedOf(
    parts.map((records, n) => ({
      message: { id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: records.length },
      records,
    })),
  );
const outcomes = ({ records }: Arrived): string[] => records.map(({ Outcome }) => Outcome);

describe("what a block of the log has for live viewers", () => {
  it("is all of it, in order, and which of it is of which part", () => {
    const all = arrived([sized("a"), sized("b")], [], [sized("c")]);
    expect([outcomes(all), all.leftOut]).toEqual([["a", "b", "c"], 0]);
    expect(all.parts).toEqual([2, 0, 1].map((records, n) => ({ id: id(n), records, leftOut: 0 })));
  });

  it("is the 500 newest records, and the others are counted", () => {
    const many = (n: number) => Array.from({ length: 300 }, (_, i) => sized(`${n}.${i}`));
    const all = arrived(many(1), many(2));
    const texts = outcomes(all);
    expect([texts.length, texts[0], texts.at(-1), all.leftOut]).toEqual([500, "1.100", "2.299", 100]);
    expect(all.parts).toMatchObject([
      { records: 200, leftOut: 100 },
      { records: 300, leftOut: 0 },
    ]);
  });

  it("is 2 MiB; a record that is larger alone keeps no other from being shown", () => {
    const of = (...records: Sized[]): [string[], number] => {
      const all = arrived(records);
      return [outcomes(all), all.leftOut];
    };
    expect(of(sized("a"), sized("huge", 2_200_000), sized("b"))).toEqual([["a", "b"], 1]);
    expect(of(sized("old"), sized("a", 1_200_000), sized("b", 1_200_000))).toEqual([["b"], 2]);
  });
});
