/** What is expected by kind of event, with a look every five minutes, or at any time. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FunctionsFacts, KindFacts } from "../../../src/operate/status/facts.ts";
import { keyOf } from "../../../src/operate/status/finding.ts";
import {
  goneKinds,
  heardKinds,
  isKindQuiet,
  kindName,
  knownKinds,
  nextDueMs,
  shownKinds,
} from "../../../src/operate/status/function-kinds.ts";
import { listened, type Pulse } from "../../../src/operate/status/rhythm.ts";
import { findingsOf, isUnknown } from "../../../src/operate/status/rules.ts";
import { KIND_RHYTHM_BOUNDS } from "../../../src/operate/status/thresholds.ts";
import type { FunctionCount } from "../../../src/ship/log/function-counts.ts";
import { KINDS_KEPT, type SeenKind } from "../../../src/ship/log/seen-kinds.ts";
import type { FunctionSetting } from "../../../src/state/control/function-settings.ts";
import { facts, fn } from "./samples.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 00:00 UTC. */
const MONDAY = Date.UTC(2026, 10, 23);

const counted = (kinds: readonly SeenKind[], fields: Partial<FunctionCount> = {}): FunctionCount => ({
  ...{ scriptName: "shop", routed: 1, notEnabled: 0, notRouted: 0 },
  ...{
    lastEventMs: Math.max(0, ...kinds.map(({ lastMs }) => lastMs)),
    sources: [{ source: "tail", lastMs: MONDAY }],
    kinds,
  },
  ...fields,
});

const setting = (expect: FunctionSetting["expect"]): FunctionSetting => ({
  ...{ name: "shop", logging: "unset", tailConsumers: null, modifiedMs: MONDAY },
  ...(expect && { expect }),
});

/** A watch of one function, whose kinds were last seen then. */
class Looks {
  readonly pulses = new Map<string, Pulse>();
  settings: FunctionSetting[] = [];
  #untilMs = MONDAY;

