import type { Child, FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { HOUR_MS } from "../../../../base/time.ts";
import { bytes, count, dollars, plural } from "../../../../base/words.ts";
import { buildDestination } from "../../../../ship/destinations/entry.ts";
import type { InnerAnswer } from "../../inner-api.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type PageAnswer, type PageContext, seeOther } from "../../page.ts";
import { faultOf, storedEntry, termsOfConf } from "../../parts/destination-entry.ts";
import { minuteOf, timeEntered } from "../../parts/entered-time.ts";
import { type Faults, faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Check, Field, Form, may, Radio, Select, Submit } from "../../parts/form.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import type { EstimateView, JobView, ReplayView } from "../../views/job.ts";
import { jobPath } from "./job-text.ts";

/** A time range as it was entered. */
export interface Span {
  since: string;
  until: string;
}

/** What was entered to begin a replay, for the form to show again; it has no secret. */
export interface Entered {
  to: string;
  path: string;
  ofJob: string;
  challenge: string;
}

export interface Refused {
  span: Span;
  entered: Entered;
  errors: readonly ErrorEntry[];
}

/** Longer than any time; what is longer is cut, as it may become part of an address. */
const TIME_MAX = 80;

/** null: none was entered. */
export function spanIn(values: URLSearchParams): Span | null {
  if (!values.has("since") && !values.has("until")) return null;
  const text = (name: string): string => (values.get(name) ?? "").trim().slice(0, TIME_MAX).toWellFormed();
  return { since: text("since"), until: text("until") };
}

/** The query of a page about this time range. */
export function spanQuery({ since, until }: Span): string {
  return new URLSearchParams({ since, until }).toString();
}

export type Counted = InnerAnswer<EstimateView>;

/** What a replay of that time would ship. @throws InnerFailure 404 if there is no such job. */
export async function counted({ api }: PageContext, path: string, span: Span): Promise<Counted> {
  const [since, until] = [timeEntered(span.since), timeEntered(span.until)];
  const answer = await api.send<EstimateView>("GET", `${path}/replay/estimate`, undefined, { since, until });
  if (!answer.ok && answer.status === 404) throw new InnerFailure(answer.status, answer.errors);
  return answer;
}

/** The steps before a replay: its time, what it would ship, and where to. */
export async function beginParts(page: PageContext, job: JobView, refused?: Refused): Promise<Child> {
  const { api, viewer, config, nowMs, query } = page;
  if (termsOfConf(job.destination_conf, config.destinations)?.isReadable === false)
    return (
      <Panel id="begin" title="New replay">
        <p>The job ships to a log service, which logship cannot read back, so there is nothing to copy.</p>
      </Panel>
    );
  const span = refused?.span ?? spanIn(query);
  const answer = span === null ? null : await counted(page, jobPath(page), span);
  const mayBegin = may(viewer, "logs:edit");
  const others =
    span === null || answer?.ok !== true || !mayBegin
      ? []
      : (await api.list<JobView>("/logship/jobs")).items.filter(({ id }) => id !== job.id);
  return (
    <>
      <Panel id="begin" title="New replay">
        <p>A replay copies delivered objects of the last 30 days, under new keys.</p>
        {!mayBegin && <p>Starting a replay needs the permission logs:edit.</p>}
        <TimeForm
          jobId={job.id}
          span={span ?? { since: minuteOf(nowMs - HOUR_MS), until: minuteOf(nowMs) }}
          errors={answer === null || answer.ok ? [] : answer.errors}
        />
      </Panel>
      {span !== null && answer?.ok === true && (
        <Panel id="count" title="Preview">
          <Count estimate={answer.result} notes={answer.messages} />
          {mayBegin && answer.result.planned.objects > 0 && (
            <Where page={page} job={job} span={span} estimate={answer.result} others={others} refused={refused} />
          )}
        </Panel>
      )}
    </>
  );
}

const TimeForm: FC<{ jobId: number; span: Span; errors: readonly ErrorEntry[] }> = ({ jobId, span, errors }) => {
  const faults = timeFaults(errors);
  return (
    <>
      <RestOf faults={faults} title="Not counted" />
      <form method="get" action={`/jobs/${jobId}/replay#count`} aria-label="Time of the events">
        <Field
          {...timeField("since", span, faults)}
          label="Events since (UTC)"
          hint="2026-11-20 12:00, or RFC 3339 with a zone: 2026-11-20T12:00:00+01:00."
        />
        <Field
          {...timeField("until", span, faults)}
          label="Events before (UTC)"
          hint="A replay copies whole objects, so copies may hold events before and after these times."
        />
        <button type="submit">Preview</button>
      </form>
    </>
  );
};

/** What both fields of a form for a time range have. */
export function timeField(name: "since" | "until", span: Span, faults: Faults) {
  return { name, value: span[name], spellcheck: false, autocomplete: "off", required: true, error: faults.at(name) };
}

/** Errors about a query have no pointer: their message begins with the parameter. */
function timeFaults(errors: readonly ErrorEntry[]): Faults {
  return faultsOf(
    errors.map((error) => {
      const name = /^(?:since|until)\b/.exec(error.message)?.[0];
      return name === undefined ? error : { ...error, source: { pointer: `/${name}` } };
    }),
    ["since", "until"],
  );
}

/** What a replay would ship. */
export const Count: FC<{ estimate: EstimateView; notes: readonly { message: string }[] }> = ({ estimate, notes }) => {
  const { planned, list_price_usd } = estimate;
  return (
    <>
      <Facts
        rows={[
          ["Objects", count(planned.objects)],
          ["Records", count(planned.records)],
          ["Size, compressed", bytes(planned.bytes)],
          ["Estimated cost", `${dollars(list_price_usd)}, without traffic`],
        ]}
      />
      {notes.map(({ message }) => (
        <Foreign as="p" text={message} max={500} />
      ))}
    </>
  );
};

/** The consequence, to be confirmed. @param error of the API, which is for its callers. */
export const AllowDuplicates: FC<{ estimate: EstimateView; checked?: boolean; error: string | undefined }> = ({
  estimate: { planned },
  checked,
  error,
}) => (
  <>
    {error !== undefined && (
      <p class="error" id="duplicates-error">
        That folder already holds records of this time. Choose another folder, or allow duplicates.
      </p>
    )}
    <Check
      name="allow_duplicates"
      label={`Allow duplicates: ${plural(planned.records, "record")} will be in the folder twice, the second time under new keys`}
      checked={checked ?? false}
      hint="Required for the job's own folder, and for a folder that has a replay of this time."
    />
  </>
);

/** Where an ownership token is required, its field. */
export const Token: FC<{ page: PageContext; value: string; error: string | undefined }> = ({ page, value, error }) =>
  page.config.requireOwnershipChallenge ? (
    <Field
      name="ownership_challenge"
      label="Ownership token"
      value={value}
      error={error}
      spellcheck={false}
      autocomplete="off"
      hint={
        <>
          The text of the object that <code>POST …/logship/ownership</code> writes there. Not needed for a folder that a
          job ships to.
        </>
      }
    />
  ) : null;

/** Fields of the form whose errors are shown beside them. */
const FIELDS = ["destination_conf", "destination_of_job", "allow_duplicates", "ownership_challenge"];

const Where: FC<{
  page: PageContext;
  job: JobView;
  span: Span;
  estimate: EstimateView;
  others: readonly JobView[];
  refused: Refused | undefined;
}> = ({ page, job, span, estimate, others, refused }) => {
  const faults = refused === undefined ? NO_FAULTS : faultsOf(refused.errors, FIELDS);
  const { to, path, ofJob, challenge } = refused?.entered ?? { to: "folder", path: "", ofJob: "", challenge: "" };
  const own = storedEntry(job.destination_conf, page.config)?.values.path ?? "";
  return (
    <>
      <h3>Where to</h3>
      <RestOf faults={faults} title="The replay was not started" />
      <Form viewer={page.viewer} action={`/jobs/${job.id}/replay`} label="Start a replay">
        <input type="hidden" name="since" value={span.since} />
        <input type="hidden" name="until" value={span.until} />
        <fieldset>
          <legend>Destination</legend>
          <Radio
            name="to"
            value="folder"
            label="Another folder of the job's bucket"
            checked={to === "folder"}
            hint="With the job's keys."
          />
          <Field
            name="path"
            label="Path"
            value={visible(path === "" ? `replay/${own}` : path)}
            error={faults.at("destination_conf")}
            spellcheck={false}
            autocomplete="off"
          />
          {others.length > 0 && (
            <>
              <Radio name="to" value="job" label="The destination of another job" checked={to === "job"} />
              <Select
                name="of_job"
                label="Job"
                value={ofJob}
                error={faults.at("destination_of_job")}
                options={others.map(({ id, name }) => ({
                  value: `${id}`,
                  label: visible(name === null || name.trim() === "" ? `job ${id}` : `job ${id}: ${name.slice(0, 80)}`),
                }))}
              />
            </>
          )}
          <Radio name="to" value="own" label="The job's own folder" checked={to === "own"} hint={visible(own)} />
        </fieldset>
        <AllowDuplicates estimate={estimate} error={faults.at("allow_duplicates")} />
        <Token page={page} value={challenge} error={faults.at("ownership_challenge")} />
        <Submit label="Start replay">
          <a href={`/jobs/${job.id}/replay/destination?${spanQuery(span)}`}>Another destination</a>
        </Submit>
      </Form>
    </>
  );
};

/** Takes the form. @returns why it was refused, or the answer. */
export async function begin(page: PageContext, form: URLSearchParams): Promise<Refused | PageAnswer> {
  const text = (name: string): string => (form.get(name) ?? "").trim();
  const span = spanIn(form) ?? { since: "", until: "" };
  const entered = { to: text("to"), path: text("path"), ofJob: text("of_job"), challenge: text("ownership_challenge") };
  const refused = (errors: readonly ErrorEntry[]): Refused => ({ span, entered, errors });
  const to = await targetEntered(page, entered);
  if ("errors" in to) return refused(to.errors);
  const answer = await sendBegin(page, "replay", span, { ...to.body, ...confirmedIn(form) });
  return answer.ok ? seeOther(`/jobs/${answer.result.job_id}/replay#replays`) : refused(answer.errors);
}

/** What forms of every target have. */
export function confirmedIn(form: URLSearchParams): object {
  const challenge = (form.get("ownership_challenge") ?? "").trim();
  return {
    ...(form.has("allow_duplicates") && { allow_duplicates: true }),
    ...(challenge !== "" && { ownership_challenge: challenge }),
  };
}

/** @throws InnerFailure 404 if there is no such job. */
export async function sendBegin(
  page: PageContext,
  what: "replay" | "rerun",
  span: Span,
  body: object,
): Promise<InnerAnswer<ReplayView>> {
  const times = { since: timeEntered(span.since), until: timeEntered(span.until) };
  const answer = await page.api.send<ReplayView>("POST", `${jobPath(page)}/${what}`, { ...times, ...body });
  if (!answer.ok && answer.status === 404) throw new InnerFailure(answer.status, answer.errors);
  return answer;
}

export async function targetEntered(
  page: PageContext,
  { to, path, ofJob }: Pick<Entered, "to" | "path" | "ofJob">,
): Promise<{ body: object } | { errors: readonly ErrorEntry[] }> {
  if (to === "job") return { body: { destination_of_job: Number(ofJob) } };
  if (to !== "folder") return { body: {} };
  const { destination_conf } = await page.api.get<JobView>(jobPath(page));
  const own = storedEntry(destination_conf, page.config);
  if (own === null) return { body: {} };
  const built = buildDestination({ ...own, values: { ...own.values, path } });
  if (!built.ok) return { errors: [faultOf(built.why)] };
  // The same path is the job's own folder.
  return { body: built.value === destination_conf ? {} : { destination_conf: built.value } };
}
