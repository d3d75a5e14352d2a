import type { AlertedSearch, SearchAlert } from "../../src/ship/job/searches.ts";

/** Ten saved searches with an alert, of the kinds that people have. */
const QUERIES: readonly (readonly [query: string, alert?: Partial<SearchAlert>])[] = [
  ["status:5xx"],
  ["outcome:exception"],
  ["level:error worker:checkout"],
  ["worker:payments took:>300ms"],
  ["PaymentError"],
  ["path:/api/v2/carts/* status:4xx"],
  ["type:scheduled", { when: "below", threshold: 1 }],
  ["worker:shop-api", { measure: { op: "p95", of: "took" }, threshold: 350 }],
  ['"connection refused"'],
  ["worker:exports Fields.user:4711*"],
];

export const ALERTS: readonly AlertedSearch[] = QUERIES.map(([query, alert], i) => ({
  ...{ id: i + 1, stamp: "1.m", sinceMs: 0, name: query, query },
  alert: {
    ...{ measure: { op: "count" }, threshold: 100, when: "at_least", overMs: 300_000, forMs: 0, severity: "warning" },
    ...alert,
  },
}));
