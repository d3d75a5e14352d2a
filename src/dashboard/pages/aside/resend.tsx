import type { Child } from "hono/jsx";
import type { InnerAnswer } from "../../inner-api.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { count, plural } from "../../parts/values.tsx";
import { AT, placeOf, TRAIL } from "./entry.tsx";

export const resendPages: readonly Page[] = [{ path: `${AT}/resend`, post: { permission: "logs:edit", take: resend } }];

/** Most that are sent again by one form: a page of the list. */
const AT_ONCE = 100;

/** How long they are sent one after another, in ms: what is left then is said, and stays. */
const PATIENCE_MS = 25_000;

type Resent =
  | {
      kind: "message";
      jobs: readonly number[];
      gone_jobs: readonly number[];
      events: number;
      routed: number;
      not_enabled: number;
      not_routed: number;
    }
  | { kind: "object"; job: number; key: string; records: number };

interface Tried {
  id: string;
  /** null: there was no time for it. */
  answer: InnerAnswer<Resent> | null;
}

/** Sends again what a form names, and says of each what became of it. Sent once more, it changes nothing: what is sent is not there any more. */
async function resend({ api, platform }: PageContext, form: URLSearchParams): Promise<View> {
  const ids = [...new Set(form.getAll("id"))].slice(0, AT_ONCE);
  const until = platform.now() + PATIENCE_MS;
  const tried: Tried[] = [];
  for (const id of ids) {
    const isLate = platform.now() >= until;
    const path = `/logship/set-aside/${encodeURIComponent(id)}/resend`;
    tried.push({ id, answer: isLate ? null : await api.send<Resent>("POST", path) });
  }
  const sent = tried.filter(({ answer }) => answer?.ok === true).length;
  const refused = tried.find(({ answer }) => answer?.ok === false)?.answer;
  return {
    title: "Send again",
    section: "set-aside",
    trail: TRAIL,
    // One alone that was refused is a page that says so; of several each says it.
    status: ids.length === 0 ? 400 : tried.length === 1 && refused?.ok === false ? refused.status : 200,
    parts: [
      <Notice
        kind={sent === tried.length && sent > 0 ? "ok" : "warn"}
        title={`${count(sent)} of ${count(tried.length)} sent again`}
      />,
      <Panel id="tried" title="What became of each">
        {tried.length === 0 ? (
          <Empty title="Nothing was named" />
        ) : (
          <Table
            caption="What became of each"
            columns={[{ label: "What" }, { label: "Outcome" }, { label: "In detail" }]}
            rows={tried.map(({ id, answer }) => [<Name id={id} answer={answer} />, outcome(answer), detail(answer)])}
          />
        )}
      </Panel>,
      <p>
        <a href={AT}>Back to what is set aside</a>
      </p>,
    ],
  };
}

/** What is sent is not there to be looked at any more. */
const Name = ({ id, answer }: Tried) =>
  answer?.ok === true ? (
    <Foreign text={id} max={80} />
  ) : (
    <a href={placeOf(id)}>
      <Foreign text={id} max={80} />
    </a>
  );

function outcome(answer: Tried["answer"]): Child {
  if (answer === null) return <State kind="warn">not tried: no time left</State>;
  if (answer.ok) return <State kind="ok">sent</State>;
  return answer.status === 404 ? (
    <State kind="quiet">not here any more</State>
  ) : (
    <State kind="bad">still set aside</State>
  );
}

function detail(answer: Tried["answer"]): Child {
  if (answer === null) return "Send it again once more.";
  if (!answer.ok) return <Foreign text={answer.errors.map(({ message }) => message).join("; ")} />;
  const { result } = answer;
  if (result.kind === "object")
    return (
      <>
        {plural(result.records, "record waits", "records wait")} for the upload of{" "}
        <a href={`/jobs/${result.job}`}>job {result.job}</a> again, as <Foreign text={result.key} max={1_100} />. If its
        store refuses it again, it comes back here.
      </>
    );
  return (
    <>
      {plural(result.events, "event")}: {result.routed} to a job, {result.not_enabled} of functions that were switched
      off, {result.not_routed} for no job. <Jobs of={result.jobs} what="They have it now" />
      <Jobs of={result.gone_jobs} what="Deleted since, and without it" />
    </>
  );
}

const Jobs = ({ of, what }: { of: readonly number[]; what: string }) =>
  of.length === 0 ? null : (
    <span>
      {what}: {of.length === 1 ? "job" : "jobs"} {of.join(", ")}.{" "}
    </span>
  );
