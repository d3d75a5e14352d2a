/** Learning a rhythm, with a look every five minutes. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { heardOf, unnamedMs } from "../../../src/operate/status/function-facts.ts";
import { heard, listened, type Pulse, RHYTHM_SQL, Rhythm, usualOf } from "../../../src/operate/status/rhythm.ts";
import { isQuiet, RHYTHM_BOUNDS } from "../../../src/operate/status/thresholds.ts";
import { DAY_MS } from "../../formats/record/samples.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LOOK = 5 * MINUTE;
/** A Monday, 00:00 UTC. */
const MONDAY = Date.UTC(2026, 10, 23);

/**
 * A function that runs at these times, under a watch.
 * @returns the first moment of each time that it was called quiet.
 */
function alarms(
  times: readonly number[],
  untilMs: number,
  looksAt: (ms: number) => boolean = () => true,
): { alarms: number[]; pulse: Pulse | null } {
  let pulse: Pulse | null = null;
  let knownUntilMs = MONDAY;
  let wasQuiet = false;
  let next = 0;
  const began: number[] = [];
  for (let now = MONDAY; now <= untilMs; now += LOOK) {
    let last: number | undefined;
    for (; (times[next] ?? Number.POSITIVE_INFINITY) <= now; next++) last = times[next];
    if (!looksAt(now)) {
      // The next look finds what came meanwhile.
      if (last !== undefined) next -= 1;
      continue;
    }
    if (last !== undefined) pulse = heard(pulse, last, knownUntilMs);
    knownUntilMs = now;
    const usual = pulse === null ? null : usualOf(pulse);
    const isNow = usual !== null && isQuiet(usual, now);
    if (isNow && !wasQuiet) began.push(now);
    wasQuiet = isNow;
  }
  return { alarms: began, pulse };
}

/** Times from one to another, at an interval. */
const every = (ms: number, from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / ms)) }, (_, n) => from + n * ms);

/** Weekdays, nine to six, every ten minutes. */
const officeHours = (weeks: number): number[] =>
  Array.from({ length: weeks * 7 }, (_, day) => day)
    .filter((day) => day % 7 < 5)
    .flatMap((day) => every(10 * MINUTE, MONDAY + day * DAY_MS + 9 * HOUR, MONDAY + day * DAY_MS + 18 * HOUR));

describe("a rhythm", () => {
  it("is not known before a day, and five checks that found something", () => {
    const hourly = every(HOUR, MONDAY, MONDAY + DAY_MS);
    expect(usualOf(alarms(hourly, MONDAY + DAY_MS).pulse as Pulse)).toBeNull();
    const more = every(HOUR, MONDAY, MONDAY + DAY_MS + 1);
    expect(usualOf(alarms(more, MONDAY + DAY_MS).pulse as Pulse)).toEqual({
      lastMs: MONDAY + DAY_MS,
      longestGapMs: 55 * MINUTE,
    });
    const four = every(8 * HOUR, MONDAY, MONDAY + DAY_MS + 1);
    expect(four).toHaveLength(4);
    expect(usualOf(alarms(four, MONDAY + 2 * DAY_MS).pulse as Pulse)).toBeNull();
  });

  it("of one that comes all the time is missed after half an hour", () => {
    const end = MONDAY + 3 * DAY_MS;
    expect(alarms(every(MINUTE, MONDAY, end), end + DAY_MS).alarms).toEqual([end + 30 * MINUTE]);
  });

  it("of one that comes every three hours is missed after twice that, less the time between two checks", () => {
    const end = MONDAY + 3 * DAY_MS;
    const last = end - 3 * HOUR;
    expect(alarms(every(3 * HOUR, MONDAY, end), end + DAY_MS).alarms).toEqual([last + 2 * (3 * HOUR - LOOK) + LOOK]);
  });

  it("of weekdays alarms on the first weekend, and on no other", () => {
    const { alarms: began } = alarms(officeHours(8), MONDAY + 8 * 7 * DAY_MS - DAY_MS);
    expect(began).toHaveLength(1);
    expect((began[0] ?? 0) - MONDAY).toBeGreaterThan(4 * DAY_MS);
    expect((began[0] ?? 0) - MONDAY).toBeLessThan(7 * DAY_MS);
  });

  it("of weekdays is missed when it does not come back on two Mondays", () => {
    const { alarms: began } = alarms(officeHours(3), MONDAY + 40 * DAY_MS);
    // 63 hours from Friday to Monday; so the second alarm comes 126 after the last Friday, at
    // midnight from Wednesday on.
    expect(began).toHaveLength(2);
    const fridayMs = MONDAY + 18 * DAY_MS + 18 * HOUR;
    expect(((began[1] ?? 0) - fridayMs) / HOUR).toBeCloseTo(126, 0);
  });

  it("forgets a pause after fourteen days of events, but none while nothing comes", () => {
    const busy = every(10 * MINUTE, MONDAY, MONDAY + 2 * DAY_MS);
    const after = every(10 * MINUTE, MONDAY + 5 * DAY_MS, MONDAY + 21 * DAY_MS);
    const { pulse } = alarms([...busy, ...after.filter((ms) => ms < MONDAY + 20 * DAY_MS)], MONDAY + 90 * DAY_MS);
    expect(usualOf(pulse as Pulse)?.longestGapMs).toBeGreaterThan(2 * DAY_MS);
    expect(usualOf(alarms([...busy, ...after], MONDAY + 21 * DAY_MS).pulse as Pulse)?.longestGapMs).toBe(0);
  });

  it("learns nothing from a pause of the watch itself", () => {
    const times = every(10 * MINUTE, MONDAY, MONDAY + 4 * DAY_MS);
    const asleep = (ms: number): boolean => ms < MONDAY + 2 * DAY_MS || ms > MONDAY + 3 * DAY_MS;
    const { pulse } = alarms(times, MONDAY + 4 * DAY_MS, asleep);
    expect(usualOf(pulse as Pulse)?.longestGapMs).toBeLessThan(15 * MINUTE);
  });

  it("does not go back", () => {
    const pulse: Pulse = { firstMs: 1, lastMs: 10, checks: 2, gaps: [] };
    expect(heard(pulse, 10, 11)).toBe(pulse);
    expect(heard(pulse, 9, 11)).toBe(pulse);
  });
});

