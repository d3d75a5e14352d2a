import { describe, expect, it } from "vitest";
import {
  advance,
  type Check,
  CONFIRM_MS,
  confirmMs,
  MORE,
  mayOpen,
  ROOM,
  type Tracked,
} from "../../../src/operate/alerts/incidents.ts";
import type { Finding } from "../../../src/operate/status/finding.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { finding } from "../status/findings.ts";

const MINUTE_MS = 60_000;

/**
 * Applies checks in order: the minute of each, and whether it finds what is looked for: `+` yes,
 * `-` no, `?` unknown. @returns the calls, as `minute opened` and `minute over since minute`.
 */
function told(checks: string, of: Finding = finding({ sinceMs: null })): { said: string[]; tracked: Tracked[] } {
  let tracked: readonly Tracked[] = [];
  const said: string[] = [];
  let ids = 0;
  for (const [, at, seen] of checks.matchAll(/([\d.]+)([-+?])/g)) {
    const minute = Number(at);
    const look: Check = {
      atMs: NOON + minute * MINUTE_MS,
      findings: seen === "+" ? [of] : [],
      isUnknown: () => seen === "?",
    };
    ids += 1;
    const step = advance(tracked, look, () => `i${ids}`);
    tracked = step.tracked;
    for (const _each of step.opened) said.push(`${minute} opened`);
    for (const { overMs } of step.over) said.push(`${minute} over since ${(overMs - NOON) / MINUTE_MS}`);
  }
  return { said, tracked: [...tracked] };
}

describe("what is told", () => {
  it.each<[string, checks: string, readonly string[]]>([
    ["nothing of what is seen once", "0+ 5- 10- 15- 20-", []],
    ["nothing of what is seen twice within a minute", "0+ 0.99+ 5- 10- 15- 20-", []],
    ["what is seen twice, a minute apart", "0+ 1+", ["1 opened"]],
    ["once, however often it is seen", "0+ 1+ 5+ 10+", ["1 opened"]],
    [
      "that it is over when it was not seen for a quarter of an hour, since it was not",
      "0+ 1+ 5- 10- 15- 19.9- 20- 25-",
      ["1 opened", "20 over since 5"],
    ],
    ["not before it was looked at three times", "0+ 1+ 5- 60- 65-", ["1 opened", "65 over since 5"]],
    [
      "nothing of an incident that comes back before it is over",
      "0+ 1+ 5- 10- 15- 19+ 20- 25- 30- 35-",
      ["1 opened", "35 over since 20"],
    ],
    [
      "of one that comes back later, that it is another one",
      "0+ 1+ 5- 10- 20- 25+ 26+",
      ["1 opened", "20 over since 5", "26 opened"],
    ],
    ["of what comes and goes with every look, that it is there", "0+ 5- 10+ 15-", ["10 opened"]],
    ["nothing of flaps that are further apart", "0+ 5- 10- 15- 20- 25+ 30- 35- 40- 45-", []],
    ["never that it is over while nobody can tell", "0+ 1+ 5? 10? 20? 600?", ["1 opened"]],
    [
      "nor soon after nobody could: being well is seen without a break",
      "0+ 1+ 5- 10- 15? 20- 25- 34- 35-",
      ["1 opened", "35 over since 20"],
    ],
    ["what is suspected, when it can be told again", "0+ 5? 60+", ["60 opened"]],
    ["what is there, though the clock was put back", "600+ 0+ 1+", ["1 opened"]],
    ["that it is over, though the clock was put back", "600+ 601+ 605- 0- 5- 15-", ["601 opened", "15 over since 0"]],
  ])("is %s", (_what, checks, expected) => {
    expect(told(checks).said).toEqual(expected);
  });

  it("counts how often it came back", () => {
    const { tracked } = told("0+ 1+ 5- 10+ 15- 20+ 25? 30+");
    expect(tracked.map(({ flaps }) => flaps)).toEqual([2]);
  });

  it("is since the earliest time that any look knew", () => {
    let tracked: readonly Tracked[] = [];
    for (const [i, sinceMs] of [NOON - 1_000, NOON - 5_000, NOON, null].entries()) {
      const look = { atMs: NOON + i, findings: [finding({ sinceMs })], isUnknown: () => false };
      tracked = advance(tracked, look, () => "i").tracked;
    }
    expect(tracked[0]?.sinceMs).toBe(NOON - 5_000);
  });

  it("is never since a time that is yet to come", () => {
    const { tracked } = told("0+", { ...finding(), sinceMs: NOON + 1 });
    expect(tracked[0]?.sinceMs).toBe(NOON);
  });
});

