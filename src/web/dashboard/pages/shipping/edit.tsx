import type { FC } from "hono/jsx";
import { CODE, oneError } from "../../../../base/errors.ts";
import { UpdateJob } from "../../../../ship/job/job-schema.ts";
import { lossesOf } from "../../../../ship/job/losses.ts";
import { extraFieldsOf, readShipping } from "../../../../ship/job/rules.ts";
import { controlPlane, type StoredJob } from "../../../../state/control/plane.ts";
import { InnerFailure } from "../../inner-api.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Notice, Panel, Table } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { jobPath, jobTrail } from "../job/job-text.ts";
import { bodyOf, changes, digestOf, isEqual, type ShippingBody } from "./body.ts";
import { begun, type Entered, originOfJob } from "./destination.tsx";
import { loadFields } from "./fields.ts";
import { type Filled, JobForm, type JobOrigin, pressed, refused, type Said } from "./job-form.tsx";

export const editPages: readonly Page[] = [formPage("/jobs/:job_id/edit", "logs:edit", show, take)];

/** Digest of the job that the form was made from: a difference means that it changed meanwhile. */
const BASE_FIELD = "base";

/** What the viewer was told that a save takes away. */
const LOSSES_FIELD = "losses";

/** What only the page of a stored job says. */
interface SaidOfJob extends Said {
  /** Digest of the job when the form was first shown; by default, of the job as it is now. */
  base?: string;
  /** The job changed since the form was shown. */
  conflict?: boolean;
  /** What a save would take away, which was not done yet. */
  losses?: string;
  notice?: "saved" | "same" | undefined;
}

async function load(page: PageContext): Promise<{ job: JobView; stored: StoredJob; origin: JobOrigin }> {
  const [job, fields] = await Promise.all([page.api.get<JobView>(jobPath(page)), loadFields(page)]);
  const stored: StoredJob | null = await controlPlane(page.env.CONTROL).get(job.id);
  if (stored === null) throw oneError(404, CODE.jobNotFound, "job not found");
  return {
    job,
    stored,
    origin: { what: `job ${job.id}`, folder: "logs", body: bodyOf(job), fields, ...originOfJob(page, stored) },
  };
}

async function show(page: PageContext): Promise<PageAnswer> {
  const { job, origin } = await load(page);
  const notice = (["saved", "same"] as const).find((name) => page.query.has(name));
  return view(page, job, origin, { body: origin.body, entered: begun(page, origin) }, { notice });
}

async function take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const { job, stored, origin } = await load(page);
  const { said, ...filled } = await pressed(page, form, origin);
  const base = form.get(BASE_FIELD) ?? "";
  if (said !== null) return view(page, job, origin, filled, { ...said, base });
  if (base !== digestOf(job)) return view(page, job, origin, filled, { status: 409, conflict: true });
  const { entered } = filled;
  const { token } = entered.proof;
  const moved = isMoved(origin, entered) && {
    // An incomplete destination is refused, with whatever else is wrong.
    destination_conf: entered.conf ?? "",
    ...(token !== null && { ownership_challenge: token }),
  };
  const change = { ...changes(origin.body, filled.body), ...moved };
  const here = `/jobs/${job.id}/edit`;
  if (Object.keys(change).length === 0) return seeOther(`${here}?same`);
  const lost = lossesIn(filled.body, stored, page);
  const losses = lost.join("; ");
  if (losses !== "" && form.get(LOSSES_FIELD) !== losses) {
    const faults = lost.map((message) => ({ code: CODE.note, message }));
    return view(page, job, origin, filled, { base, losses, faults, title: "Not saved yet. Save anyway?" });
  }
  const answer = await page.api.send<JobView>("PUT", jobPath(page), change);
  if (answer.ok) return seeOther(`${here}?saved`);
  if (answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  const { said: why, ...again } = refused(filled, answer);
  return view(page, job, origin, again, why);
}

/** What a form takes away of what the job ships; one that will be refused takes nothing. */
function lossesIn(form: ShippingBody, { body, config }: StoredJob, page: PageContext): string[] {
  const sent = UpdateJob.safeParse(form);
  const extra = [...page.config.extraFields, ...extraFieldsOf(config)];
  const read = sent.success ? readShipping(sent.data, extra) : null;
  return read?.ok ? lossesOf({ ...config, enabled: body.enabled }, { ...read.value, enabled: form.enabled }) : [];
}

/** Whether the form has another destination than the job. An untouched one stays as it is. */
function isMoved({ fresh, stored }: JobOrigin, { entry, conf, faults }: Entered): boolean {
  return faults.paste !== undefined || (!isEqual(entry, fresh) && conf !== stored?.base);
}

function view(page: PageContext, job: JobView, origin: JobOrigin, filled: Filled, said: SaidOfJob): View {
  const { status = 200, base = digestOf(job), conflict = false, losses, notice } = said;
  return {
    title: `Edit ${job.name ? visible(job.name).slice(0, 120) : `job ${job.id}`}`,
    status,
    trail: jobTrail(job),
    parts: [
      notice === "saved" && (
        <Notice kind="ok" title="Saved">
          <p>Applies to every event accepted from now on.</p>
        </Notice>
      ),
      notice === "same" && <Notice kind="info" title="No changes" />,
      job.destination_conf === "" && (
        <Notice kind="bad" title="The stored destination cannot be decrypted">
          <p>
            Restore <code>SECRETS_KEY</code>, or enter the destination again.
          </p>
        </Notice>
      ),
      conflict && <Conflict job={job} {...filled} isMoved={isMoved(origin, filled.entered)} />,
      <JobForm
        page={page}
        origin={origin}
        filled={filled}
        said={said}
        action={`/jobs/${job.id}/edit`}
        carried={
          <>
            <input type="hidden" name={BASE_FIELD} value={base} />
            <input type="hidden" name={LOSSES_FIELD} value={losses} />
          </>
        }
        isNew={false}
        failure="Not saved"
        save={losses === undefined ? "Save" : "Save anyway"}
        cancel={`/jobs/${job.id}`}
      />,
    ],
  };
}

/** The differences between the stored job and the form. */
const Conflict: FC<Filled & { job: JobView; isMoved: boolean }> = ({ job, body, isMoved }) => {
  const stored = bodyOf(job);
  const rows = Object.entries(changes(stored, body)).map(([key, value]) => [
    <code>{key}</code>,
    <Value value={stored[key as keyof ShippingBody]} />,
    <Value value={value} />,
  ]);
  if (isMoved)
    rows.push([
      <code>destination_conf</code>,
      <Foreign text={job.destination_conf} max={500} />,
      <>as entered below</>,
    ]);
  return (
    <>
      <Notice kind="warn" title="Not saved: the job changed since you opened this form">
        <p>
          {rows.length === 0
            ? "The form matches what is stored now."
            : "Save again to overwrite the differences below."}{" "}
          <a href={`/jobs/${job.id}/edit`}>Reload the form</a>
        </p>
      </Notice>
      {rows.length > 0 && (
        <Panel id="differences" title="Differences">
          <Table
            caption="What is stored now, and what the form says"
            columns={["Key", "Stored now", "In the form"]}
            rows={rows}
          />
        </Panel>
      )}
    </>
  );
};

const Value: FC<{ value: unknown }> = ({ value }) =>
  value === undefined || value === null || value === "" ? (
    <span class="quiet">nothing</span>
  ) : (
    <Foreign as="code" text={typeof value === "string" ? value : JSON.stringify(value)} max={2_000} />
  );
