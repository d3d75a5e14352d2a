/**
 * Prints `N passed, N failed` from the report of vitest's JSON reporter, for a CI that reads the last line. Exits with 1 unless there were tests
 * and nothing failed.
 * `node tools/ci-summary.ts <report.json> <exit code of vitest> <number of other checks that failed>`
 */
import { readFileSync } from "node:fs";
import * as z from "zod";

const Report = z.object({
  success: z.boolean(),
  numPassedTests: z.number().int().nonnegative(),
  numFailedTests: z.number().int().nonnegative(),
  testResults: z.array(z.object({ name: z.string(), status: z.string(), assertionResults: z.array(z.unknown()) })),
});

export interface Summary {
  readonly passed: number;
  readonly failed: number;
}

export interface Beside {
  /** Of vitest: an error outside of any test shows only there. */
  readonly exitCode: number;
  /** Checks that failed besides the tests; they count as failed. */
  readonly otherFailures: number;
}

/** @throws Error if the text is not such a report. */
export function summarize(report: string, { exitCode, otherFailures }: Beside): Summary {
  const { success, numPassedTests, numFailedTests, testResults } = Report.parse(JSON.parse(report));
  // A file that could not be loaded failed, though none of its tests is known.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const failed = numFailedTests + unloaded.length;
  const unexplained = failed === 0 && (!success || exitCode !== 0 || numPassedTests === 0) ? 1 : 0;
  return { passed: numPassedTests, failed: failed + unexplained + otherFailures };
}

if (import.meta.main) {
  const [path = "", exitCode, otherFailures] = process.argv.slice(2);
  try {
    const beside = { exitCode: Number(exitCode), otherFailures: Number(otherFailures) };
    const { passed, failed } = summarize(readFileSync(path, "utf8"), beside);
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } catch (error) {
    console.error(`no report of the tests: ${error instanceof Error ? error.message : String(error)}`);
    console.log("0 passed, 1 failed");
    process.exitCode = 1;
  }
}