describe("what is suspected", () => {
  it("is looked at again after a minute, and not for ever", () => {
    const { tracked } = told("0+");
    expect(confirmMs(tracked, NOON)).toBe(NOON + CONFIRM_MS);
    expect([mayOpen(tracked, NOON + CONFIRM_MS - 1), mayOpen(tracked, NOON + CONFIRM_MS)]).toEqual([false, true]);
    expect(confirmMs(tracked, NOON + CONFIRM_MS)).toBeNull();
    expect(confirmMs(told("0+ 1+").tracked, NOON)).toBeNull();
    expect(confirmMs(told("0+ 1-").tracked, NOON)).toBeNull();
  });
});

describe("very many findings", () => {
  const jobs = (from: number, to: number, fields: Partial<Finding> = {}): Finding[] =>
    Array.from({ length: to - from }, (_, i) => finding({ subject: { type: "job", id: from + i }, ...fields }));
  const look = (atMs: number, findings: readonly Finding[]): Check => ({ atMs, findings, isUnknown: () => false });
  const ids = () => crypto.randomUUID();

  it("are followed up to a number of each severity, and the rest is one finding", () => {
    const warnings = jobs(0, ROOM.warnings + 30, { severity: "warning" });
    const { tracked } = advance([], look(NOON, [...warnings, ...jobs(900, 910)]), ids);
    expect(tracked).toHaveLength(ROOM.warnings + 10 + 1);
    const more = tracked.filter(({ finding: { kind } }) => kind === MORE);
    expect(more.map(({ finding: { summary, severity } }) => [summary, severity])).toEqual([
      ["30 more findings are too many to track one by one.", "warning"],
    ]);
    expect(tracked.filter(({ finding: { severity } }) => severity === "error")).toHaveLength(10);
  });

  it("do not take the place of what is followed already", () => {
    const first = advance([], look(NOON, jobs(500, 510, { severity: "warning" })), ids).tracked;
    const { tracked, over } = advance(
      first,
      look(NOON + CONFIRM_MS, [...jobs(0, 300), ...jobs(500, 510, { severity: "warning" })]),
      ids,
    );
    expect(over).toEqual([]);
    expect(tracked).toHaveLength(10 + ROOM.errors + 1);
    expect(first.every(({ id }) => tracked.some((each) => each.id === id))).toBe(true);
  });

  it("get room when others are over", () => {
    let tracked: readonly Tracked[] = advance([], look(NOON, jobs(0, ROOM.errors + 1)), ids).tracked;
    for (const minute of [1, 2, 3, 20, 21])
      tracked = advance(tracked, look(NOON + minute * MINUTE_MS, jobs(50, ROOM.errors + 1)), ids).tracked;
    expect(tracked.map(({ finding: { subject } }) => subject)).toContainEqual({ type: "job", id: ROOM.errors });
  });

  it("of the same kind and subject are one", () => {
    expect(advance([], look(NOON, [finding(), finding({ summary: "other words" })]), ids).tracked).toHaveLength(1);
  });
});