describe("names that senders make up", () => {
  const say = (name: string, lastMs: number, events = 1) => ({ name, lastMs, events });
  const flood = (look: number): { name: string; lastMs: number; events: number }[] =>
    Array.from({ length: 2_000 }, (_, n) => say(`made up ${look} ${n}`, MONDAY + look * LOOK));

  it("crowd out none that has come more than once, and are told to be too many", () => {
    const functions = new Map<string, Pulse>();
    const real = Array.from({ length: 50 }, (_, n) => `real ${n}`);
    for (let look = 0; look < 3; look++)
      listened(
        functions,
        real.map((name) => say(name, MONDAY + look * LOOK)),
        MONDAY + look * LOOK,
      );
    for (let look = 3; look < 20; look++) {
      const left = listened(functions, [...flood(look), ...real.map((name) => say(name, MONDAY + look * LOOK))], 0);
      expect(left).toBe(2_000 - (RHYTHM_BOUNDS.names - real.length));
      expect(functions.size).toBe(RHYTHM_BOUNDS.names);
    }
    expect(real.filter((name) => functions.get(name)?.checks !== 20)).toEqual([]);
  });

  it("give room to what the platform names, and to a modest sender, however often they came", () => {
    const functions = new Map<string, Pulse>();
    const sent = flood(0).map((each) => ({ ...each, sender: "http:ci" }));
    for (let look = 0; look < 5; look++)
      listened(
        functions,
        sent.map((each) => ({ ...each, lastMs: MONDAY + look * LOOK, events: 99 })),
        0,
      );
    const traced = Array.from({ length: 700 }, (_, n) => say(`traced ${n}`, MONDAY + 5 * LOOK));
    listened(functions, [...sent, { ...say("batch", MONDAY + 5 * LOOK), sender: "http:cron" }, ...traced], 0);
    expect(traced.filter(({ name }) => !functions.has(name))).toEqual([]);
    expect([functions.has("batch"), functions.size]).toEqual([true, RHYTHM_BOUNDS.names]);
  });

  it("are not heard under the name of what the platform traces", () => {
    const count = { routed: 1, notEnabled: 0, notRouted: 0, lastEventMs: MONDAY + LOOK };
    const sources = [
      { source: "http:ci", lastMs: MONDAY + LOOK },
      { source: "tail", lastMs: MONDAY },
    ];
    expect(
      heardOf([
        { ...count, scriptName: "shop", sources },
        { ...count, scriptName: "batch", sources: sources.slice(0, 1) },
        { ...count, scriptName: "old" },
      ]),
    ).toEqual([
      { name: "shop", lastMs: MONDAY, events: 1 },
      { name: "batch", lastMs: MONDAY + LOOK, events: 1, sender: "http:ci" },
      { name: "old", lastMs: MONDAY + LOOK, events: 1, sender: "unknown" },
    ]);
  });

  it("leave it known that what the platform traces is quiet, though there is no room for all names", () => {
    const none = { routed: 1, notEnabled: 0, notRouted: 0, lastEventMs: MONDAY };
    const full = Array.from({ length: 2_000 }, (_, n) => ({ ...none, scriptName: `f${n}` }));
    const other = (...sources: string[]) => ({
      ...{ ...none, scriptName: null },
      sources: sources.map((source) => ({ source, lastMs: MONDAY - 5 })),
    });
    expect(unnamedMs([...full, { ...none, scriptName: null }])).toBe(MONDAY);
    expect(unnamedMs([...full, other("http:ci")])).toBeNull();
    expect(unnamedMs([...full, other("http:ci", "tail")])).toBe(MONDAY - 5);
  });

  it("give room to a function that comes with more events than they", () => {
    const functions = new Map<string, Pulse>();
    listened(functions, flood(0), 0);
    listened(functions, [...flood(1), say("shop", MONDAY + LOOK, 2)], 0);
    expect(functions.has("shop")).toBe(true);
  });

  it("fill no row, however they are spelled", async () => {
    await runInDurableObject(env.READERS.getByName("rhythm"), (_object, { storage: { sql } }) => {
      sql.exec(RHYTHM_SQL);
      const rhythm = new Rhythm(sql);
      // Six bytes of JSON each; and fifteen days of pauses.
      for (let day = 0; day < 40; day++) {
        const atMs = MONDAY + day * DAY_MS;
        const short = Array.from({ length: 1_500 }, (_, n) => say(`${"\u0001".repeat(124)}${n}`, atMs));
        const left = rhythm.listen([...short, say("x".repeat(256), atMs, 99)], atMs, atMs + HOUR, atMs + HOUR);
        expect(left).toBeGreaterThanOrEqual(501);
      }
      const { bytes } = sql.exec<{ bytes: number }>("SELECT length(state) AS bytes FROM rhythm").one();
      expect(bytes).toBeGreaterThan(800_000);
      expect(bytes).toBeLessThan(1_200_000);
      expect(rhythm.functions().size).toBeGreaterThan(900);
      expect(rhythm.account()).toMatchObject({ lastMs: MONDAY + 39 * DAY_MS });
    });
  });

  it("are forgotten by name, and a look that is behind changes nothing", async () => {
    await runInDurableObject(env.READERS.getByName("rhythm"), (_object, { storage: { sql } }) => {
      sql.exec(RHYTHM_SQL);
      const rhythm = new Rhythm(sql);
      for (let day = 0; day < 6; day++) {
        const atMs = MONDAY + day * DAY_MS;
        rhythm.listen([say("a", atMs), say("b", atMs)], atMs, atMs + 1, atMs + 1);
      }
      const before = rhythm.functions();
      expect([...before.keys()]).toEqual(["a", "b"]);
      rhythm.listen([say("c", MONDAY)], MONDAY, MONDAY, MONDAY + 6 * DAY_MS);
      expect(rhythm.functions()).toEqual(before);
      rhythm.forget(new Set(["a"]));
      expect([...rhythm.functions().keys()]).toEqual(["b"]);
    });
  });

  it("are learned on after a clock that was a day ahead was put back", async () => {
    await runInDurableObject(env.READERS.getByName("rhythm"), (_object, { storage: { sql } }) => {
      sql.exec(RHYTHM_SQL);
      const rhythm = new Rhythm(sql);
      const look = (atMs: number, nowMs: number) => rhythm.listen([say("shop", atMs)], atMs, nowMs, nowMs);
      for (let at = MONDAY; at <= MONDAY + 2 * DAY_MS; at += HOUR) look(at, at);
      const end = MONDAY + 2 * DAY_MS;
      look(end, end + DAY_MS);
      for (let at = end + HOUR; at < end + 5 * HOUR; at += HOUR) {
        look(at, at);
        expect(rhythm.functions().get("shop")?.lastMs).toBe(at);
        expect(rhythm.account()?.lastMs).toBe(at);
      }
    });
  });
});
