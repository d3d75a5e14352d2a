import type { Child, FC } from "hono/jsx";
import { InnerFailure } from "../../inner-api.ts";
import type { Page, PageAnswer, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, Facts, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { Records, recordOfLine } from "../../parts/record.tsx";
import { Ago, bytes, count, duration, plural, Time } from "../../parts/values.tsx";
import type { JobView, LinesView, ObjectView } from "../../views/job.ts";
import { jobPath } from "./actions.tsx";
import { objectState, reasonWords, shortNameOf } from "./words.ts";

const OBJECTS_PER_PAGE = 50;
const LINES_PER_PAGE = 50;

const needs = { permission: "logs:read" } as const;

export const objectPages: readonly Page[] = [
  { path: "/jobs/:job_id/objects", get: { ...needs, show: objectsView } },
  { path: "/jobs/:job_id/objects/:number", get: { ...needs, show: objectView } },
  { path: "/jobs/:job_id/objects/:number/download", get: { ...needs, show: download } },
];

/** The newest objects, on the page of their job. */
export const LastObjects: FC<{ jobId: number; objects: readonly ObjectView[]; total: number; nowMs: number }> = ({
  jobId,
  objects,
  total,
  nowMs,
}) => (
  <Panel
    id="objects"
    title="Objects"
    refresh={5}
    aside={total > objects.length && <a href={`/jobs/${jobId}/objects`}>All {count(total)} objects</a>}
  >
    <ObjectTable jobId={jobId} objects={objects} nowMs={nowMs} />
  </Panel>
);

const ObjectTable: FC<{ jobId: number; objects: readonly ObjectView[]; nowMs: number }> = ({
  jobId,
  objects,
  nowMs,
}) =>
  objects.length === 0 ? (
    <Empty title="There is no object">
      <p>The first is cut some 30 seconds after the first record. Objects are listed here for 30 days.</p>
    </Empty>
  ) : (
    <Table
      caption="Objects, the newest first"
      columns={[
        { label: "Object" },
        { label: "State" },
        { label: "Records", figures: true },
        { label: "Size", figures: true },
        { label: "Events" },
        { label: "Cut because" },
        { label: "Tries", figures: true },
        { label: "Uploaded" },
      ]}
      rows={objects.map((object) => {
        const { kind, words } = objectState(object);
        return [
          <a href={`/jobs/${jobId}/objects/${object.number}`}>
            <Foreign text={object.key} max={300} />
          </a>,
          <State kind={kind}>{words}</State>,
          count(object.records),
          bytes(object.bytes),
          <Span from={object.first_event} to={object.last_event} />,
          reasonWords(object.reason),
          count(object.attempts),
          object.uploaded_at === null ? "not yet" : <Ago at={object.uploaded_at} nowMs={nowMs} />,
        ];
      })}
    />
  );

const Span: FC<{ from: string; to: string }> = ({ from, to }) => (
  <>
    <Time at={from} />
    {from !== to && <span class="quiet"> and {duration(Date.parse(to) - Date.parse(from))}</span>}
  </>
);

async function objectsView({ api, params, query, nowMs }: PageContext): Promise<View> {
  const path = jobPath({ params });
  const [after, before] = [numberIn(query, "after"), numberIn(query, "before")];
  // Newer ones come from the API with the oldest first: those next to where one is.
  const asked =
    after !== null
      ? { after, limit: OBJECTS_PER_PAGE }
      : { before: before ?? Number.MAX_SAFE_INTEGER, limit: OBJECTS_PER_PAGE };
  const [job, { items, info }] = await Promise.all([
    api.get<JobView>(path),
    api.list<ObjectView>(`${path}/objects`, asked),
  ]);
  const objects = after !== null ? items.toReversed() : items;
  const [first, last] = [objects[0], objects.at(-1)];
  const isFull = items.length === OBJECTS_PER_PAGE;
  const hasNewer = first !== undefined && (after !== null ? isFull : before !== null);
  const hasOlder = last !== undefined && (after !== null || isFull);
  const all = `/jobs/${job.id}/objects`;
  return {
    title: "Objects",
    section: "jobs",
    trail: trailOf(job),
    parts: [
      <Panel id="objects" title={after === null ? `${plural(info.total_count, "object")} in 30 days` : "Newer objects"}>
        <ObjectTable jobId={job.id} objects={objects} nowMs={nowMs} />
        <nav class="pager" aria-label="Pages">
          {(after !== null || before !== null) && <a href={all}>Newest</a>}
          {hasNewer && <a href={`${all}?after=${first.number}`}>Newer</a>}
          {hasOlder && <a href={`${all}?before=${last.number}`}>Older</a>}
        </nav>
      </Panel>,
    ],
  };
}

function trailOf(job: JobView): { href: string; label: string }[] {
  return [
    { href: "/jobs", label: "Jobs" },
    { href: `/jobs/${job.id}`, label: shortNameOf(job) },
  ];
}

/** null: it is not there, or no number that could be meant. */
function numberIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  const value = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : null;
}

/** Below `/logship/jobs`. */
function objectPath({ params }: Pick<PageContext, "params">): string {
  return `${jobPath({ params })}/objects/${encodeURIComponent(params.number ?? "")}`;
}

