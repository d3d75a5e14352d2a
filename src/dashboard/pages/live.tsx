import type { Child, FC } from "hono/jsx";
import type { PreviewResult } from "../../api/preview.ts";
import { InnerFailure } from "../inner-api.ts";
import type { Page, PageContext, View } from "../page.ts";
import { Foreign, visible } from "../parts/foreign.tsx";
import { Field } from "../parts/form.tsx";
import { Empty, type Kind, Notice, Panel, State, Table } from "../parts/panel.tsx";
import { Time } from "../parts/values.tsx";
import type { JobView } from "../views/job.ts";

export const livePages: readonly Page[] = [{ path: "/live", get: { permission: "logs:read", show: liveView } }];

/** Recent records listed at most. */
const RECENT_SHOWN = 50;

/**
 * Total size of the job filters in the page, in UTF-16 units: a hundred jobs may have 8 kB each.
 */
const FILTERS_MAX_UNITS = 100_000;

/** `?job=` and `?script=` preset the filter. */
async function liveView({ api, query }: PageContext): Promise<View> {
  const { items } = await api.list<JobView>("/logship/jobs");
  const jobs = items.flatMap(({ id, name, filter }) =>
    filter === null || filter === "" ? [] : [{ id, name: name ?? `job ${id}`, filter }],
  );
  const chosen = jobs.find(({ id }) => `${id}` === query.get("job"));
  return {
    title: "Live",
    section: "live",
    scripts: ["live"],
    parts: [
      <noscript>
        <Notice kind="info" title="The live view needs JavaScript">
          <p>
            <a href="#recent">The most recent records</a> are below.
          </p>
        </Notice>
      </noscript>,
      <Live jobs={jobs} filter={chosen?.filter ?? ""} script={query.get("script") ?? ""} />,
      recent(api),
    ],
  };
}

/** Counts since the page was opened. */
const COUNTS = [
  ["seen", "Arrived"],
  ["shown", "Shown"],
  ["filtered", "Filtered"],
  ["dropped", "Skipped (too fast)"],
  ["paused", "Missed while paused"],
] as const;

interface JobFilter {
  id: number;
  name: string;
  filter: string;
}

const Live: FC<{ jobs: readonly JobFilter[]; filter: string; script: string }> = ({ jobs, filter, script }) => (
  <div id="live-app" hidden>
    <Panel id="arriving" title="Live records">
      <p>
        <span id="live-state" role="status">
          Connecting…
        </span>{" "}
        <span class="quiet">
          A record appears up to ten seconds after its event, as the queue collects batches. The list keeps the newest
          1,000 and stores nothing.
        </span>
      </p>
      <dl class="live-counts">
        {COUNTS.map(([name, label]) => (
          <div>
            <dt>{label}</dt>
            <dd id={`live-${name}`}>0</dd>
          </div>
        ))}
      </dl>
      <p id="live-spoken" class="unseen" aria-live="polite" />
      <details class="live-what" id="live-what" open={filter !== "" || script !== ""}>
        <summary>
          Filter <span class="quiet" id="live-wanted" />
        </summary>
        <form id="live-filter" aria-label="Filter" autocomplete="off">
          <div class="live-filter">
            <Field
              name="filter"
              label="Filter"
              rows={3}
              value={filter}
              spellcheck={false}
              hint={
                <>
                  The syntax of job filters, e.g.{" "}
                  <code>{'{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}'}</code>. Empty: all.
                </>
              }
            />
            <div>
              <JobFilters jobs={jobs} />
              <Field
                name="script"
                label="Function"
                value={visible(script)}
                spellcheck={false}
                hint="Full name. Empty: all."
              />
            </div>
          </div>
          <p id="live-faults" class="error" role="alert" />
          <button type="submit" class="primary">
            Apply
          </button>{" "}
          <span class="quiet">Clears the list.</span>
        </form>
      </details>
      <div class="live-bar">
        <button type="button" id="live-pause" aria-keyshortcuts="Space">
          Pause
        </button>
        <button type="button" id="live-clear">
          Clear list
        </button>
        <Field name="search" label="Search the list" type="search" spellcheck={false} />
      </div>
      <p id="live-found" class="quiet" role="status" />
      <div id="live-empty">
        <Empty title="No records yet">
          <p>
            Records appear when a function sends trace events, with or without a job.{" "}
            <a href="/attach">Attach a function</a>
          </p>
        </Empty>
      </div>
      <table class="list live-table" id="live-table" hidden>
        <caption class="unseen">Records, newest first. Up and Down move, Enter opens a record.</caption>
        <thead>
          <tr>
            {["Time (UTC)", "Outcome", "Function", "Event", "First line"].map((label) => (
              <th scope="col">{label}</th>
            ))}
          </tr>
        </thead>
        <tbody id="live-rows" />
      </table>
    </Panel>
    <dialog id="live-record" aria-labelledby="live-record-title">
      <header>
        <h2 id="live-record-title">Record</h2>
        <button type="button" id="live-close">
          Close
        </button>
      </header>
      <p id="live-source" class="quiet" />
      <p id="live-large" class="quiet" />
      {/* Focusable: it scrolls when it is longer than the screen. */}
      <section class="scroll" tabindex={0} aria-label="The record as JSON">
        <pre>
          <code id="live-json" />
        </pre>
      </section>
    </dialog>
  </div>
);

