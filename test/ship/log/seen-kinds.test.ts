import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ROW_MAX_BYTES } from "../../../src/base/limits.ts";
import { type CountedPart, functionCounts } from "../../../src/ship/log/counted.ts";
import {
  countsText,
  type FunctionCount,
  FunctionTally,
  joinCounts,
  KIND_BOUNDS,
  parseCounts,
  sourcesText,
  TALLY_BOUNDS,
} from "../../../src/ship/log/function-counts.ts";
import { addedKinds, KIND_MAX, KINDS_KEPT, type SeenKind } from "../../../src/ship/log/seen-kinds.ts";
import { Oracle } from "../../support/oracle.ts";
import { pack } from "../../support/runtime/pipeline.ts";
import { headsOf } from "./shard.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

const count = (scriptName: string | null, kinds?: readonly SeenKind[], sources?: FunctionCount["sources"]) => ({
  ...{ scriptName, routed: 1, notEnabled: 0, notRouted: 0, lastEventMs: NOON },
  ...(kinds && { kinds }),
  ...(sources && { sources }),
});

const tallied = (counts: readonly FunctionCount[]): FunctionCount[] => {
  const tally = new FunctionTally();
  for (const each of counts) tally.add(each);
  return tally.counts();
};

/** The kinds that are counted of records with these columns, a second apart. */
function kindsOf(records: readonly Record<string, unknown>[]): readonly SeenKind[] | undefined {
  const minted = new Oracle({ at: NOON }).mint(records.length, { stepMs: 1_000 });
  const events = minted.map((each, i) => ({ ...each, event: { ...each.event, ...records[i] } }));
  const [message] = pack(events, NOON + 60_000);
  return headsOf(message?.body.slice().buffer as ArrayBuffer).flatMap(({ functions }) => functions)[0]?.kinds;
}

const scheduled = (cron: string) => ({ EventType: "scheduled", Event: { Cron: cron, ScheduledTimeMs: NOON } });

describe("the kinds in a message", () => {
  it("are the types of its events, and of scheduled ones their crons, each with its latest", () => {
    const queue = { EventType: "queue", Event: { Queue: "q", BatchSize: 1 } };
    const found = kindsOf([
      {},
      queue,
      scheduled("*/5 * * * *"),
      {},
      scheduled("0 3 * * mon"),
      scheduled("*/5 * * * *"),
    ]);
    expect(found).toEqual([
      { kind: "fetch", lastMs: NOON + 3_000 },
      { kind: "queue", lastMs: NOON + 1_000 },
      { kind: "cron */5 * * * *", lastMs: NOON + 5_000 },
      { kind: "cron 0 3 * * mon", lastMs: NOON + 4_000 },
    ]);
  });

  it("are bounded, and are no text that is too long, or poses as a cron", () => {
    const odd = [{ EventType: "x".repeat(KIND_MAX + 1) }, { EventType: "cron * * * * *" }, scheduled("x".repeat(101))];
    expect(
      kindsOf([...odd, scheduled('a"b'), { EventType: "scheduled", Event: { At: 1, Cron: "* * * * *" } }]),
    ).toEqual([]);
    const many = kindsOf(Array.from({ length: 90 }, (_, n) => ({ EventType: `kind ${n}` }))) ?? [];
    expect(many).toHaveLength(KINDS_KEPT);
    expect(Math.min(...many.map(({ lastMs }) => lastMs))).toBe(NOON + (90 - KINDS_KEPT) * 1_000);
  });

  it("are counted with who says so, and none later than now", () => {
    const part = (source?: string): CountedPart => ({
      ...{ id: "1", takenInMs: NOON, bytes: 0, events: 1, routed: 1, notEnabled: 0, notRouted: 0 },
      ...(source !== undefined && { source }),
      functions: [count("shop", [{ kind: "fetch", lastMs: NOON + 9 }])],
    });
    const of = (source?: string) => functionCounts([part(source)], NOON)[0]?.kinds;
    expect(of("tail")).toEqual([{ kind: "fetch", lastMs: NOON }]);
    for (const source of ["http:ci", "rpc", undefined])
      expect(of(source)).toEqual([{ kind: "fetch", lastMs: NOON, sent: true }]);
  });
});

const anyKind: fc.Arbitrary<SeenKind> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom("fetch", "queue", "cron * * * * *", "__proto__", ""),
      fc.string({ unit: "binary", maxLength: 9 }),
    ),
    fc.nat({ max: 1_000 }),
    fc.boolean(),
  )
  .map(([kind, second, sent]) => ({ kind, lastMs: second * 1_000, ...(sent && { sent: true as const }) }));
const anyKinds = fc.array(anyKind, { maxLength: 12 });

const sorted = (kinds: readonly SeenKind[] | undefined): SeenKind[] =>
  [...(kinds ?? [])].sort((a, b) => b.lastMs - a.lastMs || (a.kind < b.kind ? -1 : 1));