async function objectView(page: PageContext): Promise<View> {
  const { api, query, nowMs } = page;
  const [job, object] = await Promise.all([api.get<JobView>(jobPath(page)), api.get<ObjectView>(objectPath(page))]);
  const skip = numberIn(query, "skip") ?? 0;
  const here = `/jobs/${job.id}/objects/${object.number}`;
  const isThere = object.state === "delivered" && (object.replay === null || object.replay.destination === null);
  const read = (): Promise<Child> =>
    api
      .get<LinesView>(`${objectPath(page)}/records`, { skip, limit: LINES_PER_PAGE })
      .then((lines) => <LinesPanel here={here} skip={skip} lines={lines} records={object.records} />);
  return {
    title: `Object ${object.number}`,
    section: "jobs",
    trail: [...trailOf(job), { href: `/jobs/${job.id}/objects`, label: "Objects" }],
    parts: [
      <ObjectPanel jobId={job.id} object={object} here={here} isThere={isThere} nowMs={nowMs} />,
      isThere ? read() : <NotHere object={object} />,
    ],
  };
}

const ObjectPanel: FC<{ jobId: number; object: ObjectView; here: string; isThere: boolean; nowMs: number }> = ({
  jobId,
  object,
  here,
  isThere,
  nowMs,
}) => {
  const { kind, words } = objectState(object);
  return (
    <Panel id="object" title="About" aside={isThere && <a href={`${here}/download`}>Download it as it is</a>}>
      <p>
        <code>
          <Foreign text={object.key} max={1_200} />
        </code>
      </p>
      <Facts
        rows={[
          ["State", <State kind={kind}>{words}</State>],
          ["Records", count(object.records)],
          ["Size", `${bytes(object.bytes)}, ${bytes(object.raw_bytes)} before compression`],
          ["First event", <Time at={object.first_event} />],
          ["Last event", <Time at={object.last_event} />],
          ["Cut because", reasonWords(object.reason)],
          ["Cut at", <Time at={object.cut_at} />],
          ["Tries", count(object.attempts)],
          ["Uploaded", object.uploaded_at === null ? "not yet" : <Ago at={object.uploaded_at} nowMs={nowMs} />],
          ...(object.replay === null
            ? []
            : ([
                ["A copy of", <a href={`/jobs/${jobId}/objects/${object.replay.of}`}>object {object.replay.of}</a>],
              ] as const)),
        ]}
      />
      {object.error !== null && (
        <p>
          <State kind="warn">Last error</State> <Foreign text={object.error} />
        </p>
      )}
    </Panel>
  );
};

const LinesPanel: FC<{ here: string; skip: number; lines: LinesView; records: number }> = ({
  here,
  skip,
  lines: { lines, next },
  records,
}) => (
  <Panel
    id="records"
    title="Records"
    aside={
      <span class="quiet">
        {lines.length > 0 && `lines ${count(lines[0]?.number ?? 0)} to ${count(lines.at(-1)?.number ?? 0)}; `}
        {plural(records, "record")} in the object
      </span>
    }
  >
    {lines.length === 0 ? (
      <Empty title={skip === 0 ? "There is no line in it" : "There is no line after that"} />
    ) : (
      <Records
        label="Records of the object"
        records={lines.map(({ number, text, truncated }) => ({ record: recordOfLine(text), number, truncated }))}
      />
    )}
    <nav class="pager" aria-label="Pages of records">
      {skip > 0 && <a href={`${here}#records`}>First</a>}
      {skip > 0 && <a href={`${here}?skip=${Math.max(0, skip - LINES_PER_PAGE)}#records`}>Previous</a>}
      {next !== null && <a href={`${here}?skip=${next}#records`}>Next</a>}
    </nav>
    <p class="quiet">Read from your bucket just now, with the job's destination. Nothing of it is kept here.</p>
  </Panel>
);

/** Why there is nothing to read. */
const NotHere: FC<{ object: ObjectView }> = ({ object }) => {
  if (object.replay?.destination != null)
    return (
      <Notice kind="info" title="Its records cannot be read here">
        <p>
          A replay has written it to another destination, <Foreign text={object.replay.destination} />. The keys to that
          are forgotten; the object that it is a copy of can be read.
        </p>
      </Notice>
    );
  if (object.state === "set_aside")
    return (
      <Notice kind="warn" title="Its store refuses it">
        <p>
          It is set aside with all of its records. <a href="/set-aside">Read it, send it again, or delete it</a>
        </p>
      </Notice>
    );
  if (object.state === "discarded") return <Notice kind="info" title="It was discarded, and never delivered" />;
  return (
    <Notice kind="info" title="It is not uploaded yet">
      <p>Its records can be read once they are in the bucket.</p>
    </Notice>
  );
};

async function download(page: PageContext): Promise<PageAnswer> {
  const answer = await page.api.raw("GET", objectPath(page), undefined, { download: true });
  if (answer.ok) return answer;
  const { errors } = (await answer.json()) as { errors: InnerFailure["errors"] };
  throw new InnerFailure(answer.status, errors);
}
