import type { Child, FC } from "hono/jsx";
import { quoted } from "../../../../formats/query/show.ts";
import { recordPath } from "../../../../operate/alerts/link.ts";
import type { ProblemRecord } from "../../../api/docs/function-health.ts";
import type { Problem } from "../../../api/docs/problems.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { State } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import { searchPath } from "../search/address.ts";

/** `TypeError: no order #`. */
export function errorText({ name, message }: Pick<Problem, "name" | "message">): string {
  return message === "" ? name : `${name}: ${message}`;
}

/** What people call a version: its tag, or the beginning of its id. */
export function versionName(version: string, tag: string | undefined): string {
  return tag || version.slice(0, 8);
}

/** What is special about a problem. */
export const Marks: FC<{ of: Problem; tags?: ReadonlyMap<string, string> }> = ({ of, tags }) => (
  <>
    {of.regressed && <State kind="bad">regressed</State>} {of.new && <State kind="info">new</State>}{" "}
    {of.only_version !== null && (
      <span class="quiet">
        only in version <Foreign text={versionName(of.only_version, tags?.get(of.only_version))} max={60} />
      </span>
    )}
  </>
);

export const ProblemState: FC<{ of: Problem; nowMs: number }> = ({ of, nowMs }): Child => {
  if (of.state === "resolved") return <State kind="ok">resolved</State>;
  if (of.state === "open") return <State kind="warn">open</State>;
  return (
    <State kind="quiet">
      ignored{of.ignored_until !== null && ", ends "}
      {of.ignored_until !== null && <Ago at={of.ignored_until} nowMs={nowMs} />}
    </State>
  );
};

/** The search for a record of a problem. */
export function pathTo({ script, event_timestamp_ms: atMs, ray_id: rayId }: ProblemRecord): string {
  return recordPath({ script, atMs, rayId });
}

/** A time of a problem that leads to its record. @param about says which, for screen readers. */
export const RecordLink: FC<{ to: ProblemRecord; at: string; nowMs: number; about: string }> = (props) => {
  return (
    <a href={pathTo(props.to)}>
      <Ago at={props.at} nowMs={props.nowMs} />
      <span class="unseen">: {props.about}</span>
    </a>
  );
};

/** A masked value, and room for one. */
const MASKED = /[^\p{L}\p{N} ]*#[^\p{L}\p{N} ]*/u;

/** The query that finds the records of a problem, and maybe some more: values are masked in it. */
export function recordsQuery({ name, message }: Pick<Problem, "name" | "message">): string {
  const status = /^HTTP (\d{3})$/.exec(name)?.[1];
  if (status !== undefined) return `status:${status}`;
  const pieces = message.split(MASKED).map((piece) => piece.replace(/…$/, "").trim());
  const longest = pieces.reduce((best, piece) => (piece.length > best.length ? piece : best), "");
  return [name, longest]
    .filter((text) => text !== "")
    .map(quoted)
    .join(" ");
}

/** The search for the records of a problem of the last day. */
export function recordsPath(of: Pick<Problem, "worker" | "name" | "message">): string {
  return searchPath({ q: recordsQuery(of), function: of.worker.toWellFormed(), last: "24h" });
}