describe("kinds added up", () => {
  it("are each kind's latest, of what the platform traced where it did, in any order and grouping", () => {
    const property = fc.property(anyKinds, anyKinds, anyKinds, (a, b, c) => {
      const all = [...a, ...b, ...c];
      const traced = all.filter(({ sent }) => !sent);
      const expected = new Map<string, number>();
      for (const { kind, lastMs } of traced.length > 0 ? traced : all)
        expected.set(kind, Math.max(lastMs, expected.get(kind) ?? 0));
      fc.pre(expected.size <= KINDS_KEPT);
      for (const sum of [
        addedKinds(addedKinds(addedKinds([], a), b), c),
        addedKinds(addedKinds([], c), addedKinds(a, b)),
      ])
        expect(new Map(sum.map(({ kind, lastMs }) => [kind, lastMs]))).toEqual(expected);
    });
    fc.assert(property);
  });

  it("go without names, and are joined over shards", () => {
    const fetched = (lastMs: number): SeenKind[] => [{ kind: "fetch", lastMs }];
    const counts = [
      count("shop", fetched(5)),
      count(null, fetched(6)),
      count("x".repeat(256), fetched(7)),
      count("till"),
    ];
    expect(tallied(counts).map(({ scriptName, kinds }) => [scriptName, kinds])).toEqual([
      ["shop", fetched(5)],
      ["till", undefined],
      [null, undefined],
    ]);
    const joined = joinCounts([...tallied(counts), count("shop", fetched(9))], { names: 1, chars: 9 });
    expect(joined.map(({ scriptName, kinds }) => [scriptName, kinds])).toEqual([
      ["shop", fetched(9)],
      [null, undefined],
    ]);
  });

  it("fit a row beside counts and sources, whatever they are called, and are dealt fairly", () => {
    const many = (n: number, of: (k: number) => string, sent: boolean): SeenKind[] =>
      Array.from({ length: KINDS_KEPT }, (_, k) => ({
        ...{ kind: of(n * KINDS_KEPT + k), lastMs: NOON + n * 1_000 },
        ...(sent && { sent: true as const }),
      }));
    const from = (source: string) => [{ source, lastMs: NOON }];
    for (const kind of [
      (k: number) => `\u0001\u0002${k}`,
      (k: number) => `${"\u0001".repeat(120)}${k}`,
      (k: number) => `${k % 9}`,
    ]) {
      const flood = Array.from({ length: 1_990 }, (_, n) => {
        const sources = [
          ...from("http:ci"),
          ...Array.from({ length: 7 }, (__, k) => ({ source: `~\u0003${n}${k}`, lastMs: NOON })),
        ];
        return count(`${"\u0001".repeat(60)}${n}`, many(n, kind, true), sources);
      });
      const small = count("small", [{ kind: "email", lastMs: 1_000, sent: true }], from("http:small"));
      const shop = count("shop", [{ kind: "cron 0 0 1 * *", lastMs: 1_000 }], from("tail"));
      const counts = tallied([...flood, small, shop]);
      expect(counts.find(({ scriptName }) => scriptName === "shop")?.kinds).toEqual(shop.kinds);
      expect(counts.find(({ scriptName }) => scriptName === "small")?.kinds).toEqual(small.kinds);
      expect(counts.reduce((sum, { kinds = [] }) => sum + kinds.length, 0)).toBeLessThanOrEqual(KIND_BOUNDS.kinds);
      const size = new TextEncoder().encode(countsText(counts) + sourcesText(counts)).length;
      expect(size).toBeLessThan(ROW_MAX_BYTES);
      expect(counts.length).toBeLessThanOrEqual(TALLY_BOUNDS.names + 1);
    }
  });
});

describe("their JSON", () => {
  it("is read as it was written, beside any sources", () => {
    const source = fc.array(fc.record({ source: fc.constantFrom("tail", "http:ci"), lastMs: fc.constant(NOON) }), {
      maxLength: 1,
    });
    const anyCount = fc
      .tuple(fc.string(), anyKinds, source)
      .map(([name, kinds, sources]) => count(name, kinds, sources));
    fc.assert(
      fc.property(fc.array(anyCount, { maxLength: 6 }), (all) => {
        const counts = tallied(all);
        const read = parseCounts(countsText(counts), sourcesText(counts));
        expect(read.map((each) => sorted(each.kinds))).toEqual(counts.map((each) => sorted(each.kinds)));
        expect(read.map((each) => each.sources ?? [])).toEqual(counts.map((each) => each.sources ?? []));
      }),
    );
  });

  /** As the release before reads it. */
  const asBefore = (text: string | null): unknown => {
    const [names, seen] = text === null ? [[], []] : (JSON.parse(text) as [string[], number[][]]);
    return seen.map((own) => own.map((number, i) => (i % 2 === 0 ? names[number] : number * 1_000)));
  };

  it("is readable by the release before, which knows sources alone, and that one's here", () => {
    const kinds: SeenKind[] = [{ kind: "fetch", lastMs: NOON }];
    const tail = [{ source: "tail", lastMs: NOON }];
    expect(asBefore(sourcesText([count("shop", kinds, tail), count("till", kinds)]))).toEqual([["tail", NOON], []]);
    expect(asBefore(sourcesText([count("shop", kinds)]))).toEqual([[]]);
    expect(sourcesText([count("shop")])).toBeNull();
    expect(sourcesText([count("shop", undefined, tail)])).toBe(`[["tail"],[[0,${NOON / 1_000}]]]`);
    expect(parseCounts(countsText([count("shop")]), `[["tail"],[[0,${NOON / 1_000}]]]`)).toEqual([
      count("shop", undefined, tail),
    ]);
  });
});
