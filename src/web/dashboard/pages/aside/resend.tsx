import type { Child } from "hono/jsx";
import type * as z from "zod";
import { count, plural } from "../../../../base/words.ts";
import type { Resent, ResentAll } from "../../../api/docs/set-aside.ts";
import { type InnerAnswer, unwrap } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Empty, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { AT, placeOf } from "./entry.tsx";

export const resendPages: readonly Page[] = [
  { path: `${AT}/resend`, post: { permission: "logs:edit", take: resend } },
  { path: `${AT}/add`, post: { permission: "logs:edit", take: add } },
  { path: `${AT}/resend-all`, post: { permission: "logs:edit", take: resendAll } },
];

/** Entries resent by one form at most. */
const AT_ONCE = 100;

/** How long entries are resent, in ms; the rest stays, and the page says so. */
const PATIENCE_MS = 25_000;

interface Tried {
  id: string;
  /** null: no time left. */
  answer: InnerAnswer<z.infer<typeof Resent>> | null;
}

/**
 * Resends the entries named in a form and shows each outcome. Repeating it changes nothing: resent
 * entries are gone.
 */
async function resend({ api, platform }: PageContext, form: URLSearchParams): Promise<View> {
  const ids = [...new Set(form.getAll("id"))].slice(0, AT_ONCE);
  const until = platform.now() + PATIENCE_MS;
  const tried: Tried[] = [];
  for (const id of ids) {
    const isLate = platform.now() >= until;
    const path = `/logship/set-aside/${encodeURIComponent(id)}/resend`;
    tried.push({ id, answer: isLate ? null : await api.send<z.infer<typeof Resent>>("POST", path) });
  }
  const sent = tried.filter(({ answer }) => answer?.ok === true).length;
  const refused = tried.find(({ answer }) => answer?.ok === false)?.answer;
  return {
    title: "Resend",
    // A single rejected entry sets the status of the page.
    status: ids.length === 0 ? 400 : tried.length === 1 && refused?.ok === false ? refused.status : 200,
    parts: [
      <Notice
        kind={sent === tried.length && sent > 0 ? "ok" : "warn"}
        title={`${count(sent)} of ${count(tried.length)} resent`}
      />,
      <Panel id="tried" title="Results">
        {tried.length === 0 ? (
          <Empty title="No entries chosen" />
        ) : (
          <Table
            caption="Results"
            columns={["Entry", "Outcome", "Details"]}
            rows={tried.map(({ id, answer }) => [<Name id={id} answer={answer} />, outcome(answer), detail(answer)])}
          />
        )}
      </Panel>,
      <p>
        <a href={AT}>Back to the list</a>
      </p>,
    ],
  };
}

/** Sets an upload aside that waits; its own page has what can be done with it then. */
async function add({ api }: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const id = form.get("id") ?? "";
  unwrap(await api.send("PUT", `/logship/set-aside/${encodeURIComponent(id)}`));
  return seeOther(placeOf(id));
}

/** Resends the oldest entries, as many as one request may, and leads on to the next. */
async function resendAll({ api, viewer }: PageContext, form: URLSearchParams): Promise<View> {
  const skip = /^\d{1,9}$/.test(form.get("skip") ?? "") ? Number(form.get("skip")) : 0;
  const answer = await api.send<z.infer<typeof ResentAll>>("POST", "/logship/set-aside/resend", { skip });
  const { sent, events, records, stayed, left } = unwrap(answer).result;
  return {
    title: "Resend",
    parts: [
      <Notice kind={stayed === 0 ? "ok" : "warn"} title={`${plural(sent, "entry", "entries")} resent`}>
        <p>
          {plural(events, "event")} to their jobs, {plural(records, "record")} waiting for upload.{" "}
          {stayed > 0 && `${plural(stayed, "entry", "entries")} could not be resent, and stayed.`}
        </p>
      </Notice>,
      left > 0 ? (
        <Action
          viewer={viewer}
          action={`${AT}/resend-all`}
          label={`Resend the next of ${count(left)} left`}
          kind="primary"
          fields={{ skip: String(stayed) }}
        />
      ) : null,
      <p>
        <a href={AT}>Back to the list</a>
      </p>,
    ],
  };
}

/** A resent entry has no page any more. */
const Name = ({ id, answer }: Tried) =>
  answer?.ok === true ? (
    <Foreign text={id} max={80} />
  ) : (
    <a href={placeOf(id)}>
      <Foreign text={id} max={80} />
    </a>
  );

function outcome(answer: Tried["answer"]): Child {
  if (answer === null) return <State kind="warn">not tried</State>;
  if (answer.ok) return <State kind="ok">resent</State>;
  return answer.status === 404 ? <State kind="quiet">no longer here</State> : <State kind="bad">still on hold</State>;
}

function detail(answer: Tried["answer"]): Child {
  if (answer === null) return "Not tried: time was up. Resend it.";
  if (!answer.ok) return <Foreign text={answer.errors.map(({ message }) => message).join("; ")} />;
  const { result } = answer;
  if (result.kind === "object")
    return (
      <>
        {plural(result.records, "record")} of <a href={`/jobs/${result.job}`}>job {result.job}</a> waiting for upload as{" "}
        <Foreign text={result.key} max={1_100} />. If the destination rejects it again, it returns here.
      </>
    );
  if (result.kind === "entry") return <>{plural(result.records, "record")} waiting for upload.</>;
  return (
    <>
      {plural(result.events, "event")}: {result.routed} to jobs, {result.not_enabled} with logging off,{" "}
      {result.not_routed} without a job. <Jobs of={result.jobs} what="Sent to" />
      <Jobs of={result.gone_jobs} what="Deleted meanwhile" />
    </>
  );
}

const Jobs = ({ of, what }: { of: readonly number[]; what: string }) =>
  of.length === 0 ? null : (
    <span>
      {what}: {of.length === 1 ? "job" : "jobs"} {of.join(", ")}.{" "}
    </span>
  );
