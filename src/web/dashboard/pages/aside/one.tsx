import type { Child } from "hono/jsx";
import type * as z from "zod";
import { bytes, count } from "../../../../base/words.ts";
import type { Shown } from "../../../api/docs/set-aside.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Pager, pageOf } from "../../parts/pager.tsx";
import { Empty, Facts, Notice, Panel } from "../../parts/panel.tsx";
import { deletePage, type Question } from "../../parts/question.tsx";
import { Records, recordOfLine } from "../../parts/record.tsx";
import { Time } from "../../parts/values.tsx";
import { type AsideView, AT, amountOf, placeOf, Whence } from "./entry.tsx";

export const asideOnePages: readonly Page[] = [
  { path: `${AT}/:id`, get: { permission: "logs:edit", show: oneView } },
  { path: `${AT}/:id/download`, get: { permission: "logs:edit", show: download } },
  deletePage(`${AT}/:id/delete`, "logs:edit", askToDelete, pathOf, `${AT}?deleted`),
];

const PER_PAGE = 20;

/** Characters of base64 shown of bytes that are no records; the download has all. */
const BYTES_SHOWN = 20_000;

type Read = z.infer<typeof Shown>;

function pathOf({ params }: PageContext): string {
  return `/logship/set-aside/${encodeURIComponent(params.id ?? "")}`;
}

async function oneView(context: PageContext): Promise<View> {
  const entry = await context.api.get<Read>(pathOf(context));
  const { viewer } = context;
  return {
    title: entry.id,
    parts: [
      <Panel
        id="about"
        title="Details"
        aside={
          <div class="actions">
            {entry.kind !== "entry" && (
              <a class="button small" href={`${placeOf(entry.id)}/download`}>
                Download
              </a>
            )}
            {entry.resendable && (
              <Action viewer={viewer} action={`${AT}/resend`} label="Resend" kind="small" fields={{ id: entry.id }} />
            )}
            {entry.kind === "object" && entry.resendable && (
              <a href={`${placeOf(entry.id)}/elsewhere`}>Send elsewhere</a>
            )}
            <a href={`${placeOf(entry.id)}/delete`}>Delete</a>
          </div>
        }
      >
        <About entry={entry} />
        {entry.why_not !== null ? (
          <Notice kind="warn" title="Cannot be resent">
            <Foreign as="p" text={entry.why_not} max={600} />
          </Notice>
        ) : (
          <p class="quiet">{MEANING[entry.kind]}</p>
        )}
      </Panel>,
      entry.kind === "message" && <Content entry={entry} {...context} />,
    ],
  };
}

const MEANING = {
  message:
    "No job has it. Resending delivers it to every job that was enabled when it arrived, with the job's current filter and format.",
  object:
    "Resending uploads it at once, to the current destination of the job, or to another destination if you send it elsewhere. If the destination rejects it, it returns here.",
  entry:
    "These records stop the process that prepares them for the job, so it goes on without them. Resending tries them again, for example after a new deployment.",
} as const;

const About = ({ entry }: { entry: Read | AsideView }) => {
  const rows: (readonly [string, Child])[] = [
    ["Type", <Whence of={entry} />],
    ["Reason", <Foreign text={entry.why} max={600} />],
    ["Holds", amountOf(entry)],
    ["Size", bytes(entry.bytes)],
    ["On hold since", <Time at={entry.set_aside_at} />],
  ];
  if (entry.kind === "message") {
    rows.push(["Received", entry.taken_in === null ? "unknown" : <Time at={entry.taken_in} />]);
    rows.push(["Queue", <Foreign text={entry.queue} max={120} />]);
  } else if (entry.kind === "object") {
    if (entry.answer !== null) rows.push(["Answer", <Foreign text={entry.answer} max={300} />]);
    rows.push(["Key", <Foreign text={entry.key} max={1_100} />]);
    if ("bytes_raw" in entry) {
      rows.push(["Before compression", bytes(entry.bytes_raw)]);
      rows.push(["Events from", <Time at={entry.first_event} />]);
      rows.push(["Events until", <Time at={entry.last_event} />]);
      rows.push(["Cut", <Time at={entry.cut_at} />]);
    }
  }
  return <Facts rows={rows} />;
};

const Content = ({
  entry,
  query,
  here,
}: { entry: Read & { kind: "message" } } & Pick<PageContext, "query" | "here">) => {
  const { records, sources, base64, complete } = entry.content;
  if (records === null)
    return (
      <Panel id="content" title="Content">
        <p class="quiet">Cannot be read as records. {complete ? "The content" : "Its beginning"} in Base64:</p>
        <Foreign as="pre" class="text" text={base64 ?? ""} max={BYTES_SHOWN} />
      </Panel>
    );
  const page = pageOf(query);
  const first = (page - 1) * PER_PAGE;
  return (
    <Panel
      id="content"
      title={complete ? `Records: ${count(records.length)}` : `First ${count(records.length)} records`}
      aside={!complete && <span class="quiet">The download has all records.</span>}
    >
      {records.length === 0 && <Empty title="No records" />}
      {records.length > 0 && (
        <Records
          label="Records of the message"
          records={records.slice(first, first + PER_PAGE).map((text, i) => ({
            record: recordOfLine(text),
            number: first + i + 1,
            source: sources?.[first + i],
          }))}
        />
      )}
      <Pager of="records" here={here} page={page} perPage={PER_PAGE} total={records.length} />
    </Panel>
  );
};

function download(context: PageContext): Promise<Response> {
  return context.api.file(pathOf(context));
}

async function askToDelete(context: PageContext): Promise<Question> {
  const entry = await context.api.get<Read>(pathOf(context));
  return {
    title: `Delete ${entry.id}`,
    back: placeOf(entry.id),
    label: "Delete permanently",
    parts: [
      <Panel id="about" title="Details">
        <About entry={entry} />
      </Panel>,
      <Notice kind="warn" title="This cannot be undone">
        <p>
          {entry.kind === "message"
            ? `${amountOf(entry)} will count as discarded by the account. `
            : `${amountOf(entry)} of job ${entry.job} will count as discarded. `}
          {entry.kind !== "entry" && (
            <>
              <a href={`${placeOf(entry.id)}/download`}>Download it first</a> if you may need it.
            </>
          )}
        </p>
      </Notice>,
    ],
  };
}
