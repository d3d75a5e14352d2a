import type { FC } from "hono/jsx";
import { bytes, count, plural, timeSpan } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { type Kind, State } from "../../parts/panel.tsx";
import { Ago, Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { ReplayView } from "../../views/job.ts";

export function isUnderWay({ state }: Pick<ReplayView, "state">): boolean {
  return state === "running" || state === "waiting";
}

export function replayState(replay: ReplayView): { kind: Kind; words: string } {
  const trouble = replay.missing.objects + replay.damaged.objects + replay.failed.objects;
  switch (replay.state) {
    case "running":
      return { kind: "info", words: "running" };
    case "waiting":
      return { kind: "warn", words: "retrying after an error" };
    case "done":
      if (replay.planned.records === 0) return { kind: "quiet", words: "nothing to ship" };
      return trouble === 0 ? { kind: "ok", words: "done" } : { kind: "warn", words: "done, with gaps" };
    case "cancelled":
      return { kind: "quiet", words: "cancelled" };
    case "failed":
      return { kind: "bad", words: "failed" };
  }
}

/** One replay: its time range, progress and gaps. @param isLinked to its own page. */
export const ReplayEntry: FC<{
  jobId: number;
  replay: ReplayView;
  viewer: Viewer;
  nowMs: number;
  isLinked?: boolean;
}> = ({ jobId, replay, viewer, nowMs, isLinked }) => {
  const { kind, words } = replayState(replay);
  const { planned, done, kind: of } = replay;
  // How many objects a rerun makes is known at its end.
  const what = of === "rerun" ? "record" : "object";
  const over = planned[`${what}s`] - replay.left[`${what}s`];
  const span = timeSpan(replay.since, replay.until);
  return (
    <div class="replay">
      <p>
        <State kind={kind}>{words}</State>{" "}
        {isLinked === true ? <a href={`/jobs/${jobId}/replay/${replay.id}`}>{span}</a> : <strong>{span}</strong>}
        <span class="quiet">
          {of === "rerun" && ` rerun ${replay.id},`} started <Ago at={replay.started_at} nowMs={nowMs} />
          {replay.ended_at !== null && (
            <>
              , ended <Ago at={replay.ended_at} nowMs={nowMs} />
            </>
          )}
        </span>
      </p>
      {replay.destination_conf !== null && (
        <p>
          To <Foreign as="code" text={replay.destination_conf} max={1_024} />
        </p>
      )}
      {planned.records === 0 ? (
        <p>Nothing in this time range.</p>
      ) : (
        <>
          <p>
            <progress max={planned[`${what}s`]} value={over} aria-label={`Replay of ${span}`}>
              {`${over} of ${planned[`${what}s`]}`}
            </progress>
          </p>
          <p>
            {count(done[`${what}s`])} of {plural(planned[`${what}s`], what)} shipped:{" "}
            {of === "rerun" ? plural(done.objects, "object") : plural(done.records, "record")}, {bytes(done.bytes)}
            {replay.filtered + replay.sampled_out > 0 &&
              `; ${count(replay.filtered + replay.sampled_out)} not kept by the job`}
            <Gap what="missing" objects={replay.missing.objects} />
            <Gap what="damaged" objects={replay.damaged.objects} />
            <Gap what="refused" objects={replay.failed.objects} />
            {replay.left[`${what}s`] > 0 &&
              `; ${count(replay.left[`${what}s`])} ${isUnderWay(replay) ? "to go" : "not started"}`}
          </p>
        </>
      )}
      {replay.error_message !== null && (
        <p>
          <Foreign text={replay.error_message} max={1_000} />
          {replay.next_attempt !== null && (
            <>
              {" "}
              Next attempt <Time at={replay.next_attempt} short />.
            </>
          )}
        </p>
      )}
      {isUnderWay(replay) && (
        <Action
          viewer={viewer}
          action={`/jobs/${jobId}/replay/${replay.id}/cancel`}
          label="Cancel"
          about={`the replay of ${span}`}
          kind="small"
        />
      )}
    </div>
  );
};

const Gap: FC<{ what: string; objects: number }> = ({ what, objects }) =>
  objects === 0 ? null : (
    <>
      , <State kind="warn">{`${count(objects)} ${what}`}</State>
    </>
  );