  /** @returns the kinds that are quiet then. */
  look(kinds: readonly SeenKind[], nowMs: number): string[] {
    const counts = [counted(kinds)];
    listened(this.pulses, heardKinds(counts, this.settings), this.#untilMs, KIND_RHYTHM_BOUNDS);
    this.#untilMs = nowMs;
    const known = knownKinds([...this.pulses], this.settings, counts);
    const gone = goneKinds(known, () => false, nowMs);
    for (const key of gone) this.pulses.delete(key);
    return known.flatMap((each) => (!gone.has(each.key) && isKindQuiet(each.facts, nowMs) ? [each.facts.kind] : []));
  }
}

/** The first look every second from `fromMs` at which it is quiet, while `fetch` goes on. */
function namedAt(cron: string, lastMs: number, stepMs: number, untilMs: number): number | null {
  const looks = new Looks();
  for (let now = lastMs + SECOND; now <= untilMs; now += stepMs) {
    const kinds = [
      { kind: `cron ${cron}`, lastMs },
      { kind: "fetch", lastMs: now - SECOND },
    ];
    const quiet = looks.look(kinds, now);
    if (quiet.length > 0) {
      expect(quiet).toEqual([`cron ${cron}`]);
      return now;
    }
  }
  return null;
}

describe("a cron that stops while fetch goes on", () => {
  it("is named after twice its interval, and not before: every ten minutes, after twenty", () => {
    const named = namedAt("*/10 * * * *", MONDAY + 2 * SECOND, SECOND, MONDAY + HOUR) ?? 0;
    expect(named - MONDAY).toBeGreaterThan(20 * MINUTE);
    expect(named - MONDAY).toBeLessThanOrEqual(21 * MINUTE);
  });

  it("is named on the second Monday that it misses; of Cloudflare's days, Monday is 2", () => {
    for (const cron of ["0 3 * * mon", "0 3 * * 2"]) {
      const named = namedAt(cron, MONDAY + 3 * HOUR, 5 * MINUTE, MONDAY + 15 * DAY) ?? 0;
      expect(new Date(named).toISOString().slice(0, 15)).toBe("2026-12-07T03:0");
    }
  });

  it("is not named while it runs, whatever else does not", () => {
    const looks = new Looks();
    for (let now = MONDAY; now < MONDAY + 2 * DAY; now += 5 * MINUTE) {
      const lastMs = now - (now % (10 * MINUTE)) + 3 * SECOND;
      expect(looks.look([{ kind: "cron */10 * * * *", lastMs }], now + 30 * SECOND)).toEqual([]);
    }
  });

  it("is forgotten by its owner, until it comes again; and by itself thirty days later", () => {
    const kind = "cron */10 * * * *";
    const looks = new Looks();
    const seen = [{ kind, lastMs: MONDAY }];
    expect(looks.look(seen, MONDAY + HOUR)).toEqual([kind]);
    looks.settings = [setting([{ kind, everyMinutes: null, setMs: MONDAY + HOUR }])];
    // Counts name it for another two days.
    for (let hour = 1; hour < 48; hour += 1) expect(looks.look(seen, MONDAY + hour * HOUR)).toEqual([]);
    expect(looks.pulses.size).toBe(0);
    const again = [{ kind, lastMs: MONDAY + 50 * HOUR }];
    expect(looks.look(again, MONDAY + 50 * HOUR + MINUTE)).toEqual([]);
    expect(looks.look([], MONDAY + 51 * HOUR)).toEqual([kind]);
    expect(looks.look([], MONDAY + 80 * DAY)).toEqual([]);
    expect(looks.pulses.size).toBe(0);
  });
});

describe("other kinds", () => {
  /** A queue that has an event every ten minutes until `lastMs`. */
  const queue = (looks: Looks, untilMs: number): void => {
    for (let now = MONDAY; now <= untilMs; now += 5 * MINUTE)
      looks.look([{ kind: "queue", lastMs: now - (now % (10 * MINUTE)) }], now);
  };

  it("are known after a day, and named after twice their longest pause, at least half an hour", () => {
    for (const [days, expected] of [
      [0.9, null],
      [1.1, 30],
    ] as const) {
      const looks = new Looks();
      const lastMs = MONDAY + days * DAY - ((MONDAY + days * DAY) % (10 * MINUTE));
      queue(looks, lastMs);
      let named: number | null = null;
      for (let now = lastMs; now < lastMs + 3 * HOUR && named === null; now += MINUTE)
        if (looks.look([{ kind: "queue", lastMs }], now).length > 0) named = now - lastMs;
      expect(named === null ? null : Math.floor(named / MINUTE) - 1).toBe(expected);
    }
  });

  it("are named after twice what is set, from when that was, though they never came", () => {
    const looks = new Looks();
    looks.settings = [setting([{ kind: "queue", everyMinutes: 10, setMs: MONDAY }])];
    expect(looks.look([], MONDAY + 20 * MINUTE)).toEqual([]);
    expect(looks.look([], MONDAY + 21 * MINUTE)).toEqual(["queue"]);
    expect(looks.look([{ kind: "queue", lastMs: MONDAY + 15 * MINUTE }], MONDAY + 35 * MINUTE)).toEqual([]);
    expect(looks.look([], MONDAY + 36 * MINUTE)).toEqual(["queue"]);
    // What is set goes before what its expression says.
    looks.settings = [setting([{ kind: "cron * * * * *", everyMinutes: 60, setMs: MONDAY }])];
    const cron = [{ kind: "cron * * * * *", lastMs: MONDAY + 40 * MINUTE }];
    expect(looks.look(cron, MONDAY + 150 * MINUTE)).toEqual([]);
    expect(looks.look(cron, MONDAY + 161 * MINUTE)).toEqual(["cron * * * * *"]);
  });

  it("of more than are counted are not called quiet where they may go on", () => {
    const looks = new Looks();
    const crons = Array.from({ length: KINDS_KEPT }, (_, n) => ({ kind: `cron ${n} * * * *`, lastMs: MONDAY + n }));
    expect(looks.look([{ kind: "cron 59 0 * * *", lastMs: MONDAY }], MONDAY + MINUTE)).toEqual([]);
    const now = MONDAY + 3 * DAY;
    expect(looks.look(crons, now)).toHaveLength(KINDS_KEPT);
    expect(looks.look(crons.slice(1), now)).toContain("cron 59 0 * * *");
  });
});

describe("kinds that senders make up", () => {
  it("are not heard of a function that the platform traces, and have a sender of their own otherwise", () => {
    const kinds: SeenKind[] = [{ kind: "cron * * * * *", lastMs: MONDAY, sent: true }];
    expect(heardKinds([counted(kinds)], [])).toEqual([]);
    const ci = [{ source: "http:ci", lastMs: MONDAY }];
    const heard = heardKinds([counted(kinds, { sources: ci }), counted(kinds, { scriptName: null })], []);
    expect(heard).toEqual([{ name: kindName("shop", "cron * * * * *"), lastMs: MONDAY, events: 1, sender: "http:ci" }]);
    const pulses = new Map<string, Pulse>();
    listened(pulses, heard, MONDAY, KIND_RHYTHM_BOUNDS);
    const known = knownKinds([...pulses], [], []).map((each) => each.facts as KindFacts);
    expect(known).toMatchObject([{ name: "shop", sender: "http:ci", by: "cron" }]);
    // They do not wake the watch.
    expect(nextDueMs(known, MONDAY, MONDAY)).toBeNull();
    const own = known.map(({ sender: _, ...each }) => each);
    const quietMs = MONDAY + 2 * MINUTE + 20 * SECOND;
    const dueMs = (nowMs: number, behindMs = 0) => nextDueMs(own, nowMs, nowMs - behindMs);
    expect(dueMs(MONDAY)).toBe(quietMs + 10 * SECOND);
    expect(dueMs(quietMs + SECOND)).toBeNull();
    // The queue may be behind, but not for as long as one that is stuck.
    expect(dueMs(quietMs + SECOND, 2 * SECOND)).toBe(quietMs + 10 * SECOND);
    expect(dueMs(quietMs + MINUTE, 2 * MINUTE)).toBe(quietMs + 1.5 * MINUTE);
    expect(dueMs(quietMs + HOUR, 2 * HOUR)).toBe(quietMs + 1.5 * HOUR);
  });

  it("cost no look beside those of the cron while they go on, but where they come every three minutes or sooner", () => {
    const looks = (every: number) =>
      Array.from({ length: 12 }, (_, i) => MONDAY + i * 5 * MINUTE).filter((nowMs) => {
        const lastMs = nowMs - (nowMs % (every * MINUTE));
        const pulses = new Map<string, Pulse>();
        const heard = { name: kindName("shop", `cron */${every} * * * *`), lastMs, events: 1 };
        listened(pulses, [heard], nowMs, KIND_RHYTHM_BOUNDS);
        const known = knownKinds([...pulses], [], []).flatMap((each) => each.facts ?? []);
        return (nextDueMs(known, nowMs, nowMs) ?? 0) < nowMs + 5 * MINUTE;
      }).length;
    expect([1, 2, 3, 4, 5, 6, 10].map(looks)).toEqual([12, 12, 4, 0, 0, 0, 0]);
  });

  it("never throw, are bounded, and are quiet only after what they expect", () => {
    const kind = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.string().map((text) => `cron ${text}`),
    );
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
    const seen = fc.array(fc.tuple(name, kind, fc.nat({ max: DAY })), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(seen, { maxLength: 6 }), (checks) => {
        const pulses = new Map<string, Pulse>();
        const bounds = { ...KIND_RHYTHM_BOUNDS, names: 15 };
        let now = MONDAY;
        for (const check of checks) {
          const counts = check.map(([scriptName, of, agoMs]) =>
            counted([{ kind: of, lastMs: now - agoMs, sent: true }], { scriptName, sources: [] }),
          );
          listened(pulses, heardKinds(counts, []), now, bounds);
          now += HOUR;
          expect(pulses.size).toBeLessThanOrEqual(15);
          for (const { key, facts: known } of knownKinds([...pulses], [], counts)) {
            if (known === null) continue;
            expect(kindName(known.name, known.kind)).toBe(key);
            expect(known.quietAfterMs).toBeGreaterThan(known.lastMs ?? 0);
          }
        }
      }),
    );
  });
});

