/**
 * Prints what failed, then `N passed, N failed`, from reports of vitest's JSON reporter, for a CI
 * that reads the last line. Exits with 1 unless every report has tests and nothing failed.
 *
 *     node tools/ci-summary.ts <failed other checks> (<report.json> <exit code of vitest>)…
 */
import { readFileSync } from "node:fs";
import * as z from "zod";

const Report = z.object({
  success: z.boolean(),
  numPassedTests: z.number().int().nonnegative(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(""),
      assertionResults: z.array(
        z.object({
          fullName: z.string().default(""),
          status: z.string().default(""),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** Lines of a failure's message that are printed: what was expected and where. */
const MESSAGE_LINES = 12;

export interface Summary {
  readonly passed: number;
  readonly failed: number;
}

/** One run of vitest. */
export interface Run {
  /** The reporter's output; an Error: why it cannot be read. */
  readonly report: string | Error;
  /** An error outside of any test shows only there. */
  readonly exitCode: number;
}

/**
 * The sum of all runs. One without a report counts as one failure, and the others still count.
 * @param otherFailures failed checks besides the tests; they count as failed.
 * @param complain is called with each test that failed and the beginning of its message, so that
 *   the end of a long log says it, and with what is wrong with a report.
 */
export function summarize(
  runs: readonly Run[],
  otherFailures: number,
  complain: (text: string) => void = () => {},
): Summary {
  const sum = { passed: 0, failed: 0 };
  for (const { report, exitCode } of runs) {
    try {
      if (report instanceof Error) throw report;
      const { success, numPassedTests, testResults } = Report.parse(JSON.parse(report));
      const failures = testResults.flatMap(failuresOf);
      for (const failure of failures) complain(failure);
      const unexplained = failures.length === 0 && (!success || exitCode !== 0 || numPassedTests === 0);
      sum.passed += numPassedTests;
      sum.failed += failures.length + (unexplained ? 1 : 0);
    } catch (error) {
      complain(`no report of the tests: ${error instanceof Error ? error.message : String(error)}`);
      sum.failed += 1;
    }
  }
  // Without any run, or without the number of other failures, the result is a failure.
  const isUnknown = runs.length === 0 || !Number.isInteger(otherFailures);
  return { ...sum, failed: sum.failed + (isUnknown ? 1 : otherFailures) };
}

/** A file that could not be loaded counts as a failure: its tests are unknown. */
function failuresOf({ name, status, message, assertionResults }: z.infer<typeof Report>["testResults"][0]): string[] {
  const begin = (text: string): string => text.split("\n", MESSAGE_LINES).join("\n    ");
  if (status === "failed" && assertionResults.length === 0) return [`FAILED ${name}\n    ${begin(message)}`];
  return assertionResults
    .filter((test) => test.status === "failed")
    .map((test) => `FAILED ${name}: ${test.fullName}\n    ${begin((test.failureMessages ?? []).join("\n"))}`);
}

function readReport(path: string): string | Error {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

if (import.meta.main) {
  const [otherFailures, ...pairs] = process.argv.slice(2);
  const runs: Run[] = [];
  for (let i = 0; i < pairs.length; i += 2)
    runs.push({ report: readReport(pairs[i] ?? ""), exitCode: Number(pairs[i + 1]) });
  const { passed, failed } = summarize(runs, Number(otherFailures), console.error);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
