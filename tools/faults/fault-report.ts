/**
 * A vitest reporter that prints the counts of the tests of faults: a line for each, and the sums.
 * `npm run faults` and `npm run soak` use it.
 */
import { writeSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import type { FaultMeta } from "../../test/support/fault-meta.ts";

/**
 * The environment variable with the report's file descriptor. It is separate from stdout, where the
 * runtime prints the errors of injected faults.
 */
export const REPORT_FD_VARIABLE = "LOGSHIP_REPORT_FD";

function write(text: string): void {
  writeSync(Number(process.env[REPORT_FD_VARIABLE] ?? 1), text);
}

/** Start of the soak's progress lines. */
const PROGRESS = /^soak: /;

export default class FaultReport implements Reporter {
  onUserConsoleLog({ content }: { readonly content: string }): void {
    if (PROGRESS.test(content)) write(content);
  }

  onTestCaseResult(test: TestCase): void {
    const result = test.result();
    if (result.state !== "failed") return;
    write(`FAILED  ${test.fullName}\n`);
    for (const { message } of result.errors) write(`${message}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { readonly message?: string }[]): void {
    const rows: FaultMeta[] = [];
    let passed = 0;
    let failed = 0;
    for (const module of modules) {
      for (const { message } of module.errors()) {
        failed += 1;
        write(`FAILED  ${module.moduleId}\n${message}\n`);
      }
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        if (state === "failed") failed += 1;
        const { fault } = test.meta();
        if (state === "passed" && fault !== undefined) rows.push(fault);
      }
    }
    for (const { message } of errors) write(`FAILED  ${message}\n`);
    write(`\n${faultTable(rows)}\n\n${passed} passed, ${failed + errors.length} failed\n`);
  }
}

/** @returns a table of the rows with their counts and the sums. */
export function faultTable(rows: readonly FaultMeta[]): string {
  const sum = rows.reduce(
    (total, { events, faults, objects }) => ({
      row: `${rows.length} rows`,
      events: total.events + events,
      faults: total.faults + faults,
      objects: total.objects + objects,
    }),
    { row: "0 rows", events: 0, faults: 0, objects: 0 },
  );
  const cells = [
    ["events", "faults", "objects", "fault"],
    ...[...rows, sum].map(({ row, events, faults, objects }) => [
      events.toLocaleString("en"),
      faults.toLocaleString("en"),
      objects.toLocaleString("en"),
      row,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) => line.map((cell, column) => (column < 3 ? cell.padStart(widths[column] ?? 0) : cell)).join("  "))
    .join("\n");
}
