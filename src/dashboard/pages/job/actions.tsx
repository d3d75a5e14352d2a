import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Form } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import { count, plural } from "../../parts/values.tsx";
import type { JobView, LedgerView } from "../../views/job.ts";
import { shortNameOf } from "./words.ts";

const needs = { permission: "logs:edit" } as const;

/** What is done to a job with one button. */
export const actionPages: readonly Page[] = [
  { path: "/jobs/:job_id/flush", post: { ...needs, take: flush } },
  { path: "/jobs/:job_id/enabled", post: { ...needs, take: setEnabled } },
  { path: "/jobs/:job_id/delete", get: { ...needs, show: deleteView }, post: { ...needs, take: remove } },
];

/** Below `/logship/jobs`; whatever is no id, the API says so. */
export function jobPath({ params }: Pick<PageContext, "params">): string {
  return `/logship/jobs/${encodeURIComponent(params.job_id ?? "")}`;
}

/** @throws InnerFailure for a refusal. */
async function done<T>(page: PageContext, method: string, path: string, body?: unknown, query = {}): Promise<T> {
  const answer = await page.api.send<T>(method, path, body, query);
  if (!answer.ok) throw new InnerFailure(answer.status, answer.errors);
  return answer.result;
}

async function flush(page: PageContext): Promise<PageAnswer> {
  const result = await done<{ id: number; pending_objects: number }>(page, "POST", `${jobPath(page)}/flush`);
  return seeOther(`/jobs/${result.id}?flushed=${result.pending_objects}`);
}

async function setEnabled(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const enabled = form.get("enabled") === "true";
  const { id } = await done<JobView>(page, "PUT", jobPath(page), { enabled });
  return seeOther(`/jobs/${id}?${enabled ? "resumed" : "paused"}`);
}

async function deleteView(page: PageContext): Promise<View> {
  const { api, viewer } = page;
  const job = await api.get<JobView>(jobPath(page));
  const answer = await api.send<LedgerView>("GET", `${jobPath(page)}/ledger`);
  const pending = answer.ok ? answer.result.pending : null;
  const name = job.name === null || job.name.trim() === "" ? `job ${job.id}` : job.name;
  const action = `/jobs/${job.id}/delete`;
  return {
    title: `Delete ${name}`,
    section: "jobs",
    trail: [
      { href: "/jobs", label: "Jobs" },
      { href: `/jobs/${job.id}`, label: shortNameOf(job) },
    ],
    parts: [
      <>
        <Panel id="what" title="What it means">
          <ul>
            <li>The job is gone from the list at once, takes nothing new, and cannot be brought back.</li>
            <li>What is in the bucket stays there.</li>
            <li>Its ledger, health, list of objects and replays can no longer be asked for.</li>
            <li>
              {pending === null
                ? "How much waits cannot be told at the moment."
                : pending === 0
                  ? "Nothing waits to be delivered."
                  : `${plural(pending, "record")} ${pending === 1 ? "waits" : "wait"} to be delivered.`}
            </li>
          </ul>
        </Panel>
        <Panel id="deliver" title="Deliver what waits, then it is gone">
          <p>Deleting delivers what is waiting first, in the background; the list of jobs shows it until it is done.</p>
          <Form viewer={viewer} action={action}>
            <button type="submit" class="danger">
              Delete the job
            </button>
          </Form>
        </Panel>
        {pending !== 0 && (
          <Panel id="discard" title="Or drop what waits">
            <p>
              {pending === null ? "Whatever waits is" : `${plural(pending, "record")} ${pending === 1 ? "is" : "are"}`}{" "}
              lost for good, and counted as discarded.
            </p>
            <Form viewer={viewer} action={action}>
              <input type="hidden" name="discard" value="true" />
              <button type="submit" class="danger">
                {pending === null
                  ? "Delete the job and drop what waits"
                  : `Delete the job and drop ${count(pending)} ${pending === 1 ? "record" : "records"}`}
              </button>
            </Form>
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
  const { id } = await done<{ id: number }>(page, "DELETE", jobPath(page), undefined, discard ? { discard } : {});
  return seeOther(`/jobs?deleted=${id}${discard ? "&discarded" : ""}`);
}
