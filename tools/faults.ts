/**
 * `npm run faults`: runs every row of the fault matrix and prints its counts; see docs/faults.md.
 */
import { exitOnSignals, reportFaults } from "./faults/report-faults.ts";

exitOnSignals();
const code = await reportFaults(["test/faults", "test/e2e/faults.test.ts"], { onLine: console.log });
process.exitCode = code === "hung" ? 1 : code;
