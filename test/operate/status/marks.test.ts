import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type KeptNothing, keptNothing, type Mark, marked } from "../../../src/operate/status/marks.ts";
import { SAMPLES_SQL, Samples, sampled } from "../../../src/operate/status/samples.ts";
import { account, job, log } from "./samples.ts";

const HOUR_MS = 3_600_000;

describe("a count that grows", () => {
  const markOf = (...looks: [value: number, atMs: number][]): Mark | null =>
    looks.reduce<Mark | null>((before, [value, atMs]) => marked(before, value, atMs), null);

  it.each<[string, Mark | null, Partial<Mark>]>([
    ["has not, while it is nothing", markOf([0, 1], [0, 2]), { grewMs: null, sinceMs: null, by: 0 }],
    ["has, if it is there at the first look", markOf([7, 1]), { grewMs: 1, sinceMs: 1, by: 7 }],
    ["rests", markOf([7, 1], [7, 99]), { grewMs: 1, sinceMs: 1, by: 7 }],
    ["goes on after a pause of an hour", markOf([7, 1], [9, 1 + HOUR_MS]), { grewMs: 1 + HOUR_MS, sinceMs: 1, by: 9 }],
    [
      "begins anew after a longer one",
      markOf([7, 1], [9, 2 + HOUR_MS]),
      { grewMs: 2 + HOUR_MS, sinceMs: 2 + HOUR_MS, by: 2 },
    ],
    ["may become less, which is no growth", markOf([7, 1], [3, 2], [4, 3]), { value: 4, grewMs: 3, sinceMs: 1, by: 8 }],
  ])("%s", (_what, mark, expected) => {
    expect(mark).toMatchObject(expected);
  });
});

describe("what keeps nothing", () => {
  const at = (version: number, given: number, kept: number) => ({ version, given, kept });
  const after = (...looks: ReturnType<typeof at>[]): KeptNothing | null =>
    looks.reduce<KeptNothing | null>((before, look, n) => keptNothing(before, look, n), null);

  it.each<[string, ReturnType<typeof at>[], Partial<KeptNothing>]>([
    ["has refused nothing at the first look, of what came before it", [at(1, 50, 0)], { sinceMs: 0, refused: 0 }],
    ["has refused what came since", [at(1, 50, 2), at(1, 60, 2), at(1, 75, 2)], { sinceMs: 0, refused: 25 }],
    ["begins anew when it keeps something", [at(1, 50, 2), at(1, 60, 3), at(1, 75, 3)], { sinceMs: 1, refused: 15 }],
    ["begins anew when it is changed", [at(1, 50, 2), at(2, 60, 2), at(2, 75, 2)], { sinceMs: 1, refused: 15 }],
    ["begins anew when the counts go back", [at(1, 50, 2), at(1, 40, 2)], { sinceMs: 1, refused: 0 }],
  ])("%s", (_what, looks, expected) => {
    expect(after(...looks)).toMatchObject(expected);
  });
});

describe("what is remembered of a look", () => {
  const { status: _log, past: _past, ...known } = job();
  const nothing = { known: null, jobs: {}, account: null, backlogSinceMs: null };
  const of = (queueBacklog: number | null) => ({ ...account().status, queueBacklog });

  it("stays as it was for those who did not tell, and goes with its job", () => {
    const one = sampled(nothing, { known: [known], statuses: new Map([[1, log()]]), account: of(0) }, 1);
    expect(one.jobs["1"]?.filter).toMatchObject({ given: 100, kept: 100 });
    const silent = sampled(one, { known: undefined, statuses: new Map(), account: undefined }, 2);
    expect(silent).toEqual(one);
    const gone = sampled(one, { known: [], statuses: new Map(), account: of(0) }, 3);
    expect(gone).toMatchObject({ known: [], jobs: {} });
  });

  it("tells since when the queue has had a backlog", () => {
    const backlog = (...looks: (number | null)[]): number | null =>
      looks.reduce(
        (before, queueBacklog, n) => sampled(before, { known: [], statuses: new Map(), account: of(queueBacklog) }, n),
        nothing as ReturnType<typeof sampled>,
      ).backlogSinceMs;
    expect(backlog(0, 1_000, 5_000)).toBe(1);
    expect(backlog(1_000, 999, 1_000)).toBe(2);
    expect(backlog(1_000, null)).toBeNull();
  });

  it("is one row, written when it has changed", async () => {
    await runInDurableObject(env.READERS.getByName("samples"), (_object, { storage: { sql } }) => {
      sql.exec(SAMPLES_SQL);
      const samples = new Samples(sql);
      expect(samples.state()).toEqual(nothing);
      const state = { ...nothing, known: [known], backlogSinceMs: 5 };
      samples.keep(state);
      expect(samples.state()).toEqual(state);
      const writes = () => Number(sql.exec("SELECT total_changes() AS n").one().n);
      const before = writes();
      samples.keep(state);
      expect(writes()).toBe(before);
      samples.keep({ ...state, backlogSinceMs: 6 });
      expect(writes()).toBe(before + 1);
    });
  });
});