describe("findings of kinds", () => {
  const cron: KindFacts = {
    ...{ name: "shop", kind: "cron */10 * * * *", lastMs: MONDAY },
    ...{ quietAfterMs: MONDAY + 20 * MINUTE, by: "cron", everyMs: 0 },
  };
  const queue: KindFacts = { ...cron, kind: "queue", by: "learned", everyMs: HOUR };
  const world = (
    kinds: KindFacts[],
    fields: Partial<FunctionsFacts> = {},
    each = fn({ name: "shop", usual: null }),
  ) => {
    const countedUntilMs = MONDAY + HOUR;
    const functions = { countedUntilMs, each: [each], unnamedMs: null, notWatched: 0, kinds, ...fields };
    return facts({ nowMs: MONDAY + HOUR, functions });
  };
  const own = (of: ReturnType<typeof world>) => findingsOf(of).filter(({ subject }) => subject.type === "function");
  const said = (of: ReturnType<typeof world>): string[] =>
    own(of).map(({ kind, eventKind }) => (eventKind === undefined ? kind : `${kind} ${eventKind}`));
  const quiet = fn({ name: "shop", usual: { lastMs: MONDAY, longestGapMs: 0 } });

  it("name the kind, in their key and in words", () => {
    const set: KindFacts = { ...cron, kind: "email", by: "set", everyMs: 10 * MINUTE, sender: "http:ci" };
    const found = own(world([queue, set, cron]));
    expect(found.map(({ summary }) => summary)).toEqual([
      '"shop" has missed its cron "*/10 * * * *" twice in a row.',
      '"shop" has had no event of kind "email" for 20 minutes; one is expected every 10 minutes.',
      '"shop" has had no event of kind "queue" for longer than usual; its longest pause in the fourteen days before was 1 hour.',
    ]);
    expect(found[0]).toMatchObject({ severity: "warning", sinceMs: MONDAY, eventKind: cron.kind });
    expect(new Set(found.map(keyOf)).size).toBe(3);
    expect(keyOf(found[1] as never)).toBe(
      '["function_kind_quiet","function","shop",{"eventKind":"email","sender":"http:ci"}]',
    );
  });

  it("are not told beside that of the whole function; nor that of it beside its only cron", () => {
    expect(said(world([cron, queue], {}, quiet))).toEqual(["function_quiet"]);
    expect(said(world([cron], {}, quiet))).toEqual([`function_kind_quiet ${cron.kind}`]);
    expect(said(world([queue], {}, quiet))).toEqual(["function_quiet"]);
    // What is left out is not over.
    const subject = { type: "function", name: "shop" } as const;
    const of = { kind: "function_kind_quiet", subject, eventKind: cron.kind };
    expect(isUnknown(world([cron, queue], {}, quiet), of)).toBe(true);
    expect(isUnknown(world([cron], {}, quiet), { kind: "function_quiet", subject })).toBe(true);
    expect(isUnknown(world([{ ...cron, quietAfterMs: MONDAY + DAY }]), of)).toBe(false);
    expect(isUnknown(world([]), of)).toBe(false);
  });

  it("leave out what is off, or may be on its way, of which it is unknown whether it is over", () => {
    const of = {
      kind: "function_kind_quiet",
      subject: { type: "function", name: "shop" },
      eventKind: cron.kind,
    } as const;
    expect(said(world([cron], {}, fn({ name: "shop", usual: null, logging: "off" })))).toEqual([]);
    for (const fields of [{ countedUntilMs: MONDAY + 20 * MINUTE }, { unnamedMs: MONDAY + 1 }]) {
      expect(said(world([cron], fields))).toEqual([]);
      expect(isUnknown(world([cron], fields), of)).toBe(true);
    }
  });
});

it("shows what no check has seen yet, and what is set, without what is forgotten", () => {
  const expected = [
    { kind: "queue", everyMinutes: 5, setMs: MONDAY },
    { kind: "email", everyMinutes: null, setMs: MONDAY },
  ];
  const pulse: Pulse = { firstMs: MONDAY - DAY, lastMs: MONDAY - HOUR, checks: 9, gaps: [] };
  const count = counted([
    { kind: "cron 0 * * * *", lastMs: MONDAY },
    { kind: "email", lastMs: MONDAY },
    { kind: "fetch", lastMs: MONDAY - MINUTE },
  ]);
  const shown = shownKinds([[kindName("shop", "fetch"), pulse]], setting(expected), count);
  expect(shown.map(({ kind, everyMinutes, lastMs, facts: of }) => [kind, everyMinutes, lastMs, of?.by])).toEqual([
    ["cron 0 * * * *", null, MONDAY, "cron"],
    ["fetch", null, MONDAY - MINUTE, undefined],
    ["queue", 5, null, "set"],
  ]);
});
