import type { Child } from "hono/jsx";
import {
  buildDestination,
  type DestinationEntry,
  entryOf,
  missingOf,
  requireForm,
  sharesSecrets,
} from "../../../destinations/entry.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { enteredPurpose, seal, unseal } from "../../../job/secrets.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import {
  type EntryFaults,
  faultsOf as faultsOfEntry,
  newEntry,
  StoredEntry,
  sentEntry,
  withKeptSecrets,
} from "../../parts/destination-entry.ts";
import { DestinationFields, Guarantee, Kinds, PasteForm } from "../../parts/destination-fields.tsx";
import { faultsOf, RestOf } from "../../parts/faults.tsx";
import { Form } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import type { EstimateView, JobView } from "../../views/job.ts";
import { isOfStore } from "../create/advice.ts";
import { NotValid, Outcome, testOf, WhatTestDoes } from "../create/destination.tsx";
import { ownerOf, type Tested } from "../create/draft.ts";
import {
  AllowDuplicates,
  Count,
  confirmedIn,
  counted,
  type Span,
  sendBegin,
  spanIn,
  spanQuery,
  Token,
} from "./replay-begin.tsx";
import { jobPath, jobTrail } from "./words.ts";

/** A replay to a destination of its own, entered as that of a job. */
export const replayDestinationPage: Page = {
  path: "/jobs/:job_id/replay/destination",
  get: { permission: "logs:edit", show: showForm },
  post: { permission: "logs:edit", take: takeForm },
};

/** What the form shows again. */
interface Shown {
  form?: URLSearchParams;
  faults?: EntryFaults;
  tested?: Tested;
  /** Why the replay was refused. */
  errors?: readonly ErrorEntry[];
  /** Why what was pasted is no destination. */
  paste?: string;
}

async function showForm(page: PageContext): Promise<PageAnswer> {
  const span = spanIn(page.query);
  return view(page, span, emptyForm(page, page.query.get("scheme") ?? ""));
}

/** A new form, whose path is another one than that of a new job. */
function emptyForm({ config }: PageContext, kind: string): DestinationEntry {
  const entry = newEntry(kind, config);
  const path = entry.values.path?.replace("logs/{DATE}", "replay/{DATE}");
  return path === undefined ? entry : { ...entry, values: { ...entry.values, path } };
}

async function takeForm(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const { config } = page;
  const span = spanIn(form);
  const what = form.get("do");
  const before = keptIn(page, form);
  const was = before ?? emptyForm(page, form.get("scheme") ?? "");
  const kept = (entry: DestinationEntry): DestinationEntry => withKeptSecrets(entry, was, false, config.destinations);
  if (what === "paste") {
    const read = entryOf((form.get("conf") ?? "").trim(), config.destinations);
    if (read.ok) return view(page, span, kept(read.value));
    return view(page, span, was, { paste: `${read.why}. The pasted text is not shown again: it may contain keys.` });
  }
  const entry = kept(sentEntry(form, was, config));
  const again = (shown: Omit<Shown, "form">): Promise<View | Response> => view(page, span, entry, { form, ...shown });
  const missing = missingOf(entry);
  if (Object.keys(missing).length > 0) return again({ faults: missing });
  const built = buildDestination(entry);
  if (!built.ok) return again({ faults: faultsOfEntry(entry, built.why) });
  const tested = await testOf(page, built.value);
  if (!tested.ok && !isOfStore(tested.message)) return again({ faults: faultsOfEntry(entry, tested.message) });
  if (!tested.ok || what !== "start" || span === null) return again({ tested });
  const answer = await sendBegin(page, span, { destination_conf: built.value, ...confirmedIn(form) });
  return answer.ok ? seeOther(`/jobs/${answer.result.job_id}/replay#replays`) : again({ errors: answer.errors });
}

/**
 * What was entered before, keys included: sealed for this caller and job, as the form carries it
 * between a test and the start. null: nothing was, or no key opens it.
 */
