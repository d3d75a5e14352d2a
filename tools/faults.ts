/**
 * `npm run faults`: runs every row of the fault matrix and prints its counts; see docs/faults.md.
 * `npm run faults -- test/faults/clocks.test.ts` runs only the rows of such files.
 */
import { WHOLE_MATRIX_VARIABLE } from "../test/support/matrix-settings.ts";
import { exitOnSignals, reportFaults } from "./faults/report-faults.ts";

/** All files whose rows are cut elsewhere. */
const FILES = [
  "test/faults",
  "test/operate/replay/faults.test.ts",
  "test/operate/replay/seams.test.ts",
  "test/e2e/faults.test.ts",
];

const [, , ...named] = process.argv;
exitOnSignals();
const code = await reportFaults(named.length > 0 ? named : FILES, {
  env: { [WHOLE_MATRIX_VARIABLE]: "1" },
  onLine: console.log,
});
process.exitCode = code === "hung" ? 1 : code;
