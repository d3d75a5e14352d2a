import { plural } from "../../../../base/words.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Action } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { asking, type Question } from "../../parts/question.tsx";
import type { JobView, LedgerView } from "../../views/job.ts";
import { jobPath, jobTrail, nameOf } from "./job-text.ts";

const needs = { permission: "logs:edit" } as const;

/** Flush, pause, resume and delete. */
export const actionPages: readonly Page[] = [
  { path: "/jobs/:job_id/flush", post: { ...needs, take: flush } },
  { path: "/jobs/:job_id/enabled", post: { ...needs, take: asking(["enabled"], losesEvents, setEnabled) } },
  { path: "/jobs/:job_id/delete", get: { ...needs, show: deleteView }, post: { ...needs, take: remove } },
];

async function flush(page: PageContext): Promise<PageAnswer> {
  const path = `${jobPath(page)}/flush`;
  const { id, pending_objects } = await page.api.change<{ id: number; pending_objects: number }>("POST", path);
  return seeOther(`/jobs/${id}?flushed=${pending_objects}`);
}

async function losesEvents({ api, params }: PageContext, form: URLSearchParams): Promise<Question | null> {
  if (form.get("enabled") === "true") return null;
  const job = await api.get<JobView>(jobPath({ params }));
  const text =
    "Events that arrive while the job is paused are not shipped, unless you rerun it for that time while the log keeps them. It still delivers what it has.";
  const about = { trail: jobTrail(job), back: `/jobs/${job.id}`, label: "Pause" } as const;
  return { title: `Pause ${nameOf(job)}`, ...about, parts: [<p>{text}</p>] };
}

async function setEnabled(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const enabled = form.get("enabled") === "true";
  const { id } = await page.api.change<JobView>("PUT", jobPath(page), { enabled });
  return seeOther(`/jobs/${id}?${enabled ? "resumed" : "paused"}`);
}

async function deleteView(page: PageContext): Promise<View> {
  const { api, viewer } = page;
  const job = await api.get<JobView>(jobPath(page));
  const answer = await api.send<LedgerView>("GET", `${jobPath(page)}/ledger`);
  const pending = answer.ok ? answer.result.pending : null;
  const shared = { viewer, action: `/jobs/${job.id}/delete`, needs: "logs:edit", kind: "danger" } as const;
  return {
    title: `Delete ${nameOf(job)}`,
    trail: jobTrail(job),
    parts: [
      <>
        <Panel id="what" title="What happens">
          <ul>
            <li>The job takes no new events. You cannot restore it.</li>
            <li>Delivered objects stay where they are.</li>
            <li>logship no longer shows its ledger, health, objects and replays.</li>
            {pending !== 0 && (
              <li>{pending === null ? "Waiting records: unknown." : `${plural(pending, "record")} waiting.`}</li>
            )}
          </ul>
        </Panel>
        <Panel id="deliver" title={pending === 0 ? "Delete" : "Deliver, then delete"}>
          <p>{pending === 0 ? "No record is waiting." : "logship delivers waiting records in the background first."}</p>
          <Action {...shared} label="Delete the job" />
        </Panel>
        {pending !== 0 && (
          <Panel id="discard" title="Discard and delete">
            <p>
              {pending === null ? "All waiting records are" : `${plural(pending, "record")} will be`} lost and counted
              as discarded.
            </p>
            <Action
              {...shared}
              label={`Delete the job and discard ${pending === null ? "waiting records" : plural(pending, "record")}`}
              fields={{ discard: "true" }}
            />
          </Panel>
        )}
        <p>
          <a href={`/jobs/${job.id}`}>Keep the job</a>
        </p>
      </>,
    ],
  };
}

async function remove(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const discard = form.get("discard") === "true";
  const path = `${jobPath(page)}${discard ? "?discard=true" : ""}`;
  const { id } = await page.api.change<{ id: number }>("DELETE", path);
  return seeOther(`/jobs?deleted=${id}${discard ? "&discarded" : ""}`);
}
