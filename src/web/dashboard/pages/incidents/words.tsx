import type { FC } from "hono/jsx";
import { duration, stamp } from "../../../../base/words.ts";
import { UNTIL_OVER_MS } from "../../../../operate/alerts/incident-rows.ts";
import { visible } from "../../parts/foreign.tsx";
import { type Kind, State } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import type { IncidentView } from "../../views/account.ts";
import { isMuted, MutedFor } from "../alerts/view.tsx";

export const INCIDENTS_AT = "/incidents";

export const incidentPath = (id: string): string => `${INCIDENTS_AT}/${encodeURIComponent(id)}`;

/** Seconds between refreshes; the service checks at most every ten seconds. */
export const REFRESH_S = 15;

/** A time, with its day if that is another one. */
export const When: FC<{ at: string; nowMs: number }> = ({ at, nowMs }) => (
  <Time at={at} short={stamp(at).slice(0, 10) === stamp(nowMs).slice(0, 10)} />
);

/** How long it lasted, or lasts so far. */
export function lastedWords({ since, over_since, recovering_since }: IncidentView, nowMs: number): string {
  const end = over_since ?? recovering_since;
  return duration(Math.max(0, (end === null ? nowMs : Date.parse(end)) - Date.parse(since)));
}

/** By the last check: red only if it is one of the findings. */
const STATES: Readonly<Record<IncidentView["state"], (of: IncidentView) => [Kind, string]>> = {
  open: ({ severity }) => [severity === "error" ? "bad" : "warn", `open, ${severity}`],
  recovering: () => ["info", "recovering"],
  unknown: () => ["warn", "not confirmed: no answer"],
  over: () => ["quiet", "over"],
};

export const IncidentState: FC<{ of: IncidentView; nowMs: number }> = ({ of, nowMs }) => {
  const [kind, words] = STATES[of.state](of);
  return (
    <>
      <State kind={kind}>
        {words}
        {of.over_at !== null && (
          <>
            : over after <Time at={of.over_at} short />
          </>
        )}
      </State>
      {isMuted(of.muted_until, nowMs) && (
        <span class="quiet">
          {" "}
          <MutedUntil at={of.muted_until} nowMs={nowMs} />
        </span>
      )}
    </>
  );
};

export const MutedUntil: FC<{ at: string; nowMs: number }> = ({ at, nowMs }) =>
  Date.parse(at) === UNTIL_OVER_MS ? <>muted until it is over</> : <MutedFor until={at} nowMs={nowMs} />;

/** Who knows that it is open, and who does not take it: `on call, failing: pager`. */
export function toldWords({ told }: IncidentView): string {
  const opened = told.filter(({ call }) => call === "incident.opened");
  const names = (accepted: boolean): string =>
    opened
      .filter((each) => each.accepted === accepted)
      .map(({ receiver }) => visible(receiver.name.slice(0, 80)))
      .join(", ");
  const failing = names(false);
  return [names(true), failing === "" ? "" : `failing: ${failing}`].filter((each) => each !== "").join(", ");
}
