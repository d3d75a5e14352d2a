import type { Child, FC } from "hono/jsx";
import { bytes, count, duration, plural } from "../../../../base/words.ts";
import type { Page, PageAnswer, PageContext, View } from "../../page.ts";
import { termsOfConf } from "../../parts/destination-entry.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Empty, Facts, figures, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { Records, recordOfLine } from "../../parts/record.tsx";
import { Ago, Time } from "../../parts/values.tsx";
import type { JobView, LinesView, ObjectView } from "../../views/job.ts";
import { jobPath, jobTrail, objectState, reasonWords } from "./job-text.ts";

const OBJECTS_PER_PAGE = 50;
export const LINES_PER_PAGE = 20;

const needs = { permission: "logs:read" } as const;

export const objectPages: readonly Page[] = [
  { path: "/jobs/:job_id/objects", get: { ...needs, show: objectsView } },
  { path: "/jobs/:job_id/objects/:number", get: { ...needs, show: objectView } },
  { path: "/jobs/:job_id/objects/:number/download", get: { ...needs, show: download } },
];

interface ObjectsProps {
  job: JobView;
  objects: readonly ObjectView[];
  /** Whether the destination can show what it has. */
  isReadable: boolean;
  nowMs: number;
}

/** The newest objects, on the page of their job. */
export const LastObjects: FC<ObjectsProps & { total: number }> = ({ total, ...props }) => (
  <Panel
    id="objects"
    title="Objects"
    refresh={5}
    aside={total > props.objects.length && <a href={`/jobs/${props.job.id}/objects`}>All {count(total)} objects</a>}
  >
    <ObjectTable {...props} />
  </Panel>
);

const ObjectTable: FC<ObjectsProps> = ({ job, objects, isReadable, nowMs }) =>
  objects.length === 0 ? (
    <Empty title="No objects yet">
      <p>Objects are listed for 30 days.</p>
    </Empty>
  ) : (
    <Table
      caption="Objects, newest first"
      columns={[
        "Object",
        "State",
        figures("Records"),
        figures("Size"),
        "Events",
        "Trigger",
        figures("Attempts"),
        "Uploaded",
      ]}
      rows={objects.map((object) => {
        const { kind, words } = objectState(object, isReadable);
        return [
          <a href={`/jobs/${job.id}/objects/${object.number}`}>
            <Foreign as="span" class="mono" text={object.key} max={300} />
          </a>,
          <State kind={kind}>{words}</State>,
          count(object.records),
          bytes(object.bytes),
          <Span from={object.first_event} to={object.last_event} />,
          reasonWords(object, job),
          count(object.attempts),
          object.uploaded_at === null ? "not yet" : <Ago at={object.uploaded_at} nowMs={nowMs} />,
        ];
      })}
    />
  );

const Span: FC<{ from: string; to: string }> = ({ from, to }) => (
  <>
    <Time at={from} />
    {from !== to && <span class="quiet"> + {duration(Date.parse(to) - Date.parse(from))}</span>}
  </>
);

async function objectsView({ api, params, query, config, nowMs }: PageContext): Promise<View> {
  const path = jobPath({ params });
  const [after, before] = [numberIn(query, "after"), numberIn(query, "before")];
  // `after` answers the oldest first.
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
    trail: jobTrail(job),
    parts: [
      <Panel id="objects" title={after === null ? `${plural(info.total_count, "object")} in 30 days` : "Newer objects"}>
        <ObjectTable job={job} objects={objects} isReadable={isReadableOf(job, config)} nowMs={nowMs} />
        <nav class="pager" aria-label="Pages">
          {(after !== null || before !== null) && <a href={all}>Newest</a>}
          {hasNewer && <a href={`${all}?after=${first.number}`}>Newer</a>}
          {hasOlder && <a href={`${all}?before=${last.number}`}>Older</a>}
        </nav>
      </Panel>,
    ],
  };
}

function isReadableOf({ destination_conf }: JobView, { destinations }: PageContext["config"]): boolean {
  return termsOfConf(destination_conf, destinations)?.isReadable ?? true;
}

/** null: absent or not a positive number. */
function numberIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  const value = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : null;
}

function objectPath({ params }: Pick<PageContext, "params">): string {
  return `${jobPath({ params })}/objects/${encodeURIComponent(params.number ?? "")}`;
}

