import { it } from "vitest";
import { failures, summarize, summarizeAll } from "../../tools/ci-summary.ts";

const PASSED_FILE = { name: "a.test.ts", status: "passed", assertionResults: [{}] };

function report(more: object = {}): string {
  return JSON.stringify({ success: true, numPassedTests: 3, numFailedTests: 0, testResults: [PASSED_FILE], ...more });
}

it("counts what passed and what failed", ({ expect }) => {
  expect(summarize(report(), 0)).toEqual({ passed: 3, failed: 0 });
  expect(summarize(report({ success: false, numFailedTests: 2 }), 1)).toEqual({ passed: 3, failed: 2 });
});

it("counts a file that could not be loaded as failed", ({ expect }) => {
  const unloaded = { name: "b.test.ts", status: "failed", assertionResults: [] };
  const text = report({ success: false, testResults: [PASSED_FILE, unloaded] });
  expect(summarize(text, 1)).toEqual({ passed: 3, failed: 1 });
});

it("takes neither an error outside of the tests nor no test at all for a success", ({ expect }) => {
  expect(summarize(report({ success: false }), 0)).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report(), 1)).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report(), Number.NaN)).toEqual({ passed: 3, failed: 1 });
  expect(summarize(report({ numPassedTests: 0, testResults: [] }), 0)).toEqual({ passed: 0, failed: 1 });
});

it("does not make a summary out of anything else", ({ expect }) => {
  expect(() => summarize("", 0)).toThrow();
  expect(() => summarize("{}", 0)).toThrow();
});

it("adds up all runs", ({ expect }) => {
  const fine = { report: report(), exitCode: 0 };
  const failed = { report: report({ success: false, numPassedTests: 5, numFailedTests: 2 }), exitCode: 1 };
  expect(summarizeAll([fine, fine], 0)).toEqual({ passed: 6, failed: 0 });
  expect(summarizeAll([fine, failed], 0)).toEqual({ passed: 8, failed: 2 });
  expect(summarizeAll([failed, failed], 0)).toEqual({ passed: 10, failed: 4 });
});

it("counts other checks that failed, whatever the tests say", ({ expect }) => {
  const fine = { report: report(), exitCode: 0 };
  expect(summarizeAll([fine], 1)).toEqual({ passed: 3, failed: 1 });
  expect(summarizeAll([fine, fine], 2)).toEqual({ passed: 6, failed: 2 });
  expect(summarizeAll([fine], Number.NaN)).toEqual({ passed: 3, failed: 1 });
});

it("counts a run without a report as a failure, and the others as they were", ({ expect }) => {
  const fine = { report: report(), exitCode: 0 };
  const complaints: string[] = [];
  const complain = (text: string): void => void complaints.push(text);
  expect(summarizeAll([fine, { report: new Error("it is not there"), exitCode: 1 }], 0, complain)).toEqual({
    passed: 3,
    failed: 1,
  });
  expect(summarizeAll([{ report: "{", exitCode: 0 }, fine], 1, complain)).toEqual({ passed: 3, failed: 2 });
  expect(complaints).toHaveLength(2);
  expect(complaints[0]).toBe("no report of the tests: it is not there");
  expect(summarizeAll([], 0)).toEqual({ passed: 0, failed: 1 });
});

it("names each test that failed, with the beginning of its message", ({ expect }) => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
  const failed = { fullName: "keeps it", status: "failed", failureMessages: [lines] };
  const text = report({
    testResults: [
      { name: "b.test.ts", status: "failed", assertionResults: [{ fullName: "fine", status: "passed" }, failed] },
      { name: "c.test.ts", status: "failed", message: "no such module", assertionResults: [] },
    ],
  });
  const [first, second, ...more] = failures(text);
  expect(first).toMatch(/^FAILED b\.test\.ts: keeps it\n {4}line 0\n(?: {4}line \d+\n){10} {4}line 11$/);
  expect(second).toBe("FAILED c.test.ts\n    no such module");
  expect(more).toEqual([]);
});
