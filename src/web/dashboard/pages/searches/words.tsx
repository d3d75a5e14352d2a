import type { Child, FC } from "hono/jsx";
import { figure } from "../../../../base/words.ts";
import type { CountedSearch } from "../../../api/docs/searches.ts";
import { State } from "../../parts/panel.tsx";
import { type Asked, wholeQuery } from "../search/address.ts";

export const SEARCHES_AT = "/searches";

export type SearchAlertView = NonNullable<CountedSearch["alert"]>;

/** The form that saves this search. */
export function savingPath(asked: Asked): string {
  return `${SEARCHES_AT}/new?${new URLSearchParams({ query: wholeQuery(asked) })}`;
}

/** What a measure is called in a form; "": there is no alert. */
export const MEASURES: { readonly [op in "" | SearchAlertView["measure"]["op"]]: string } = {
  "": "nothing, only save it",
  count: "number of records",
  sum: "sum of a field",
  avg: "average of a field",
  min: "smallest of a field",
  max: "largest of a field",
  p50: "median of a field",
  p90: "p90 of a field",
  p95: "p95 of a field",
  p99: "p99 of a field",
};

/** `5m` as `5 min`. */
export function spanWords(text: string): string {
  return text.replace(/^(\d+)m$/, "$1 min").replace(/^(\d+)h$/, "$1 h");
}

/** `at least 10 records in 5 min`, `no records in 1 h`, `p95 of took below 9 in 1 h, for 5 min`. */
export function alertWords({ measure: { op, of }, threshold, when, over, for: long }: SearchAlertView): string {
  const isBelow = when === "below";
  const bound = `${isBelow ? "below" : "at least"} ${figure(threshold)}`;
  const records = isBelow && threshold === 1 ? "no records" : `${bound} ${threshold === 1 ? "record" : "records"}`;
  const what = op === "count" ? `${records}${of === undefined ? "" : ` with ${of}`}` : `${op} of ${of ?? ""} ${bound}`;
  return `${what} in ${spanWords(over)}${long === "0m" ? "" : `, for ${spanWords(long)}`}`;
}

/** Where an alert stands. */
export const Standing: FC<{ of: CountedSearch }> = ({ of: { alert, counts } }): Child => {
  if (alert === null || counts === null) return <span class="quiet">no alert</span>;
  const value = counts.value === null ? "no value" : figure(counts.value);
  if (counts.standing === "unknown") return <State kind="quiet">{value}, not known yet</State>;
  return counts.standing === "well" ? (
    <State kind="ok">{value}</State>
  ) : (
    <State kind={alert.severity === "error" ? "bad" : "warn"}>{value}, past its threshold</State>
  );
};