function keptIn(page: PageContext, form: URLSearchParams): DestinationEntry | null {
  const text = unseal(form.get("entered") ?? "", purposeOf(page), page.config.keys);
  const read = text === null ? null : StoredEntry.safeParse(JSON.parse(text));
  return read?.success === true ? read.data : null;
}

function purposeOf(page: PageContext): string {
  return enteredPurpose(page.config.accountId, ownerOf(page), Number(page.params.job_id));
}

/** The form; without a time, or where nothing would be shipped, the page before it. */
async function view(
  page: PageContext,
  span: Span | null,
  entry: DestinationEntry,
  shown: Shown = {},
): Promise<View | Response> {
  const job = await page.api.get<JobView>(jobPath(page));
  const answer = span === null ? null : await counted(page, jobPath(page), span);
  if (span === null || answer?.ok !== true)
    return seeOther(`/jobs/${job.id}/replay${span === null ? "" : `?${spanQuery(span)}`}`);
  const { faults = {}, errors = [], paste } = shown;
  const isRefused = Object.keys(faults).length > 0 || errors.length > 0 || paste !== undefined;
  const back = `/jobs/${job.id}/replay?${spanQuery(span)}`;
  return {
    title: "Replay to another destination",
    section: "jobs",
    status: isRefused ? 400 : 200,
    trail: [...jobTrail(job), { href: back, label: "Replay" }],
    parts: [
      <Panel id="count" title="Preview">
        <Count estimate={answer.result} notes={answer.messages} />
      </Panel>,
      ...entryParts(page, job.id, span, entry, answer.result, shown),
    ],
  };
}

function entryParts(
  page: PageContext,
  jobId: number,
  span: Span,
  entry: DestinationEntry,
  estimate: EstimateView,
  { form, faults = {}, tested, errors = [], paste }: Shown,
): Child[] {
  const { viewer, config, nowMs } = page;
  const at = `/jobs/${jobId}/replay/destination`;
  const { terms } = requireForm(entry);
  const refusals = faultsOf(errors, ["allow_duplicates", "ownership_challenge"]);
  const hasKeys = sharesSecrets(entry, entry);
  const carried = (
    <>
      <input type="hidden" name="since" value={span.since} />
      <input type="hidden" name="until" value={span.until} />
      {hasKeys && (
        <input type="hidden" name="entered" value={seal(JSON.stringify(entry), purposeOf(page), config.keys)} />
      )}
    </>
  );
  return [
    <RestOf faults={refusals} title="The replay was not started" />,
    tested === undefined ? null : <Outcome tested={tested} nowMs={nowMs} />,
    <NotValid why={faults.whole} />,
    <Panel id="destination" title="Destination">
      <Kinds entry={entry} here={`${at}?${spanQuery(span)}&`} />
      <Form viewer={viewer} action={at} label="Destination">
        {carried}
        <input type="hidden" name="scheme" value={entry.form} />
        <DestinationFields entry={entry} faults={faults} />
        <p>
          <Guarantee terms={terms} />
        </p>
        {terms.isReadable && (
          <Token
            page={page}
            value={form?.get("ownership_challenge") ?? ""}
            error={refusals.at("ownership_challenge")}
          />
        )}
        <AllowDuplicates
          estimate={estimate}
          checked={form?.has("allow_duplicates") ?? false}
          error={refusals.at("allow_duplicates")}
        />
        <p class="quiet">
          <WhatTestDoes entry={entry} /> The keys are deleted when the replay ends.
        </p>
        <div class="actions">
          <button type="submit" name="do" value="start" class="primary" disabled={estimate.planned.objects === 0}>
            Test and start
          </button>
          <button type="submit" name="do" value="test">
            Test
          </button>
        </div>
      </Form>
    </Panel>,
    <PasteForm viewer={viewer} action={at} path="replay" error={paste}>
      {carried}
    </PasteForm>,
  ];
}
