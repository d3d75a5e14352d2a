import type { FC } from "hono/jsx";
import { plural } from "../../parts/values.tsx";

interface EntryView {
  id: string;
  set_aside_at: string;
  why: string;
  bytes: number;
  resendable: boolean;
  why_not: string | null;
}

export type MessageView = EntryView & {
  kind: "message";
  taken_in: string | null;
  queue: string;
  events: number;
};

export type ObjectView = EntryView & {
  kind: "object";
  job: number;
  number: number;
  key: string;
  records: number;
};

/** One entry, as listed. */
export type AsideView = MessageView | ObjectView;

export const AT = "/set-aside";
export const TRAIL = [{ href: AT, label: "Set aside" }] as const;

export const placeOf = (id: string): string => `${AT}/${encodeURIComponent(id)}`;

/** `40 events`, `17 records`: what the ledger counts. */
export function amountOf(entry: AsideView): string {
  return entry.kind === "message" ? plural(entry.events, "event") : plural(entry.records, "record");
}

export const Whence: FC<{ of: AsideView }> = ({ of }) =>
  of.kind === "message" ? <>queue message</> : <a href={`/jobs/${of.job}`}>object of job {of.job}</a>;
