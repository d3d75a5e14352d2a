/** What was decided about a problem, when others count with it later. */
import { expect, it } from "vitest";
import { decidedOf, problemFacts, standingOf } from "../../../src/operate/status/problem-rules.ts";
import type { ProblemState } from "../../../src/operate/status/problem-states.ts";
import type { Problem } from "../../../src/ship/log/problems.ts";
import { NOON } from "../../formats/record/samples.ts";

/** With a frame; the one without was there before. */
const problem: Problem = {
  ...{ id: "framed", ids: ["framed", "bare"], knownSinceMs: 0, scriptName: "shop", source: "tail", versions: [] },
  ...{ name: "TypeError", message: "no order #", frame: "load", count: 3 },
  ...{ bornMs: NOON, seenMs: NOON + 2_000, firstMs: NOON, lastMs: NOON, firstRay: "", lastRay: "" },
};
const decided = (id: string, state: ProblemState["state"], atMs: number): ProblemState => ({
  ...{ id, state, atMs, by: "admin", untilMs: null },
});

it("a decision stays where a problem counts with one that has a frame; the latest goes", () => {
  const facts = (...states: ProblemState[]) => problemFacts([problem], states, NOON + 3_000);
  expect(facts()).toMatchObject([{ id: "framed", resolvedMs: null }]);
  expect(facts(decided("bare", "ignored", NOON + 1_000))).toEqual([]);
  const resolved = decided("bare", "resolved", NOON + 1_000);
  expect(facts(resolved)).toMatchObject([{ id: "framed", resolvedMs: NOON + 1_000 }]);
  expect(facts(resolved, decided("framed", "resolved", NOON + 2_500))).toEqual([]);
  expect(facts(decided("other", "ignored", NOON))).toHaveLength(1);
  const states = new Map([["bare", decided("bare", "ignored", NOON)]]);
  expect(standingOf(problem, decidedOf(problem, states), NOON + 3_000)).toMatchObject({ state: "ignored" });
});
