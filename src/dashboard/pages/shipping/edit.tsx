import type { ErrorEntry } from "../../../errors.ts";
import { DATASETS } from "../../../record/fields.ts";
import { type InnerAnswer, InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther } from "../../page.ts";
import { visible } from "../../parts/foreign.tsx";
import { Notice } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { shortNameOf } from "../job/words.ts";
import { DO_FIELD, type ShippingBody } from "./body.ts";
import { type DestinationAsked, readDestination } from "./destination-read.ts";
import { bodyOf, changes, digestOf } from "./edit-change.ts";
import { BASE_FIELD, Conflict, EditForm, Refused } from "./edit-form.tsx";
import { readOutputForm } from "./output-form.tsx";
import { PreviewPanel, type PreviewView } from "./preview-panel.tsx";
import { readRecordsForm } from "./records-form.tsx";

export const editPages: readonly Page[] = [
  {
    path: "/jobs/:job_id/edit",
    get: { permission: "logs:edit", show: showEdit },
    post: { permission: "logs:edit", take: takeEdit },
  },
];

/** What a form asks for. */
interface Asked {
  body: ShippingBody;
  destination: DestinationAsked | null;
}

/** What there is to be said of it, and what goes with it. */
interface Said {
  status?: number;
  faults?: readonly ErrorEntry[];
  /** Of the job when the form was first shown; that of now by default. */
  base?: string;
  /** Somebody changed the job meanwhile. */
  conflict?: boolean;
  preview?: PreviewView;
  notice?: "saved" | "same" | undefined;
}

type Fields = Readonly<Record<string, string>>;

async function readJob({ api, params }: PageContext): Promise<[JobView, Fields]> {
  return Promise.all([api.get<JobView>(jobPath(params)), api.get<Fields>(`/logship/datasets/${DATASETS[0]}/fields`)]);
}

const jobPath = (params: PageContext["params"]) => `/logship/jobs/${encodeURIComponent(params.job_id ?? "")}`;

async function showEdit(page: PageContext): Promise<PageAnswer> {
  const [job, fields] = await readJob(page);
  const notice = (["saved", "same"] as const).find((name) => page.query.has(name));
  return editView(page, job, fields, { body: bodyOf(job), destination: null }, { notice });
}

async function takeEdit(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const [job, fields] = await readJob(page);
  const before = bodyOf(job);
  const records = readRecordsForm(form, before);
  const { body } = readOutputForm(form, records.body);
  const asked: Asked = { body, destination: readDestination(form, job.destination_conf) };
  const show = (said: Said): PageAnswer => editView(page, job, fields, asked, said);
  const base = form.get(BASE_FIELD) ?? "";
  if (records.again) return show({ base });
  if (form.get(DO_FIELD) === "preview") return show({ base, ...(await previewOf(page, body)) });
  if (base !== digestOf(job)) return show({ status: 409, conflict: true });
  const { conf, challenge, faults } = asked.destination ?? { conf: null, challenge: null, faults: [] };
  if (faults.length > 0) return show({ status: 400, faults });
  const change = {
    ...changes(before, body),
    ...(conf !== null && { destination_conf: conf, ...(challenge !== null && { ownership_challenge: challenge }) }),
  };
  const here = `/jobs/${job.id}/edit`;
  if (Object.keys(change).length === 0) return seeOther(`${here}?same`);
  const answer: InnerAnswer<JobView> = await page.api.send("PUT", jobPath(page.params), change);
  if (answer.ok) return seeOther(`${here}?saved`);
  if (answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  return show({ status: 400, faults: answer.errors });
}

async function previewOf({ api }: PageContext, body: ShippingBody): Promise<Said> {
  const { filter = null, output_options = null, logpull_options = null } = body;
  const answer = await api.send<PreviewView>("POST", "/logship/preview", { filter, output_options, logpull_options });
  if (answer.ok) return { preview: answer.result };
  if (answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  return { status: 400, faults: answer.errors };
}

function editView({ viewer }: PageContext, job: JobView, fields: Fields, asked: Asked, said: Said): PageAnswer {
  const { status = 200, faults = [], base = digestOf(job), conflict = false, preview, notice } = said;
  const name = job.name ? visible(job.name).slice(0, 120) : `job ${job.id}`;
  return {
    title: `Edit ${name}`,
    status,
    section: "jobs",
    trail: [
      { href: "/jobs", label: "Jobs" },
      { href: `/jobs/${job.id}`, label: shortNameOf(job) },
    ],
    parts: [
      notice === "saved" && (
        <Notice kind="ok" title="Saved">
          <p>It is in force for every event that is accepted from now on.</p>
        </Notice>
      ),
      notice === "same" && (
        <Notice kind="info" title="Nothing was different">
          <p>The job is as it was.</p>
        </Notice>
      ),
      faults.length > 0 && <Refused faults={faults} />,
      conflict && (
        <Conflict job={job} changes={changes(bodyOf(job), asked.body)} destination={asked.destination?.conf != null} />
      ),
      <EditForm viewer={viewer} job={job} base={base} fields={fields} faults={faults} {...asked} />,
      preview !== undefined && <PreviewPanel preview={preview} body={asked.body} />,
    ],
  };
}
