import type { FC } from "hono/jsx";
import { encodeUtf8 } from "../../../../base/bytes.ts";
import { CODE, type ErrorEntry } from "../../../../base/errors.ts";
import { type Pieces, streamOf } from "../../../../base/streams.ts";
import { plural } from "../../../../base/words.ts";
import { LAST } from "../../../../operate/search/words.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther } from "../../page.ts";
import { visible } from "../../parts/foreign.tsx";
import { Button, Field, Select } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { SEARCHES_AT, savingPath } from "../searches/words.tsx";
import { loadFields } from "../shipping/fields.ts";
import { FilterForm } from "../shipping/filter-form.tsx";
import { FILTER_WAS, readFilter } from "../shipping/filter-read.ts";
import { AROUND, type Asked, askedOf, NOTHING, OWN_TIME, questionOf, searchPath } from "./address.ts";
import { countsView } from "./counts.tsx";
import { answerOf, linesOf } from "./hits.tsx";
import { QuestionFields } from "./question.tsx";

const needs = { permission: "logs:read" } as const;

export const searchPages: readonly Page[] = [
  { path: "/search", get: { ...needs, show: searchView }, post: { ...needs, take: formOf(searchView) } },
  { path: "/search/counts", get: { ...needs, show: countsView }, post: { ...needs, take: formOf(countsView) } },
  { path: "/search/export", get: { ...needs, show: exported }, post: { ...needs, take: formOf(exported) } },
];

/** A search that is too long for an address. */
function formOf(show: (page: PageContext) => Promise<PageAnswer>) {
  return (page: PageContext, form: URLSearchParams): Promise<PageAnswer> => show({ ...page, query: form });
}

/**
 * The form, and below it what was found. The search is in the address: a form that was sent leads
 * to the address of its search.
 */
async function searchView(page: PageContext): Promise<PageAnswer> {
  const { query, api } = page;
  const isSent = query.has(FILTER_WAS);
  const built = readFilter(query, {});
  if (isSent && !built.again) {
    const sent = askedOf(query) ?? NOTHING;
    return seeOther(searchPath({ ...sent, filter: built.filter, cursor: "" }));
  }
  const asked = askedOf(query);
  const form = { ...(asked ?? NOTHING), ...(isSent && { filter: built.filter }) };
  const [{ items: jobs }, fields] = await Promise.all([api.list<JobView>("/logship/jobs"), loadFields(page)]);
  return {
    title: "Search",
    scripts: ["search"],
    parts: [
      <SearchForm asked={form} jobs={jobs} fields={fields} isOpen={built.again} />,
      asked === null ? <Start /> : isSent ? null : answerOf(page, asked),
    ],
  };
}

/** Above the records: at their end, it is screens away. */
const Saving: FC<{ asked: Asked }> = ({ asked }) => (
  <>
    {asked.q + asked.function + asked.outcome + asked.filter !== "" && (
      <>
        <a href={savingPath(asked)}>Save this search</a>{" "}
      </>
    )}
    <a href={SEARCHES_AT}>Saved searches</a>
  </>
);

const SearchForm: FC<{
  asked: Asked;
  jobs: readonly JobView[];
  fields: Readonly<Record<string, string>>;
  isOpen: boolean;
}> = ({ asked, jobs, fields, isOpen }) => {
  const more = [asked.job, asked.order, asked.filter].filter((each) => each !== "").length;
  return (
    <Panel id="question" title="What happened?" aside={<Saving asked={asked} />}>
      <form method="get" action="/search" class="search-form" id="search-form">
        <div class="search-fields">
          <QuestionFields asked={asked} />
          <Select
            name="last"
            label="Time"
            value={asked.last}
            options={[
              ...Object.entries(LAST).map(([value, { label }]) => ({ value, label })),
              { value: AROUND, label: "around …" },
              { value: OWN_TIME, label: "from … to …" },
            ]}
          />
          <div class="search-time">
            <Field name="at" label="Around" value={visible(asked.at)} placeholder="yesterday 15:00" />
            <Field name="since" label="From" value={visible(asked.since)} placeholder="yesterday 14:30" />
            <Field name="until" label="To" value={visible(asked.until)} placeholder="now" />
            <Select
              name="zone"
              label="Time zone"
              value={asked.zone}
              options={["", asked.zone]
                .filter((zone, i) => i === 0 || zone !== "")
                .map((value) => ({ value, label: visible(value) || "UTC" }))}
            />
          </div>
          <Button class="primary" label="Search" />
        </div>
        {asked.pins !== "" && <input type="hidden" name="pins" value={asked.pins} />}
        <details open={isOpen}>
          <summary>
            More conditions
            {more > 0 && <span class="quiet">: {plural(more, "is set", "are set")}</span>}
          </summary>
          <div class="search-fields">
            <Select
              name="job"
              label="Job"
              value={asked.job}
              options={[
                { value: "", label: "all jobs" },
                ...jobs.map(({ id, name }) => ({ value: `${id}`, label: visible(name ?? "") || `job ${id}` })),
              ]}
            />
            <Select
              name="order"
              label="Order"
              value={asked.order}
              options={[
                { value: "", label: "newest first" },
                { value: "oldest", label: "oldest first" },
              ]}
            />
          </div>
          <FilterForm
            filter={asked.filter}
            fields={fields}
            faults={[]}
            hint="Conditions on the record as it was shipped."
            none="No further conditions."
          />
        </details>
      </form>
      <p class="quiet keys">
        <kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> next and previous record, <kbd>Enter</kbd> open, <kbd>Esc</kbd>{" "}
        close
      </p>
    </Panel>
  );
};

/** Before the first search. */
const Start: FC = () => (
  <Panel id="start" title="Start here">
    <ul>
      <li>
        <a href={searchPath({ ...NOTHING, outcome: "failed" })}>Failures in the last hour</a>
      </li>
      <li>
        <a href={searchPath({ ...NOTHING, q: "took:>=1s" })}>Records slower than a second in the last hour</a>
      </li>
      <li>One request: enter its ray id, or a part of its URL, its logs or its error.</li>
      <li>
        Words and fields: <code>"card declined" OR timeout</code>, <code>status:5xx -path:/health</code>,{" "}
        <code>level:error took:&gt;1s</code>, <code>customer:4711</code> of a logged object
      </li>
      <li>
        In a terminal: <code>npm run search -- ray 8f14e45fceea167a</code>
      </li>
    </ul>
  </Panel>
);

/** What one page of a search finds, as a file of records. */
async function exported({ api, query, nowMs }: PageContext): Promise<PageAnswer> {
  let question: Record<string, unknown>;
  try {
    question = questionOf(askedOf(query) ?? NOTHING, nowMs);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InnerFailure(400, [{ code: CODE.invalid, message: `${error.message.slice(0, 100)} is not a time` }]);
  }
  const answer = await api.raw("POST", "/logship/search", { ...question, limit: 1_000 });
  if (!answer.ok || answer.body === null) {
    const { errors } = (await answer.json()) as { errors: ErrorEntry[] };
    throw new InnerFailure(answer.status, errors);
  }
  return new Response(streamOf(recordsIn(answer.body)), {
    headers: {
      "Content-Type": "application/x-ndjson",
      "Content-Disposition": 'attachment; filename="records.ndjson"',
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    },
  });
}

/** Of the lines of an answer, the records of its hits. */
async function* recordsIn(body: ReadableStream<Uint8Array>): Pieces {
  for await (const lines of linesOf(body))
    for (const line of lines) if (line.type === "hit") yield encodeUtf8(`${JSON.stringify(line.record)}\n`);
}
