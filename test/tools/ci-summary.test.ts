import { it } from "vitest";
import { summarize } from "../../tools/ci-summary.ts";

const PASSED_FILE = { name: "a.test.ts", status: "passed", assertionResults: [{}] };
const FINE = { exitCode: 0, otherFailures: 0 };
const FAILED = { exitCode: 1, otherFailures: 0 };

function report(more: object = {}): string {
  return JSON.stringify({ success: true, numPassedTests: 3, numFailedTests: 0, testResults: [PASSED_FILE], ...more });
}

it("counts what passed and what failed", ({ expect }) => {
  expect(summarize(report(), FINE)).toEqual({ passed: 3, failed: 0 });
  expect(summarize(report({ success: false, numFailedTests: 2 }), FAILED)).toEqual({ passed: 3, failed: 2 });
});

it("counts a file that could not be loaded as failed", ({ expect }) => {
  const unloaded = { name: "b.test.ts", status: "failed", assertionResults: [] };
  const text = report({ success: false, testResults: [PASSED_FILE, unloaded] });
  expect(summarize(text, FAILED)).toEqual({ passed: 3, failed: 1 });
});

it("counts other checks that failed, whatever the tests say", ({ expect }) => {
  expect(summarize(report(), { exitCode: 0, otherFailures: 1 })).toEqual({ passed: 3, failed: 1 });
});

it("takes neither an error outside of the tests nor no test at all for a success", ({ expect }) => {
  expect(summarize(report({ success: false }), FINE)).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report(), FAILED)).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report(), { exitCode: Number.NaN, otherFailures: 0 })).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report({ numPassedTests: 0, testResults: [] }), FINE)).toEqual({ passed: 0, failed: 1 });
});

it("does not make a summary out of anything else", ({ expect }) => {
  expect(() => summarize("", FINE)).toThrow();
  expect(() => summarize("{}", FINE)).toThrow();
});
