import { cut, toBase64Url } from "../../../../base/bytes.ts";
import { CODE, oneError } from "../../../../base/errors.ts";
import { DATASETS } from "../../../../formats/record/fields.ts";
import { parseLogpullOptions } from "../../../../ship/job/output-rules.ts";
import { controlPlane, type StoredJob } from "../../../../state/control/plane.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { firstEntry } from "../../parts/destination-entry.ts";
import { minuteOf, timeEntered } from "../../parts/entered-time.ts";
import { may } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import type { AccountLedgerView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import type { ShippingBody } from "./body.ts";
import { begun, originOfJob } from "./destination.tsx";
import { loadFields } from "./fields.ts";
import { type Filled, JobForm, type JobOrigin, pressed, refused, type Said } from "./job-form.tsx";

const needs = { permission: "logs:edit" } as const;

export const createPages: readonly Page[] = [{ path: "/jobs/new", get: { ...needs, show }, post: { ...needs, take } }];

/** Defaults of a new job. */
const NEW_BODY: ShippingBody = { dataset: DATASETS[0], enabled: true };

/** Longest name of a job, in UTF-16 units: see src/ship/job/job-schema.ts. */
const NAME_MAX = 512;
const COPY = " (copy)";

/** The field with the id of a form, which is sent once. */
const FORM_FIELD = "form";
const FORM_ID = /^[A-Za-z0-9_-]{22}$/;

async function show(page: PageContext): Promise<View> {
  const origin = await originOf(page);
  return view(page, origin, { body: origin.body, entered: begun(page, origin) }, {});
}

/** Creates the job, or shows the form again with all that was entered. */
async function take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const origin = await originOf(page);
  const { said, ...filled } = await pressed(page, form, origin);
  if (said !== null) return view(page, origin, filled, said);
  const id = form.get(FORM_FIELD) ?? "";
  if (FORM_ID.test(id) && !(await controlPlane(page.env.CONTROL).isFirstSent(id)))
    return view(page, origin, filled, { status: 409 });
  const { conf, proof } = filled.entered;
  const { since } = filled.body;
  const answer = await page.api.send<JobView>("POST", "/logship/jobs", {
    ...filled.body,
    ...(since !== undefined && { since: timeEntered(since) }),
    // An incomplete destination is refused, with whatever else is wrong.
    destination_conf: conf ?? "",
    ...(proof.token !== null && { ownership_challenge: proof.token }),
  });
  if (answer.ok) return created(page, answer.result.id);
  // The job is stored, and takes effect within a minute: another try would create a second one.
  const stored =
    answer.status === 503 ? /^job (\d+) is stored\b/.exec(answer.errors[0]?.message ?? "")?.[1] : undefined;
  if (stored !== undefined) return created(page, Number(stored));
  const { said: why, ...again } = refused(filled, answer);
  return view(page, origin, again, why);
}

/** To the page of the job, or back here for a viewer without `logs:read`. */
function created({ viewer }: PageContext, id: number): Response {
  return seeOther(may(viewer, "logs:read") ? `/jobs/${id}?created` : `/jobs/new?created=${id}`);
}

/** @throws ApiError 404 for a copy of a job that is not there. */
async function originOf(page: PageContext): Promise<JobOrigin> {
  const { config, query } = page;
  const from = query.get("from");
  const [fields, keptSince] = await Promise.all([loadFields(page), keptSinceOf(page)]);
  const shared = { what: "a new job", folder: "logs", fields, keptSince };
  if (from !== null) return { ...shared, ...(await copyOf(page, from)) };
  return { ...shared, body: NEW_BODY, fresh: firstEntry(config), stored: null };
}

/** The first full minute; null: nothing is kept, or the viewer may not know. */
async function keptSinceOf({ api, viewer }: PageContext): Promise<string | null> {
  if (!may(viewer, "logs:read")) return null;
  const answer = await api.send<AccountLedgerView>("GET", "/logship/ledger");
  const since = answer.ok ? answer.result.kept_since : null;
  return since === null ? null : minuteOf(Date.parse(since), Math.ceil);
}

/** What a copy of a job begins with. */
async function copyOf(page: PageContext, from: string): Promise<Pick<JobOrigin, "body" | "fresh" | "stored">> {
  const id = /^[1-9]\d{0,14}$/.test(from) ? Number(from) : null;
  const job: StoredJob | null = id === null ? null : await controlPlane(page.env.CONTROL).get(id);
  if (job === null) throw oneError(404, CODE.jobNotFound, "job not found");
  const name = cut(job.body.name || `job ${from}`, NAME_MAX - COPY.length) + COPY;
  // How the job's own dataset was spelled is nothing that a request may hold.
  const { spelled: _, ...body } = job.body as typeof job.body & ShippingBody;
  if (body.logpull_options) body.logpull_options = withoutSince(body.logpull_options);
  return { body: { ...body, name }, ...originOfJob(page, job) };
}

/** A copy starts now, as its form says. */
function withoutSince(options: string): string {
  const pairs = options.split("&");
  return pairs.filter((pair) => parseLogpullOptions(pair).since === undefined).join("&");
}

function view(page: PageContext, origin: JobOrigin, filled: Filled, said: Said): View {
  const { query } = page;
  const from = query.get("from");
  const done = /^\d{1,15}$/.exec(query.get("created") ?? "")?.[0];
  const { status = 200 } = said;
  return {
    title: "Create a job",
    status,
    parts: [
      done !== undefined && (
        <Notice kind="ok" title={`Job ${done} created`}>
          <p>Its page needs the permission logs:read.</p>
        </Notice>
      ),
      (status === 409 || status >= 500) && (
        <Notice kind="warn" title={status === 409 ? "This form was sent before" : "The job may exist anyway"}>
          <p>
            Check the <a href="/jobs">list of jobs</a> before you try again.
          </p>
        </Notice>
      ),
      <JobForm
        page={page}
        origin={origin}
        filled={filled}
        said={said}
        action={from === null ? "/jobs/new" : `/jobs/new?${new URLSearchParams({ from })}`}
        carried={
          <input type="hidden" name={FORM_FIELD} value={toBase64Url(crypto.getRandomValues(new Uint8Array(16)))} />
        }
        isNew
        failure="The job was not created, and nothing is stored"
        save="Create now"
        cancel="/jobs"
      />,
    ],
  };
}
