import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIVE_WINDOW_RECORDS, LIVE_WINDOW_UNITS } from "../../../src/base/limits.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { ExtraField, TraceRecord } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import type { Wants } from "../../../src/operate/live/wants.ts";
import { Watcher } from "../../../src/operate/live/watcher.ts";
import { noise, traceRecord } from "../../formats/record/samples.ts";
import { outcomes, type Said } from "./viewing.ts";

const line = (fields: Partial<TraceRecord>): RecordLine => {
  const read = RecordLine.read(recordLine(traceRecord(fields)));
  if (read === null) throw new Error("not a record");
  return read;
};
const read = (message: string | null): Said | null => (message === null ? null : (JSON.parse(message) as Said));
const want = (watcher: Watcher, wants: Partial<Wants>, extra: readonly ExtraField[] = []) =>
  watcher.want({ filter: "", query: "", ...wants }, extra);
const newcomer = () => Watcher.newcomer(new Uint8Array(32), "admin:admin");

type Step =
  | { kind: "offer"; records: number; wanted: number; leftOut: number; units: number }
  | { kind: "draw" }
  | { kind: "pause" | "resume" | "sleep" };

const STEP = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("offer" as const),
      records: fc.nat(600),
      wanted: fc.integer({ min: 1, max: 4 }),
      leftOut: fc.nat(3),
      units: fc.constantFrom(0, 0, 3_000),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: "draw" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("pause" as const, "resume" as const, "sleep" as const) }) },
);