async function objectView(page: PageContext): Promise<View> {
  const { api, query, config, nowMs } = page;
  const [job, object] = await Promise.all([api.get<JobView>(jobPath(page)), api.get<ObjectView>(objectPath(page))]);
  const skip = numberIn(query, "skip") ?? 0;
  const here = `/jobs/${job.id}/objects/${object.number}`;
  const isReadable = isReadableOf(job, config);
  const isThere =
    isReadable && object.state === "delivered" && object.replay?.destination == null && object.sent_to === null;
  const read = (): Promise<Child> =>
    api
      .get<LinesView>(`${objectPath(page)}/records`, { skip, limit: LINES_PER_PAGE })
      .then((lines) => <LinesPanel here={here} skip={skip} lines={lines} records={object.records} />);
  return {
    title: `Object ${object.number}`,
    trail: [...jobTrail(job), { href: `/jobs/${job.id}/objects`, label: "Objects" }],
    parts: [
      <ObjectPanel
        {...{ job, object, here, isThere, nowMs, viewer: page.viewer }}
        state={objectState(object, isReadable)}
      />,
      isThere ? read() : <NotHere object={object} isReadable={isReadable} />,
    ],
  };
}

const ObjectPanel: FC<{
  job: JobView;
  object: ObjectView;
  here: string;
  isThere: boolean;
  state: ReturnType<typeof objectState>;
  viewer: PageContext["viewer"];
  nowMs: number;
}> = ({ job, object, here, isThere, state: { kind, words }, viewer, nowMs }) => {
  const fields = { id: `object-${job.id}-${object.number}` };
  return (
    <Panel
      id="object"
      title="About"
      aside={
        isThere ? (
          <a href={`${here}/download`}>Download .gz</a>
        ) : (
          object.state === "waiting" && (
            <div class="actions">
              <Action {...{ viewer, fields }} action="/set-aside/resend" label="Try now" kind="small" />
              <Action {...{ viewer, fields }} action="/set-aside/add" label="Put on hold" kind="small" />
            </div>
          )
        )
      }
    >
      <p>
        <Foreign as="code" text={object.key} max={1_200} />
      </p>
      <Facts
        rows={[
          ["State", <State kind={kind}>{words}</State>],
          ["Records", count(object.records)],
          ["Size", `${bytes(object.bytes)}, ${bytes(object.raw_bytes)} before compression`],
          ["First event", <Time at={object.first_event} />],
          ["Last event", <Time at={object.last_event} />],
          ["Trigger", reasonWords(object, job)],
          ["Created", <Time at={object.cut_at} />],
          ["Attempts", count(object.attempts)],
          ["Uploaded", object.uploaded_at === null ? "not yet" : <Ago at={object.uploaded_at} nowMs={nowMs} />],
          ...(object.sent_to === null ? [] : ([["Sent to", <Foreign text={object.sent_to} max={1_024} />]] as const)),
          ...(object.replay === null
            ? []
            : ([
                ["Copy of", <a href={`/jobs/${job.id}/objects/${object.replay.of}`}>object {object.replay.of}</a>],
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
        {plural(records, "record")}
      </span>
    }
  >
    {lines.length === 0 ? (
      <Empty title={skip === 0 ? "No records" : "No more records"} />
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
    <p class="quiet">Read from your bucket just now.</p>
  </Panel>
);

/** Why the records cannot be read. */
const NotHere: FC<{ object: ObjectView; isReadable: boolean }> = ({ object, isReadable }) => {
  const why =
    object.replay?.destination != null ? (
      <>
        A replay wrote this copy to <Foreign text={object.replay.destination} />, whose keys are not kept. Open the
        original instead.
      </>
    ) : object.state !== "delivered" ? null : object.sent_to === null && !isReadable ? (
      "logship cannot read a log service back. Look for the records there."
    ) : (
      "The object was on hold and sent to another destination, whose keys logship does not keep."
    );
  if (why !== null)
    return (
      <Notice kind="info" title="Records not available here">
        <p>{why}</p>
      </Notice>
    );
  if (object.state === "set_aside")
    return (
      <Notice kind="warn" title="On hold">
        <p>
          logship keeps the object with all its records, and it holds up no other.{" "}
          <a href="/set-aside">Resend it, send it elsewhere, or delete it</a>
        </p>
      </Notice>
    );
  if (object.state === "discarded") return <Notice kind="info" title="Discarded, never delivered" />;
  return <Notice kind="info" title="Not uploaded yet" />;
};

function download(page: PageContext): Promise<PageAnswer> {
  return page.api.file(objectPath(page));
}
