/**
 * A vitest reporter that prints the counts of the tests of faults: a line for each, and the sums.
 * `npm run faults` and `npm run soak` use it.
 */
import { writeSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { count } from "../../src/base/words.ts";
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
    write(`\n${faultTable(rows)}\n`);
    if (rows.some(({ kind }) => kind !== undefined)) write(`\n${kindTable(rows)}\n`);
    write(`\n${passed} passed, ${failed + errors.length} failed\n`);
  }
}

/** @returns a table of the rows with their counts and the sums. */
export function faultTable(rows: readonly FaultMeta[]): string {
  const sum = { ...sumOf(rows), row: `${rows.length} rows` };
  return aligned([
    ["events", "faults", "objects", "fault"],
    ...[...rows, sum].map(({ row, events, faults, objects }) => [...[events, faults, objects].map(count), row]),
  ]);
}

/**
 * @returns a table of the counts by kind of destination. A row passes only if every record is
 * where it belongs, so what is lost is 0; what is doubled is accounted for.
 */
export function kindTable(rows: readonly FaultMeta[]): string {
  const kinds = Map.groupBy(rows, ({ kind }) => kind ?? "several");
  const lines = [...kinds].map(([kind, all]) => {
    const { events, faults, doubled } = sumOf(all);
    return [...[all.length, events, faults, 0, doubled].map(count), kind];
  });
  return aligned([
    ["rows", "events", "faults", "lost", "doubled", "kind"],
    ...lines.sort((a, b) => (a.at(-1) ?? "").localeCompare(b.at(-1) ?? "")),
  ]);
}

function sumOf(rows: readonly FaultMeta[]): Required<Omit<FaultMeta, "row" | "kind">> {
  const sum = { events: 0, faults: 0, objects: 0, doubled: 0 };
  for (const { events, faults, objects, doubled = 0 } of rows) {
    sum.events += events;
    sum.faults += faults;
    sum.objects += objects;
    sum.doubled += doubled;
  }
  return sum;
}

/** Columns of numbers, and one of text. */
function aligned(lines: readonly (readonly string[])[]): string {
  const last = (lines[0]?.length ?? 1) - 1;
  const widths = Array.from({ length: last }, (_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) => line.map((cell, column) => (column < last ? cell.padStart(widths[column] ?? 0) : cell)).join("  "))
    .join("\n");
}