/** Copies the filter of a job into the field. */
const JobFilters: FC<{ jobs: readonly JobFilter[] }> = ({ jobs }): Child => {
  let units = 0;
  const listed = jobs.map((job) => {
    units += job.filter.length;
    return { ...job, fits: units <= FILTERS_MAX_UNITS };
  });
  return (
    <div class="field">
      <label for="field-job">Use the filter of a job</label>
      <select id="field-job" disabled={jobs.length === 0}>
        <option value="">{jobs.length === 0 ? "no job has a filter" : "choose a job"}</option>
        {listed.map(({ id, name, filter, fits }) => (
          <option value={`${id}`} data-filter={fits ? filter : undefined} disabled={!fits}>
            {visible(name.slice(0, 100))}
            {!fits && ` (open /live?job=${id})`}
          </option>
        ))}
      </select>
    </div>
  );
};

/** The fields of a record that are listed. */
interface Shipped {
  EventTimestampMs: number;
  Outcome: string;
  ScriptName: string;
}

/** The newest records in the memory of the account's ledger. */
async function recent(api: PageContext["api"]): Promise<Child> {
  const answer = await api.send<PreviewResult>("POST", "/logship/preview", {});
  if (!answer.ok) throw new InnerFailure(answer.status, answer.errors);
  const rows = answer.result.records
    .slice(-RECENT_SHOWN)
    .reverse()
    .map(({ text, source }) => {
      const { EventTimestampMs, Outcome, ScriptName } = JSON.parse(text) as Shipped;
      const kind: Kind = Outcome === "ok" ? "ok" : "bad";
      return [
        <Time at={EventTimestampMs} />,
        <State kind={kind}>
          <Foreign text={Outcome} max={40} />
        </State>,
        <Foreign text={ScriptName} max={100} />,
        source === "" ? <span class="quiet">unknown</span> : <Foreign text={source} max={100} />,
        <Foreign text={text.trim()} max={400} />,
      ];
    });
  return (
    <Panel id="recent" title="Recent records">
      {rows.length === 0 ? (
        <Empty title="No recent records">
          <p>
            Some of the newest are kept in memory, for minutes at most. Shipped records are in the objects of the jobs.
          </p>
        </Empty>
      ) : (
        <>
          <p class="quiet">Up to {RECENT_SHOWN} records from memory, newest first; a sample if many arrive.</p>
          <Table
            caption="Recent records"
            columns={[
              { label: "Time" },
              { label: "Outcome" },
              { label: "Function" },
              { label: "Source" },
              { label: "Record" },
            ]}
            rows={rows}
          />
        </>
      )}
    </Panel>
  );
}
