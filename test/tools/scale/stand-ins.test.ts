import { expect, it } from "vitest";
import type { Append, AppendedMessage } from "../../../src/object/append.ts";
import type { Fragment } from "../../../src/object/encoder.ts";
import { decodeMessage } from "../../../src/queue/message.ts";
import type { MessageCount, Outcome } from "../../../src/trace-log/outcome.ts";
import type { Batch } from "../../../tools/scale/stages/consume.ts";
import { type Group, groupsOf, StandIns } from "../../../tools/scale/stages/stand-ins.ts";

const NOON_MS = Date.UTC(2026, 10, 20, 12);
const HOUR_MS = 3_600_000;

const messages = [30, 10].map(
  (received, i): AppendedMessage => ({
    id: `${i}`.repeat(32),
    takenInMs: NOON_MS - 1_000 + i,
    keyed: false,
    received,
    filtered: 0,
    sampledOut: 0,
  }),
);

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

function count({ received, ...id }: AppendedMessage): MessageCount {
  const functions = [
    { scriptName: "shop", routed: received, notEnabled: 0, notRouted: 0, lastEventMs: NOON_MS - 2_000 },
  ];
  const { takenInMs, keyed } = id;
  return { id: id.id, takenInMs, keyed, events: received, routed: received, notEnabled: 0, notRouted: 0, functions };
}

const append: Append = { version: 1, messages, fragments: [fragment(25), fragment(15)], queueDoneMs: 0 };
const outcome: Outcome = { done: messages.map(count), failed: [], backlog: 0, state: "s" };

function consumed(): Group {
  const calls: Batch["calls"] = [
    { callee: "ControlPlane.configSince", args: ["s"] },
    { callee: "JobReader.append", args: [append] },
    { callee: "TraceLog.count", args: [outcome] },
  ];
  const [group] = groupsOf([{ atMs: NOON_MS, calls }]);
  if (group === undefined) throw new Error("there is no group");
  return group;
}

/** Stand-ins an hour later, and what the consumer makes of them. */
function anHourLater(): { standIns: StandIns; group: Group; ids: AppendedMessage[] } {
  const standIns = new StandIns();
  const group = consumed();
  const sent = standIns.messageFor(group, NOON_MS + HOUR_MS);
  const message = decodeMessage(sent.body);
  if (!message.ok) throw new Error(message.why);
  expect(message.value.lines).toHaveLength(2);
  const ids = message.value.parts.map(({ records: received, ...id }) => ({
    ...id,
    received,
    filtered: 0,
    sampledOut: 0,
  }));
  return { standIns, group, ids };
}

function argumentOf<T>(intercepted: ReturnType<StandIns["intercept"]>): T {
  if (intercepted === null || !("args" in intercepted)) throw new Error("the call is made as it is");
  return intercepted.args[0] as T;
}

it("carries what the real messages became, under new ids and later times", () => {
  const { standIns, group, ids } = anHourLater();
  expect(ids.map(({ takenInMs }) => takenInMs)).toEqual(messages.map(({ takenInMs }) => takenInMs + HOUR_MS));
  expect(ids.some(({ id }) => messages.some((message) => message.id === id))).toBe(false);

  const made = { ...append, version: 7, messages: ids, fragments: [fragment(2)] };
  const sent = argumentOf<Append>(standIns.intercept("JobReader.append", [made], group));
  expect(sent.version).toBe(7);
  expect(sent.messages).toEqual(ids.map((id, i) => ({ ...id, received: messages[i]?.received })));
  expect(sent.fragments.map(({ records, body }) => [records, body.length])).toEqual([
    [25, 2_500],
    [15, 1_500],
  ]);
  expect(sent.fragments[0]?.lastEventMs).toBe(NOON_MS + HOUR_MS - 2_000);

  const counted: Outcome = { ...outcome, done: ids.map(count) };
  const { done } = argumentOf<Outcome>(standIns.intercept("TraceLog.count", [counted], group));
  expect(done.map(({ id, events }) => [id, events])).toEqual(ids.map(({ id }, i) => [id, messages[i]?.received]));
  expect(done[0]?.functions[0]?.lastEventMs).toBe(NOON_MS + HOUR_MS - 2_000);
});

it("carries a shard's part of the records, all of them in the end", () => {
  const { standIns, group, ids } = anHourLater();
  const parts = ids.map((id) =>
    argumentOf<Append>(standIns.intercept("JobReader.append", [{ ...append, messages: [id] }], group)),
  );
  expect(parts.map(({ messages: [own] }) => own?.received)).toEqual([30, 10]);
  const records = parts.map(({ fragments }) => fragments.map((each) => each.records));
  expect(records).toEqual([
    [19, 11],
    [6, 4],
  ]);
  expect(parts[1]?.fragments.map(({ body }) => [body.length, body.buffer.byteLength])).toEqual([
    [600, 600],
    [400, 400],
  ]);
});

it("asks for the configuration once a batch", () => {
  const standIns = new StandIns();
  const group = consumed();
  expect(group.isFirst).toBe(true);
  expect(standIns.intercept("ControlPlane.configSince", ["s"], group)).toBeNull();
  const next = { ...group, isFirst: false };
  expect(standIns.intercept("ControlPlane.configSince", ["s"], next)).toEqual({ answer: { state: "s", jobs: null } });
  // It knows another one meanwhile: that is a call of its own.
  expect(standIns.intercept("ControlPlane.configSince", ["t"], next)).toBeNull();
});

it("takes no batch in which something was not counted", () => {
  const calls = [{ callee: "JobReader.append", args: [append] }];
  expect(() => groupsOf([{ atMs: NOON_MS, calls }])).toThrow("not counted");
});
