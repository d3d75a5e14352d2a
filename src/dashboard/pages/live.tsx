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

/** Recent records that are listed. */
const RECENT_SHOWN = 50;

/** Filters of jobs that the page carries along, in UTF-16 units: a hundred jobs may have 8 kB each. */
const FILTERS_MAX_UNITS = 100_000;

/** `?job=` and `?script=`: what is wanted from the beginning. */
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
        <Notice kind="info" title="Watching records arrive needs a script">
          <p>
            It is the one page that does. <a href="#recent">The most recent records</a> are below, as of now.
          </p>
        </Notice>
      </noscript>,
      <Live jobs={jobs} filter={chosen?.filter ?? ""} script={query.get("script") ?? ""} />,
      recent(api),
    ],
  };
}

/** What is counted since the page was opened. */
const COUNTS = [
  ["seen", "Arrived"],
  ["shown", "Shown"],
  ["filtered", "Filtered"],
  ["dropped", "Dropped to keep up"],
  ["paused", "Missed while paused"],
] as const;

interface JobFilter {
  id: number;
  name: string;
  filter: string;
}

const Live: FC<{ jobs: readonly JobFilter[]; filter: string; script: string }> = ({ jobs, filter, script }) => (
  <div id="live-app" hidden>
    <Panel id="arriving" title="As they arrive">
      <p>
        <span id="live-state" role="status">
          Connecting…
        </span>{" "}
        <span class="quiet">
          A record is here up to ten seconds after its event, and a moment more: the queue gathers that long. The newest
          1,000 stay in the list, and nothing is stored for it.
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
        <form id="live-filter" aria-label="What to show" autocomplete="off">
          <div class="live-filter">
            <Field
              name="filter"
              label="Filter"
              rows={3}
              value={filter}
              spellcheck={false}
              hint={
                <>
                  In the language of a job’s filter, as{" "}
                  <code>{'{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}'}</code>; empty: all. It sees whole
                  records.
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
                hint="Its whole name; empty: all."
              />
            </div>
          </div>
          <p id="live-faults" class="error" role="alert" />
          <button type="submit" class="primary">
            Apply
          </button>{" "}
          <span class="quiet">The list begins anew.</span>
        </form>
      </details>
      <div class="live-bar">
        <button type="button" id="live-pause" aria-keyshortcuts="Space">
          Pause
        </button>
        <button type="button" id="live-clear">
          Clear the list
        </button>
        <Field name="search" label="Search in the list" type="search" spellcheck={false} />
      </div>
      <p id="live-found" class="quiet" role="status" />
      <div id="live-empty">
        <Empty title="Nothing has arrived yet">
          <p>
            Records appear here when a function sends its trace events, whether any job ships them or not.{" "}
            <a href="/attach">Attach a function, or send an event by hand</a>
          </p>
        </Empty>
      </div>
      <table class="list live-table" id="live-table" hidden>
        <caption class="unseen">Records, newest first. Up and down lead from one to the next, Enter opens it.</caption>
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
      <p id="live-large" class="quiet" />
      {/* It scrolls where it is longer than the screen: the keyboard must get there. */}
      <section class="scroll" tabindex={0} aria-label="The record as JSON">
        <pre>
          <code id="live-json" />
        </pre>
      </section>
    </dialog>
  </div>
);

/** Fills the field with what a job has, by the job's name. */
const JobFilters: FC<{ jobs: readonly JobFilter[] }> = ({ jobs }): Child => {
  let units = 0;
  const listed = jobs.map((job) => {
    units += job.filter.length;
    return { ...job, fits: units <= FILTERS_MAX_UNITS };
  });
  return (
    <div class="field">
      <label for="field-job">Take the filter of a job</label>
      <select id="field-job" disabled={jobs.length === 0}>
        <option value="">{jobs.length === 0 ? "no job has one" : "choose a job"}</option>
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

/** What a shipped record says of itself, as far as it is listed. */
interface Shipped {
  EventTimestampMs: number;
  Outcome: string;
  ScriptName: string;
}

/** The newest records that the account's ledger holds in memory. */
async function recent(api: PageContext["api"]): Promise<Child> {
  const answer = await api.send<PreviewResult>("POST", "/logship/preview", {});
  if (!answer.ok) throw new InnerFailure(answer.status, answer.errors);
  const rows = answer.result.records
    .slice(-RECENT_SHOWN)
    .reverse()
    .map(({ text }) => {
      const { EventTimestampMs, Outcome, ScriptName } = JSON.parse(text) as Shipped;
      const kind: Kind = Outcome === "ok" ? "ok" : "bad";
      return [
        <Time at={EventTimestampMs} />,
        <State kind={kind}>
          <Foreign text={Outcome} max={40} />
        </State>,
        <Foreign text={ScriptName} max={100} />,
        <Foreign text={text.trim()} max={400} />,
      ];
    });
  return (
    <Panel id="recent" title="Before this page was opened">
      {rows.length === 0 ? (
        <Empty title="No recent records are held">
          <p>Some of the newest are held in memory, for minutes at most. What jobs shipped is in their objects.</p>
        </Empty>
      ) : (
        <>
          <p class="quiet">
            The newest of those that are held in memory, newest first, at most {RECENT_SHOWN}: a sample, where many
            arrive.
          </p>
          <Table
            caption="Recent records"
            columns={[{ label: "Time" }, { label: "Outcome" }, { label: "Function" }, { label: "Record" }]}
            rows={rows}
          />
        </>
      )}
    </Panel>
  );
}
