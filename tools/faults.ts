/** `npm run faults`: runs the fault matrix; see docs/faults.md. */
import { WHOLE_MATRIX_VARIABLE } from "../test/support/matrix-settings.ts";
import { argumentsOf } from "./command.ts";
import { exitOnSignals, reportFaults } from "./faults/report-faults.ts";

const USAGE = `usage: npm run faults [-- <test files…>]

Runs every row of the fault matrix, or those of some files, and prints what each audited.
  npm run faults -- test/faults/clocks.test.ts`;

/** All files whose rows are cut elsewhere. */
const FILES = [
  "test/faults",
  "test/operate/replay/faults.test.ts",
  "test/operate/replay/seams.test.ts",
  "test/e2e/faults.test.ts",
];

const { positionals: named } = argumentsOf(USAGE, {}, true);
exitOnSignals();
const code = await reportFaults(named.length > 0 ? named : FILES, {
  env: { [WHOLE_MATRIX_VARIABLE]: "1" },
  onLine: console.log,
});
process.exitCode = code === "hung" ? 1 : code;