describe("what senders name", () => {
  const at = (minute: number, findings: readonly Finding[]): Check => ({
    atMs: NOON + minute * MINUTE_MS,
    findings,
    isUnknown: () => false,
  });
  const named = (count: number, fields: Partial<Finding> = {}): Finding[] =>
    Array.from({ length: count }, (_, n) =>
      finding({
        kind: "function_failing",
        severity: "warning",
        subject: { type: "function", name: `f${n}` },
        ...fields,
      }),
    );
  const parked = finding({ kind: "parked", subject: { type: "job", id: 9 } });
  const trackedAfter = (...checks: readonly Finding[][]): Tracked[] => {
    let tracked: readonly Tracked[] = [];
    for (const [minute, findings] of checks.entries())
      tracked = advance(tracked, at(minute, findings), () => crypto.randomUUID()).tracked;
    return [...tracked];
  };
  const isTracked = (tracked: readonly Tracked[], { kind }: Finding): boolean =>
    tracked.some((each) => each.finding.kind === kind && each.openedMs !== null);

  it.each<[string, Finding[]]>([
    ["functions", named(500)],
    ["names of a sender", named(500, { sender: "http:ci" })],
    ["names of many senders", Array.from({ length: 50 }, (_, n) => named(20, { sender: `http:${n}` })).flat()],
    ["warnings", named(500).map((each, id) => ({ ...each, subject: { type: "job", id } }) as Finding)],
  ])("takes no room from an error, nor from another warning: %s", (what, flood) => {
    const silent = finding({ kind: "ledger_silent", severity: "warning", subject: { type: "account" } });
    const both = what === "warnings" ? [parked] : [parked, silent];
    const tracked = trackedAfter(flood, flood, [...flood, ...both], [...flood, ...both]);
    for (const each of both) expect([each.kind, isTracked(tracked, each)]).toEqual([each.kind, true]);
    expect(tracked.length).toBeLessThan(150);
  });

  it("takes no room from what the platform names", () => {
    const sent = named(500, { sender: "http:ci" });
    const own = finding({ kind: "attachment_undone", severity: "error", subject: { type: "function", name: "api" } });
    expect(isTracked(trackedAfter(sent, sent, [...sent, own], [...sent, own]), own)).toBe(true);
  });

  it("takes no room from what another sender names, though all that had room once still fails", () => {
    const own = finding({ kind: "function_quiet", subject: { type: "function", name: "till" }, sender: "http:shop" });
    let tracked: readonly Tracked[] = [];
    for (const [minute, of] of named(60, { sender: "http:ci" }).entries())
      tracked = advance(tracked, { ...at(minute, [of]), isUnknown: () => true }, () => crypto.randomUUID()).tracked;
    for (const minute of [60, 61])
      tracked = advance(tracked, { ...at(minute, [own]), isUnknown: () => true }, () => crypto.randomUUID()).tracked;
    expect(isTracked(tracked, own)).toBe(true);
  });

  it("is told apart from the same of another, and of the platform", () => {
    const [own, ci, rpc] = [...named(1), ...named(1, { sender: "http:ci" }), ...named(1, { sender: "rpc" })];
    expect(trackedAfter([own, ci, rpc] as Finding[])).toHaveLength(3);
  });

  it("errors that are recovering take no room from one that comes", () => {
    const errors = Array.from({ length: ROOM.errors }, (_, id) => finding({ subject: { type: "job", id } }));
    expect(isTracked(trackedAfter(errors, errors, [], [parked], [parked]), parked)).toBe(true);
  });

  it("has become worse once it was a warning, and is an error", () => {
    const warning = finding({ severity: "warning" });
    const isWorse = (...checks: Finding[][]) => trackedAfter(...checks)[0]?.worse ?? false;
    expect(isWorse([warning], [warning])).toBe(false);
    expect(isWorse([warning], [warning], [finding()])).toBe(true);
    expect(isWorse([warning], [finding()])).toBe(false);
    expect(isWorse([warning], [warning], [finding()], [warning], [finding()])).toBe(true);
  });
});
