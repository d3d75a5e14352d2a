import { expect, it } from "vitest";
import { summarize } from "../../tools/ci-summary.ts";

const PASSED = { name: "a.test.ts", status: "passed", assertionResults: [{ fullName: "fine", status: "passed" }] };
const failing = (...failureMessages: string[]) => ({ fullName: "keeps it", status: "failed", failureMessages });
const failed = (...assertionResults: object[]) => ({ name: "b.test.ts", status: "failed", assertionResults });
const unloaded = { name: "c.test.ts", status: "failed", message: "no such module", assertionResults: [] };

function report(more: object = {}): string {
  return JSON.stringify({ success: true, numPassedTests: 3, testResults: [PASSED], ...more });
}
const fine = { report: report(), exitCode: 0 };
const bad = { report: report({ success: false, testResults: [PASSED, failed(failing(), failing())] }), exitCode: 1 };
const unread = { report: new Error("it is not there"), exitCode: 1 };

it.each([
  ["what passed", [fine], 0, 3, 0],
  ["what failed", [bad], 0, 3, 2],
  ["all runs", [fine, bad], 0, 6, 2],
  [
    "a file that could not be loaded",
    [{ report: report({ success: false, testResults: [unloaded] }), exitCode: 1 }],
    0,
    3,
    1,
  ],
  ["an error outside of the tests, by the report", [{ report: report({ success: false }), exitCode: 0 }], 0, 3, 1],
  ["an error outside of the tests, by the exit code", [{ ...fine, exitCode: 1 }], 0, 3, 1],
  ["an exit code that is none", [{ ...fine, exitCode: Number.NaN }], 0, 3, 1],
  ["no test at all", [{ report: report({ numPassedTests: 0, testResults: [] }), exitCode: 0 }], 0, 0, 1],
  ["no run at all", [], 0, 0, 1],
  ["other checks that failed", [fine, fine], 2, 6, 2],
  ["an unknown number of other checks", [fine], Number.NaN, 3, 1],
  ["a run without a report, and the others as they were", [fine, unread], 0, 3, 1],
  ["what is no report", [{ report: "{", exitCode: 0 }, { report: "{}", exitCode: 0 }, fine], 1, 3, 3],
] as const)("counts %s", (_what, runs, otherFailures, passed, failures) => {
  expect(summarize(runs, otherFailures)).toEqual({ passed, failed: failures });
});

it("names each test that failed, with the beginning of its message, and what cannot be read", () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
  const complaints: string[] = [];
  const text = report({ testResults: [failed(failing(lines)), unloaded] });
  summarize([{ report: text, exitCode: 1 }, unread], 0, (each) => complaints.push(each));
  expect(complaints).toEqual([
    expect.stringMatching(/^FAILED b\.test\.ts: keeps it\n {4}line 0\n(?: {4}line \d+\n){10} {4}line 11$/),
    "FAILED c.test.ts\n    no such module",
    "no report of the tests: it is not there",
  ]);
});
