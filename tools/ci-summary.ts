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
  numFailedTests: z.number().int().nonnegative(),
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

/**
 * @param exitCode of vitest: an error outside of any test shows only there.
 * @throws Error if the text is not such a report.
 */
export function summarize(report: string, exitCode: number): Summary {
  const { success, numPassedTests, numFailedTests, testResults } = Report.parse(JSON.parse(report));
  // A file that could not be loaded counts as a failure: its tests are unknown.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const failed = numFailedTests + unloaded.length;
  const unexplained = failed === 0 && (!success || exitCode !== 0 || numPassedTests === 0) ? 1 : 0;
  return { passed: numPassedTests, failed: failed + unexplained };
}

/**
 * Each test that failed, with the beginning of its message, so that the end of a long log says it.
 * @throws Error if the text is not such a report.
 */
export function failures(report: string): string[] {
  const { testResults } = Report.parse(JSON.parse(report));
  const begin = (text: string): string =>
    text
      .split("\n", MESSAGE_LINES)
      .map((line) => `    ${line}`)
      .join("\n");
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0 && status === "failed") return [`FAILED ${name}\n${begin(message)}`];
    return failed.map((test) => `FAILED ${name}: ${test.fullName}\n${begin((test.failureMessages ?? []).join("\n"))}`);
  });
}

/** One run of vitest. */
export interface Run {
  /** The reporter's output; an Error: why it cannot be read. */
  readonly report: string | Error;
  readonly exitCode: number;
}

/**
 * The sum of all runs. One without a report counts as one failure, and the others still count.
 * @param otherFailures failed checks besides the tests; they count as failed.
 * @param complain is called with each failure, and with what is wrong with a report.
 */
export function summarizeAll(
  runs: readonly Run[],
  otherFailures: number,
  complain: (text: string) => void = () => {},
): Summary {
  const summaries = runs.map(({ report, exitCode }): Summary => {
    try {
      if (report instanceof Error) throw report;
      for (const failure of failures(report)) complain(failure);
      return summarize(report, exitCode);
    } catch (error) {
      complain(`no report of the tests: ${error instanceof Error ? error.message : String(error)}`);
      return { passed: 0, failed: 1 };
    }
  });
  const sum = (of: keyof Summary): number => summaries.reduce((total, each) => total + each[of], 0);
  // Without any run, or without the number of other failures, the result is a failure.
  const unknown = runs.length === 0 || !Number.isInteger(otherFailures) ? 1 : 0;
  return { passed: sum("passed"), failed: sum("failed") + (unknown === 1 ? 1 : otherFailures) };
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
  const { passed, failed } = summarizeAll(runs, Number(otherFailures), console.error);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
