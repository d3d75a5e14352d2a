/** `npm run faults`: every row of the fault matrix, with what it counted; see docs/delivery.md. */
import { reportFaults } from "./report-faults.ts";

process.exitCode = await reportFaults(["test/faults", "test/e2e/faults.test.ts"]);