describe("one who watches", () => {
  it("is told of everything that arrived what became of it, and never has more under way than fits", () => {
    fc.assert(
      fc.property(fc.array(STEP, { maxLength: 30 }), (steps: Step[]) => {
        let watcher = newcomer();
        want(watcher, { filter: JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "wanted" } }) });
        let [arrived, sent, drawn, number] = [0, 0, 0, 0];
        const got = (message: string | null | false): void => {
          const said = read(message === false ? null : message);
          if (said === null) return;
          number += 1;
          sent += said.records?.length ?? 0;
          expect(said.number).toBe(number);
          expect(said.counts).toEqual(watcher.counts);
        };
        for (const step of steps) {
          if (step.kind === "offer") {
            const [yes, no] = [
              line({ Outcome: "wanted", Entrypoint: "x".repeat(step.units) }),
              line({ Outcome: "no" }),
            ];
            const records = Array.from({ length: step.records }, (_, i) => (i % step.wanted === 0 ? yes : no));
            got(watcher.offer(records, step.leftOut));
            arrived += records.length + step.leftOut;
          }
          if (step.kind === "draw" && number > 0) {
            drawn = sent;
            got(watcher.drawn(number));
          }
          if (step.kind === "pause") watcher.pause();
          if (step.kind === "resume") got(watcher.resume());
          if (step.kind === "sleep") watcher = Watcher.awoken(structuredClone(watcher.state));
          const { seen, shown, filtered, dropped, paused } = watcher.counts;
          expect([shown + filtered + dropped, seen + paused, shown]).toEqual([seen, arrived, sent]);
          expect(sent - drawn).toBeLessThanOrEqual(LIVE_WINDOW_RECORDS);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("keeps the newest of what does not fit", () => {
    const watcher = newcomer();
    const records = Array.from({ length: LIVE_WINDOW_RECORDS + 100 }, (_, i) => line({ Outcome: `${i}` }));
    const said = read(watcher.offer(records, 0));
    expect([said?.records?.length, outcomes(said as Said)[0], said?.counts?.dropped]).toEqual([
      LIVE_WINDOW_RECORDS,
      "100",
      100,
    ]);
    expect(read(watcher.offer([line({ Outcome: "late" })], 0))?.records).toEqual([]);
    expect(watcher.drawn(1)).toBeNull();
    expect(outcomes(read(watcher.offer([line({ Outcome: "on time" })], 0)) as Said)).toEqual(["on time"]);
  });

  it("is sent no more than a million units that it has not drawn", () => {
    const watcher = newcomer();
    const large = line({ Outcome: "large", Entrypoint: noise(60_000) });
    const said = watcher.offer(Array(20).fill(large), 0) ?? "";
    expect(said.length).toBeLessThan(LIVE_WINDOW_UNITS + 1_000);
    expect(watcher.counts).toEqual({ seen: 20, shown: 16, filtered: 0, dropped: 4, paused: 0 });
  });

  it("hears of what was dropped when there is room again, where no message could go", () => {
    const watcher = newcomer();
    for (let n = 0; n < 100; n++) watcher.offer([line({})], 0);
    expect(watcher.offer([line({})], 0)).toBeNull();
    expect(read(watcher.drawn(50) || null)?.counts).toMatchObject({ seen: 101, shown: 100, dropped: 1 });
    expect(watcher.drawn(101)).toBeNull();
    expect(watcher.drawn(102)).toBe(false);
  });

  it("wants records that a query finds, whatever is escaped in their JSON", () => {
    const watcher = newcomer();
    expect(want(watcher, { query: '"ÄRGER \\"7\\""' })).toEqual([]);
    const logged = (text: string) => line({ Outcome: text, Logs: [{ Level: "log", Message: [text], TimestampMs: 0 }] });
    const said = (watcher: Watcher) =>
      outcomes(read(watcher.offer([logged('kein ärger "7"!'), logged("ärger 7")], 0)) as Said);
    expect(said(watcher)).toEqual(['kein ärger "7"!']);
    // After hibernation, too.
    expect(said(Watcher.awoken(structuredClone(watcher.state)))).toEqual(['kein ärger "7"!']);
    // The names of fields are no part of it.
    want(watcher, { query: "OUTCOME" });
    expect(said(watcher)).toEqual([]);
  });

  it("has filters see a record as it is, and gets of one that is too large its short fields", () => {
    const watcher = newcomer();
    const needle = { Level: "log", Message: [`${noise(90_000)}needle`], TimestampMs: 0 };
    want(watcher, { filter: JSON.stringify({ where: { key: "Logs", operator: "contains", value: "needle" } }) });
    const large = line({ Outcome: "ok", ScriptName: "shop", Logs: [needle] });
    const said = read(watcher.offer([large, line({ Outcome: "not this" })], 0));
    expect(said?.records).toHaveLength(1);
    const [{ record, tooLarge } = { record: {} }] = said?.records ?? [];
    expect(tooLarge).toBe(new TextEncoder().encode(large.line).length);
    expect(record).toMatchObject({ Outcome: "ok", ScriptName: "shop" });
    expect(record).not.toHaveProperty("Logs");
  });

  it("is told where each record came from, and can filter on it where that is on", () => {
    const watcher = newcomer();
    const from = (source: string) => RecordLine.read(recordLine(traceRecord({ Outcome: source })), source);
    const large = RecordLine.read(recordLine(traceRecord({ Entrypoint: noise(70_000) })), "rpc");
    const said = read(watcher.offer([from("tail"), from('http:"'), from(""), large], 0));
    expect(said?.records?.map((each) => (each as { source?: string }).source)).toEqual(["tail", 'http:"', "", "rpc"]);
    const filter = JSON.stringify({ where: { key: "Source", operator: "eq", value: "tail" } });
    expect(want(watcher, { filter })).toEqual([expect.stringContaining("EXTRA_FIELDS")]);
    expect(want(watcher, { filter }, ["Source"])).toEqual([]);
    // After hibernation, too.
    const awoken = Watcher.awoken(watcher.state);
    expect(outcomes(read(awoken.offer([from("rpc"), from("tail")], 0)) as Said)).toEqual(["tail"]);
  });

  it("is shown extra fields among the others, and finds words in them", () => {
    const watcher = newcomer();
    const LogErrors = [{ Log: 0, Argument: 0, name: "Error", message: "m", stack: "    at logged.js:1" }];
    const extra = JSON.stringify({ RequestCF: { colo: "DFW" }, LogErrors });
    const plain = line({ Outcome: "plain" });
    const [with_, large] = [{}, { Entrypoint: noise(70_000) }].map((fields) =>
      RecordLine.read(recordLine(traceRecord({ Outcome: "ok", ...fields })), "", extra),
    );
    const shown = (offered: Said | null) => offered?.records?.map(({ record }) => record);
    expect(shown(read(watcher.offer([with_ ?? null, plain, large ?? null], 0)))).toMatchObject([
      { ...traceRecord({ Outcome: "ok" }), RequestCF: { colo: "DFW" }, LogErrors },
      JSON.parse(plain.line),
      { Outcome: "ok", RequestCF: { colo: "DFW" }, LogErrors },
    ]);
    want(watcher, { query: "LOGGED.js" });
    expect(shown(read(watcher.offer([with_ ?? null, plain], 0)))).toMatchObject([{ LogErrors }]);
    // After hibernation, too.
    const filter = JSON.stringify({ where: { key: "LogErrors", operator: "contains", value: "logged.js" } });
    expect(want(watcher, { filter }, ["LogErrors"])).toEqual([]);
    const awoken = Watcher.awoken(structuredClone(watcher.state));
    expect(shown(read(awoken.offer([plain, with_ ?? null], 0)))).toMatchObject([{ LogErrors }]);
  });

  it("is not held up by what nobody can read: that is dropped", () => {
    const watcher = newcomer();
    const broken = RecordLine.read(line({ Outcome: "ok" }).line.replace('"ok"', "oops"));
    want(watcher, { filter: JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "a" } }) });
    const said = read(watcher.offer([null, broken, line({ Outcome: "a" })], 1));
    expect([outcomes(said as Said), said?.counts?.dropped]).toEqual([["a"], 3]);
  });
});
