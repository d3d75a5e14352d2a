import { expect, it } from "vitest";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { decodeMessage } from "../../../src/formats/queue/message.ts";
import { shardOf } from "../../../src/formats/queue/shard.ts";
import type { Append, PartHead } from "../../../src/ship/log/append.ts";
import type { Health } from "../../../src/ship/log/health.ts";
import type { Batch } from "../../../tools/scale/stages/consume.ts";
import { eventsOf, type Group, groupsOf, StandIns } from "../../../tools/scale/stages/stand-ins.ts";

const NOON_MS = Date.UTC(2026, 10, 20, 12);
const HOUR_MS = 3_600_000;
const SHARDS = 4;

const HEALTH: Health = { outcomes: [], failed: 0, serverErrors: 0, wall: [], cpu: [], errors: [] };

/** Of one shard. */
const parts = [30, 10].map((records, i): PartHead => {
  const functions = [{ scriptName: "shop", records, lastEventMs: NOON_MS - 2_000, health: HEALTH }];
  return { id: `${i}2`.repeat(16), takenInMs: NOON_MS - 1_000 + i, keyed: false, bytes: 1_000, functions };
});
const ids = parts.map(({ id }) => id);

function fragment(records: number): Fragment {
  return {
    day: Math.floor(NOON_MS / 86_400_000),
    deflated: true,
    records,
    rawBytes: 800 * records,
    crc: 1,
    firstEventMs: NOON_MS - 3_000,
    lastEventMs: NOON_MS - 2_000,
    oldestTakenMs: NOON_MS - 1_000,
    body: new Uint8Array(100 * records),
  };
}

const share = { stamp: "1.m", received: 40, filtered: 0, sampledOut: 0 };
const format = { output: NDJSON, template: { hour: false, script: false } };
const append: Append = {
  ...{ v: 1, parts, queue: null, state: "s" },
  records: ids.map((id) => ({ body: new Uint8Array(1_000), parts: [id] })),
  prepared: [{ ...format, jobs: [{ id: 1, ...share }], parts: ids, fragments: [fragment(25), fragment(15)] }],
  work: { batches: 1, entries: 1, offered: 40 },
};

function consumed(): [Group, Group] {
  const calls: Batch["calls"] = [
    { callee: "ControlPlane.configSince", args: ["s"] },
    { callee: "TraceLog.append", args: [append] },
    { callee: "TraceLog.append", args: [append] },
  ];
  return groupsOf([{ atMs: NOON_MS, calls }]) as [Group, Group];
}

it("carries what the real messages became, under new ids and later times, in the same shard", () => {
  const [group, second] = consumed();
  expect([group.isFirst, second.isFirst, eventsOf(group)]).toEqual([true, false, 40]);
  const standIns = new StandIns(SHARDS);
  const message = decodeMessage(standIns.messageFor(group, NOON_MS + HOUR_MS).body);
  if (!message.ok) throw new Error(message.why);
  expect(message.value.lines).toHaveLength(2);
  const made = message.value.parts;
  expect(made.map(({ takenInMs }) => takenInMs)).toEqual(parts.map(({ takenInMs }) => takenInMs + HOUR_MS));
  expect(made.some(({ id }) => ids.includes(id))).toBe(false);
  expect(new Set(made.map(shardOf))).toEqual(new Set([shardOf({ id: parts[0]?.id ?? "", shards: SHARDS })]));

  // What the consumer makes of them, for two jobs of equal rules.
  const asked: Append = {
    ...append,
    parts: made.map(({ id, takenInMs, keyed }) => ({ id, takenInMs, keyed, bytes: 1, functions: [] })),
    records: [{ body: new Uint8Array(1), parts: made.map(({ id }) => id) }],
    prepared: [
      {
        ...format,
        jobs: [2, 3].map((id) => ({ ...share, id, stamp: "7.m", received: 2 })),
        parts: made.map(({ id }) => id),
        fragments: [fragment(2)],
      },
    ],
    work: { batches: 1, entries: 2, offered: 4 },
  };
  const intercepted = standIns.intercept("TraceLog.append", [asked], group);
  if (intercepted === null || !("args" in intercepted)) throw new Error("the call is made as it is");
  const sent = intercepted.args[0] as Append;
  expect(sent.parts.map(({ id, bytes, functions }) => [id, bytes, functions[0]?.records])).toEqual(
    made.map(({ id }, i) => [id, 1_000, [30, 10][i]]),
  );
  expect(sent.parts[0]?.functions[0]?.lastEventMs).toBe(NOON_MS + HOUR_MS - 2_000);
  expect(sent.records.map((each) => [each.body.length, each.parts])).toEqual(made.map(({ id }) => [1_000, [id]]));
  const [prepared] = sent.prepared;
  expect(prepared?.jobs).toEqual([2, 3].map((id) => ({ ...share, id, stamp: "7.m" })));
  expect(prepared?.fragments.map(({ records, body }) => [records, body.length])).toEqual([
    [25, 2_500],
    [15, 1_500],
  ]);
  expect(prepared?.fragments[0]?.lastEventMs).toBe(NOON_MS + HOUR_MS - 2_000);
  expect(sent.work).toEqual({ batches: 1, entries: 2, offered: 80 });
});

it("asks for the configuration once a batch", () => {
  const standIns = new StandIns(1);
  const [group, next] = consumed();
  expect(standIns.intercept("ControlPlane.configSince", ["s"], group)).toBeNull();
  expect(standIns.intercept("ControlPlane.configSince", ["s"], next)).toEqual({ answer: { state: "s", jobs: null } });
  // It knows another one meanwhile: that is a call of its own.
  expect(standIns.intercept("ControlPlane.configSince", ["t"], next)).toBeNull();
});
