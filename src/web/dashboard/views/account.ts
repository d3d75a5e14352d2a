/** What the API answers about the account and its functions: the types of the API's own schemas. */
import type * as z from "zod";
import type { TraceLog } from "../../api/docs/account.ts";
import type { FunctionDay } from "../../api/docs/function-days.ts";
import type { FunctionHealth, FunctionVersion } from "../../api/docs/function-health.ts";
import type { FunctionView as FunctionSchema } from "../../api/docs/functions.ts";
import type { Finding, Incident, Status, Subject } from "../../api/docs/status.ts";
import type { Operation, Usage } from "../../api/docs/usage.ts";

export type SubjectView = z.infer<typeof Subject>;
export type FindingView = z.infer<typeof Finding>;
export type StatusView = z.infer<typeof Status>;
export type IncidentView = z.infer<typeof Incident>;
export type AccountLedgerView = z.infer<typeof TraceLog>;
export type FunctionView = z.infer<typeof FunctionSchema>;
export type FunctionHealthView = FunctionHealth;
export type FunctionDayView = FunctionDay;
export type FunctionVersionView = FunctionVersion;
export type UsageOperation = z.infer<typeof Operation>;
export type UsageView = z.infer<typeof Usage>;
