import type { FC } from "hono/jsx";
import type { Message } from "../../../api/envelope.ts";
import { maskDestination } from "../../../destinations/parse.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther } from "../../page.ts";
import { termsOfConf } from "../../parts/destination-entry.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Form } from "../../parts/form.tsx";
import { Notice, Panel, Table } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { jobPath, jobTrail } from "../job/words.ts";
import { bodyOf, changes, DO_FIELD, digestOf, type ShippingBody } from "./body.ts";
import { DestinationForm } from "./destination-form.tsx";
import { type DestinationAsked, readDestination } from "./destination-read.ts";
import { askPreview, type Fields, loadFields, Refused, readForms } from "./flow.tsx";
import { OutputForm } from "./output-form.tsx";
import { PreviewPanel, type PreviewView } from "./preview-panel.tsx";
import { RecordsForm } from "./records-form.tsx";

export const editPages: readonly Page[] = [
  {
    path: "/jobs/:job_id/edit",
    get: { permission: "logs:edit", show: showEdit },
    post: { permission: "logs:edit", take: takeEdit },
  },
];

/** Digest of the job that the form was made from: a difference means that it changed meanwhile. */
const BASE_FIELD = "base";

/** The job, and what its form holds. */
interface Edited {
  job: JobView;
  fields: Fields;
  body: ShippingBody;
  destination: DestinationAsked | null;
}

/** What the page says beside the form. */
interface Said {
  status?: number;
  faults?: readonly ErrorEntry[];
  /** Digest of the job when the form was first shown; by default, of the job as it is now. */
  base?: string;
  /** The job changed since the form was shown. */
  conflict?: boolean;
  preview?: PreviewView;
  notes?: readonly Message[];
  notice?: "saved" | "same" | undefined;
}

async function loadJob(page: PageContext): Promise<[JobView, Fields]> {
  return Promise.all([page.api.get<JobView>(jobPath(page)), loadFields(page)]);
}

async function showEdit(page: PageContext): Promise<PageAnswer> {
  const [job, fields] = await loadJob(page);
  const notice = (["saved", "same"] as const).find((name) => page.query.has(name));
  return editView(page, { job, fields, body: bodyOf(job), destination: null }, { notice });
}

async function takeEdit(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const [job, fields] = await loadJob(page);
  const before = bodyOf(job);
  const { body, again } = readForms(form, before);
  const destination = readDestination(form, job.destination_conf, page.config);
  const show = (said: Said): PageAnswer => editView(page, { job, fields, body, destination }, said);
  const base = form.get(BASE_FIELD) ?? "";
  if (again) return show({ base });
  if (form.get(DO_FIELD) === "preview") {
    const answer = await askPreview(page, body, maskDestination(destination.conf ?? job.destination_conf));
    return show({ base, ...(answer.ok ? { preview: answer.result, notes: answer.messages } : refused(answer)) });
  }
  if (base !== digestOf(job)) return show({ status: 409, conflict: true });
  const { conf, challenge, faults } = destination;
  if (faults.length > 0) return show({ status: 400, faults });
  const change = {
    ...changes(before, body),
    ...(conf !== null && { destination_conf: conf, ...(challenge !== null && { ownership_challenge: challenge }) }),
  };
  const here = `/jobs/${job.id}/edit`;
  if (Object.keys(change).length === 0) return seeOther(`${here}?same`);
  const answer = await page.api.send<JobView>("PUT", jobPath(page), change);
  return answer.ok ? seeOther(`${here}?saved`) : show(refused(answer));
}

/** @throws InnerFailure unless it is a 400. */
function refused({ status, errors }: { status: number; errors: readonly ErrorEntry[] }): Said {
  if (status !== 400) throw new InnerFailure(status, errors);
  return { status, faults: errors };
}

function editView({ viewer, config, nowMs }: PageContext, edited: Edited, said: Said): PageAnswer {
  const { job, fields, body, destination } = edited;
  const { status = 200, faults = [], base = digestOf(job), conflict = false, preview, notes = [], notice } = said;
  const terms = termsOfConf(destination?.conf ?? job.destination_conf, config.destinations);
  return {
    title: `Edit ${job.name ? visible(job.name).slice(0, 120) : `job ${job.id}`}`,
    status,
    section: "jobs",
    trail: jobTrail(job),
    parts: [
      notice === "saved" && (
        <Notice kind="ok" title="Saved">
          <p>Applies to every event accepted from now on.</p>
        </Notice>
      ),
      notice === "same" && <Notice kind="info" title="No changes" />,
      <Refused faults={faults} />,
      conflict && <Conflict {...edited} />,
      <Form viewer={viewer} action={`/jobs/${job.id}/edit`} label="Edit the job">
        <input type="hidden" name={BASE_FIELD} value={base} />
        <Panel id="records" title="Records">
          <p class="quiet">A change applies to events accepted after saving, and to those still in the queue.</p>
          <RecordsForm body={body} fields={fields} faults={faults} terms={terms} />
        </Panel>
        <Panel id="output" title="Output">
          <OutputForm body={body} faults={faults} terms={terms} />
        </Panel>
        <Panel id="destination" title="Destination">
          <p class="quiet">
            A new destination is tested before it is saved, and applies to everything not yet delivered.
          </p>
          <DestinationForm
            masked={job.destination_conf}
            asked={destination}
            faults={faults}
            config={config}
            nowMs={nowMs}
          />
        </Panel>
        <div class="actions save">
          <button type="submit" class="primary" name={DO_FIELD} value="save">
            Save
          </button>
          <button type="submit" name={DO_FIELD} value="preview" formaction="#preview">
            Preview
          </button>
          <a href={`/jobs/${job.id}`}>Cancel</a>
        </div>
      </Form>,
      preview !== undefined && <PreviewPanel preview={preview} body={body} notes={notes} />,
    ],
  };
}

/** The differences between the stored job and the form. */
const Conflict: FC<Edited> = ({ job, body, destination }) => {
  const stored = bodyOf(job);
  const rows = Object.entries(changes(stored, body)).map(([key, value]) => [
    <code>{key}</code>,
    <Value value={stored[key as keyof ShippingBody]} />,
    <Value value={value} />,
  ]);
  if (destination?.conf != null)
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
            columns={[{ label: "Key" }, { label: "Stored now" }, { label: "In the form" }]}
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
    <code>
      <Foreign text={typeof value === "string" ? value : JSON.stringify(value)} max={2_000} />
    </code>
  );
