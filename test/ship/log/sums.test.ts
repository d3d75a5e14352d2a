import { describe, expect, it } from "vitest";
import type { AccountStatus } from "../../../src/ship/log/account-status.ts";
import type { MonthUse } from "../../../src/ship/log/month-use.ts";
import { sumOfStatus, sumOfUse } from "../../../src/ship/log/sums.ts";
import { NOON } from "../../formats/record/samples.ts";

const status = (fields: Partial<AccountStatus> = {}): AccountStatus => ({
  counts: { processed: 6, routed: 1, not_enabled: 2, not_routed: 1, set_aside: 1, discarded: 1 },
  ...{
    intakeLost: 0,
    intakeUnfit: 0,
    crowded: [],
    oldestUnfinishedMs: null,
    queueBacklog: null,
    queueBytes: null,
    queueSeenMs: null,
  },
  setAsideMessages: { messages: 0, events: 0, oldestMs: null, stopsClaims: false },
  ...{ storedBytes: 10, load: null, failing: [], inSeconds: [], restored: null, keptSinceMs: NOON },
  ...fields,
});

describe("the status of all shards", () => {
  it("of one is its own, as it is", () => {
    const only = status();
    expect(sumOfStatus([only])).toBe(only);
  });

  it("adds up counts, and has the earliest times, the latest backlog and the largest size", () => {
    const [one, other] = ["http:ci", "rpc"].map((source) => ({ source, events: 1, lastMs: NOON }));
    const restored = (atMs: number) => ({ who: "shard" as const, job: 1, atMs });
    const setAsideMessages = { messages: 1, events: 3, oldestMs: NOON, stopsClaims: true };
    expect(
      sumOfStatus([
        status({ intakeLost: 2, queueSeenMs: NOON, queueBacklog: 7, queueBytes: 700, oldestUnfinishedMs: NOON }),
        status({
          setAsideMessages,
          storedBytes: 30,
          load: { parts: 3, bytes: 4 },
          restored: restored(2),
          inSeconds: [one] as never,
        }),
        status({
          queueSeenMs: NOON + 1,
          queueBytes: 9,
          oldestUnfinishedMs: NOON - 1,
          storedBytes: 20,
          load: { parts: 1, bytes: 9 },
          restored: restored(1),
          inSeconds: [other] as never,
          keptSinceMs: NOON + 1,
        }),
      ]),
    ).toEqual({
      counts: { processed: 18, routed: 3, not_enabled: 6, not_routed: 3, set_aside: 3, discarded: 3 },
      ...{
        intakeLost: 2,
        intakeUnfit: 0,
        crowded: [],
        oldestUnfinishedMs: NOON - 1,
        queueBacklog: null,
        queueBytes: 9,
        queueSeenMs: NOON + 1,
      },
      ...{
        setAsideMessages,
        storedBytes: 30,
        load: { parts: 3, bytes: 9 },
        failing: [],
        slower: [],
        restored: restored(2),
      },
      ...{ inSeconds: [one, other], keptSinceMs: NOON + 1 },
    });
  });
});

describe("a month's use of all shards", () => {
  const use = (fields: Partial<MonthUse> = {}): MonthUse => ({
    ...{ month: 2100 * 12 + 10, sinceMs: Date.UTC(2100, 10, 20) },
    ...{ batches: 1, groups: 2, messages: 3, messageUnits: 4, furtherParts: 8, events: 5, entries: 6, offered: 7 },
    ...fields,
  });

  it("is their sum since the first began", () => {
    expect(sumOfUse([null])).toBeNull();
    expect(sumOfUse([use(), null])).toEqual(use());
    expect(sumOfUse([use(), use({ sinceMs: Date.UTC(2100, 10, 1) })])).toEqual({
      ...{ month: 2100 * 12 + 10, sinceMs: Date.UTC(2100, 10, 1) },
      ...{
        batches: 2,
        groups: 4,
        messages: 6,
        messageUnits: 8,
        furtherParts: 16,
        events: 10,
        entries: 12,
        offered: 14,
      },
    });
  });

  it("is that of the newest month", () => {
    const next = use({ month: 2100 * 12 + 11, sinceMs: Date.UTC(2100, 11, 1) });
    expect(sumOfUse([use(), next, use()])).toEqual(next);
  });
});
