import type { FC } from "hono/jsx";
import type * as z from "zod";
import { plural } from "../../../../base/words.ts";
import type { Entry } from "../../../api/docs/set-aside.ts";

/** One entry, as listed. */
export type AsideView = z.infer<typeof Entry>;

export const AT = "/set-aside";

export const placeOf = (id: string): string => `${AT}/${encodeURIComponent(id)}`;

/** `40 events`, `17 records`: what the ledger counts. */
export function amountOf(entry: AsideView): string {
  return entry.kind === "message" ? plural(entry.events, "event") : plural(entry.records, "record");
}

export const Whence: FC<{ of: AsideView }> = ({ of }) =>
  of.kind === "message" ? (
    <>queue message</>
  ) : (
    <a href={`/jobs/${of.job}${of.rerun === undefined ? "" : "/replay"}`}>
      {of.kind === "object" ? "object" : "records"} of job {of.job}
      {of.rerun !== undefined && `, rerun ${of.rerun}`}
    </a>
  );
