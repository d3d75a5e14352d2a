import type { FC, PropsWithChildren } from "hono/jsx";
import { controlPlane, type StoredJob } from "../../../control/plane.ts";
import { splitConf } from "../../../destinations/conf.ts";
import { buildDestination, type DestinationEntry, entryOf } from "../../../destinations/entry.ts";
import { maskDestination } from "../../../destinations/parse.ts";
import { CODE, oneError } from "../../../errors.ts";
import { destinationPurpose, unseal } from "../../../job/secrets.ts";
import { DRAFTS_OF_OWNER_MAX } from "../../../limits.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { localEntry, newEntry } from "../../parts/destination-entry.ts";
import { coded, formsOf, GROUPS } from "../../parts/destination-fields.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Notice, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { ShippingBody } from "../shipping/body.ts";
import {
  type Draft,
  type Kept,
  listDrafts,
  newDraft,
  newDraftId,
  requireDraft,
  STEPS,
  saveDraft,
  takeDraft,
} from "./draft.ts";
import { firstOpen, stepPath } from "./steps.tsx";

/** Defaults of a new job. */
const NEW_BODY: ShippingBody = { dataset: "functions_trace_events", enabled: true };

/** Longest name of a job, in UTF-16 units: see src/job/schema.ts. */
const NAME_MAX = 512;
const COPY = " (copy)";
const UNNAMED = "Unnamed draft";

/** The kinds of store to begin with, and the unfinished drafts. */
export async function showStart(page: PageContext): Promise<View> {
  const { viewer, nowMs, config, query } = page;
  const created = /^\d{1,15}$/.exec(query.get("created") ?? "")?.[0];
  const drafts = await listDrafts(page);
  return {
    title: "Create a job",
    section: "jobs",
    trail: [{ href: "/jobs", label: "Jobs" }],
    parts: [
      created === undefined ? null : (
        <Notice kind="ok" title={`Job ${created} created`}>
          <p>Its page needs the permission logs:read.</p>
        </Notice>
      ),
      <Panel id="begin" title="Choose a destination">
        <p>A job ships the trace events of your functions to one destination. For several, create a job each.</p>
        {localEntry(config) !== null && (
          <>
            <h3>Local development</h3>
            <div class="choices">
              <Choice viewer={viewer} kind="local" name="Local bucket" label="Use the local bucket">
                To try things out.
              </Choice>
            </div>
          </>
        )}
        {GROUPS.map(({ group, title, words }) => (
          <>
            <h3>{title}</h3>
            <p class="quiet">{words}</p>
            <div class="choices">
              {formsOf(group).map(({ id, name, about }) => (
                <Choice viewer={viewer} kind={id} name={name}>
                  {coded(about)}
                </Choice>
              ))}
            </div>
          </>
        ))}
      </Panel>,
      drafts.length === 0 ? null : (
        <Panel id="drafts" title="Drafts">
          <Drafts drafts={drafts} page={page} nowMs={nowMs} />
        </Panel>
      ),
    ],
  };
}

const Choice: FC<PropsWithChildren<{ viewer: Viewer; kind: string; name: string; label?: string }>> = ({
  viewer,
  kind,
  name,
  label,
  children,
}) => (
  <div>
    <h4>{name}</h4>
    <p>{children}</p>
    <Action
      viewer={viewer}
      action="/jobs/new"
      label={label ?? "Choose"}
      {...(label === undefined && { about: name })}
      needs="logs:edit"
      kind="small"
      fields={{ kind }}
    />
  </div>
);

/** Where an entry leads, without its parameters; "": it does not say yet. */
function shortOf(entry: DestinationEntry): string {
  const conf = buildDestination(entry);
  if (!conf.ok || splitConf(conf.value)?.authority === "") return "";
  return maskDestination(conf.value).split("?", 1)[0] ?? "";
}

const Drafts = ({ drafts, page: { viewer }, nowMs }: { drafts: readonly Kept[]; page: PageContext; nowMs: number }) => (
  <>
    <Table
      caption="Drafts"
      columns={[
        { label: "Draft" },
        { label: "Destination" },
        { label: "Step" },
        { label: "Changed" },
        { label: "Action" },
      ]}
      rows={drafts.map(({ id, draft, changedMs }) => {
        const step = firstOpen(draft);
        const { name } = draft.body;
        const isNamed = name != null && name !== "";
        const about = `${isNamed ? visible(name.slice(0, 80)) : UNNAMED} (${id.slice(0, 6)})`;
        return [
          <a href={stepPath(id, step)}>
            {isNamed ? <Foreign text={name} max={120} /> : UNNAMED}
            <span class="unseen"> ({id.slice(0, 6)})</span>
          </a>,
          <Foreign text={shortOf(draft.destination)} max={120} />,
          STEPS.find((each) => each.name === step)?.label ?? "",
          <Ago at={changedMs} nowMs={nowMs} />,
          <Action
            viewer={viewer}
            action={`/jobs/new/${id}/discard`}
            label="Discard"
            about={about}
            needs="logs:edit"
            kind="small"
          />,
        ];
      })}
    />
    <p class="quiet">
      Only you see them. The newest {DRAFTS_OF_OWNER_MAX} are kept, each for a week after its last change.
    </p>
  </>
);

export async function takeStart(page: PageContext, form: URLSearchParams): Promise<Response> {
  const { config } = page;
  const kind = form.get("kind");
  const local = kind === "local" ? localEntry(config) : null;
  return begun(page, local ?? newEntry(kind ?? "", config), NEW_BODY, {});
}

async function begun(
  page: PageContext,
  destination: DestinationEntry,
  body: ShippingBody,
  more: Partial<Draft>,
): Promise<Response> {
  const id = newDraftId();
  await saveDraft(page, id, { ...newDraft(destination, body), ...more });
  return seeOther(stepPath(id, "destination"));
}

export async function showDraft(page: PageContext): Promise<Response> {
  const { id, draft } = await requireDraft(page);
  return seeOther(stepPath(id, firstOpen(draft)));
}

export async function discardDraft(page: PageContext): Promise<PageAnswer> {
  await takeDraft(page);
  return seeOther("/jobs/new");
}

/**
 * Makes a draft from a stored job. The keys are encrypted again in the draft, for the same store
 * only.
 * @throws ApiError 404
 */
export async function duplicate(page: PageContext): Promise<Response> {
  const { config, env, params } = page;
  const id = /^[1-9]\d{0,14}$/.test(params.job_id ?? "") ? Number(params.job_id) : null;
  const job: StoredJob | null = id === null ? null : await controlPlane(env.CONTROL).get(id);
  if (job === null) throw oneError(404, CODE.jobNotFound, "job not found");
  const conf = unseal(job.config.destination, destinationPurpose(config.accountId), config.keys);
  const entry = conf === null ? null : entryOf(conf, config.destinations);
  const destination = entry?.ok === true ? entry.value : newEntry("", config);
  const before = job.body.name == null || job.body.name === "" ? `job ${id}` : job.body.name;
  const name = cut(before, NAME_MAX - COPY.length) + COPY;
  // The stored job is valid.
  const done: Draft["done"] = ["records", "output"];
  // How the job's own dataset was spelled is nothing that a request may hold.
  const { spelled: _, ...body } = job.body;
  return begun(page, destination, { ...(body as ShippingBody), name }, { keysOfJob: true, done });
}

/** Never cuts a surrogate pair. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, "");
}
