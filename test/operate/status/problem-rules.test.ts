/** What was decided about a problem, where its id becomes another one. */
import { expect, it } from "vitest";
import { problemFacts } from "../../../src/operate/status/problem-rules.ts";
import type { ProblemState } from "../../../src/operate/status/problem-states.ts";
import type { Problem } from "../../../src/ship/log/problems.ts";
import { NOON } from "../../formats/record/samples.ts";

const DAY_MS = 86_400_000;

const [BARE, FRAMED] = ["0123456789abcdef", "fedcba9876543210"];

/** It was without a frame at first; both count as one. */
const problem: Problem = {
  ...{ id: FRAMED, ids: [FRAMED, BARE], scriptName: "shop", source: "tail", versions: [] },
  ...{ name: "TypeError", message: "no order #", frame: "loadOrder", count: 9 },
  ...{ firstMs: NOON - 3 * DAY_MS, lastMs: NOON, firstRay: "", lastRay: "" },
  ...{ bornMs: NOON - 3 * DAY_MS, seenMs: NOON },
};
const decided = (id: string, state: ProblemState["state"], atMs: number): ProblemState => ({
  ...{ id, state, atMs, by: "admin", untilMs: null },
});
const facts = (...states: ProblemState[]) => problemFacts([problem], states, NOON + 1);

it("a problem that was resolved before its records had a frame comes again", () => {
  expect(facts()).toEqual([]);
  expect(facts(decided(BARE, "resolved", NOON - DAY_MS))).toMatchObject([{ id: FRAMED, resolvedMs: NOON - DAY_MS }]);
});

it("what was decided of the problem itself goes before", () => {
  const resolved = decided(BARE, "resolved", NOON - DAY_MS);
  expect(facts(resolved, decided(FRAMED, "ignored", NOON - 2 * DAY_MS))).toEqual([]);
});
