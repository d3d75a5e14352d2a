import type { Child, FC } from "hono/jsx";
import { HOUR_MS } from "../../../../base/time.ts";
import { plural } from "../../../../base/words.ts";
import { UNTIL_OVER_MS } from "../../../../operate/alerts/incident-rows.ts";
import type { IncidentDetails } from "../../../api/docs/status.ts";
import { type Page, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Facts, type Kind, Panel, State } from "../../parts/panel.tsx";
import { ALERTS_AT, isMuted, labelOf, receiverPath, untilWords } from "../alerts/view.tsx";
import { searchPath } from "../search/address.ts";
import { affectedText, jobNames, LinksOf, placeOf, Subject } from "../status/finding.tsx";
import { incidentsView } from "./list.tsx";
import {
  INCIDENTS_AT,
  IncidentState,
  incidentPath,
  lastedWords,
  MutedUntil,
  REFRESH_S,
  toldWords,
  When,
} from "./words.tsx";

export const incidentPages: readonly Page[] = [
  { path: INCIDENTS_AT, get: { permission: "logs:read", show: incidentsView } },
  { path: `${INCIDENTS_AT}/:incident_id`, get: { permission: "logs:read", show: incidentView } },
  { path: `${INCIDENTS_AT}/:incident_id/mute`, post: { permission: "logs:edit", take: mute } },
];

type At = Pick<PageContext, "viewer" | "nowMs">;

const routeOf = ({ params }: PageContext): string =>
  `/logship/incidents/${encodeURIComponent((params.incident_id ?? "").toWellFormed())}`;

async function incidentView(context: PageContext): Promise<View> {
  const { api } = context;
  const of = await api.get<IncidentDetails>(routeOf(context));
  const names = await jobNames(api, [of]);
  const about = <Subject of={of} viewer={context.viewer} names={names} />;
  return {
    title: visible(of.summary.slice(0, 300)),
    parts: [<About of={of} about={about} {...context} />, <Timeline of={of} nowMs={context.nowMs} />],
  };
}

const About: FC<{ of: IncidentDetails; about: Child } & At> = ({ of, about, viewer, nowMs }) => {
  const place = of.state === "over" ? null : placeOf(of, viewer);
  return (
    <Panel id="incident" title="Incident" isMain refresh={of.state === "over" ? undefined : REFRESH_S}>
      <p class="lead">
        <strong class="figure">{lastedWords(of, nowMs)}</strong> <IncidentState of={of} nowMs={nowMs} />
      </p>
      <Facts
        rows={[
          ["About", about],
          ["Began", <When at={of.since} nowMs={nowMs} />],
          ...(of.over_since === null ? [] : [["Over since", <When at={of.over_since} nowMs={nowMs} />] as const]),
          ...(of.flaps === 0 ? [] : [["Came back", plural(of.flaps, "time")] as const]),
          ...(of.affected === null ? [] : [["Affected", affectedText(of.affected)] as const]),
          ["Told", <a href={ALERTS_AT}>{toldWords(of) || "no one"}</a>],
          ["Kind", <code>{of.kind}</code>],
        ]}
      />
      {of.state !== "over" && (
        <>
          <h3>What to do</h3>
          <Foreign as="p" text={of.advice} />
        </>
      )}
      <p class="ways">
        <LinksOf of={of} />
        {of.subject.type === "search" && <a href={`/searches/${of.subject.id}`}>Saved search</a>}
        {of.subject.type === "function" && (
          <a href={searchPath({ function: of.subject.name.toWellFormed(), last: "1h" })}>Search its records</a>
        )}
        {place !== null && <a href={place.href}>{place.label}</a>}
      </p>
      {of.state !== "over" && <Mutes of={of} viewer={viewer} nowMs={nowMs} />}
    </Panel>
  );
};

/** How long one may mute, in hours. */
const MUTES = { "1": "1 hour", "8": "8 hours", over: "until it is over" } as const;

const Mutes: FC<{ of: IncidentDetails } & At> = ({ of: { id, muted_until, muted_by }, viewer, nowMs }) => {
  const act = { viewer, action: `${incidentPath(id)}/mute` };
  return (
    <div class="actions">
      {isMuted(muted_until, nowMs) && (
        <>
          <span>
            No one is told: <MutedUntil at={muted_until} nowMs={nowMs} />
            {muted_by !== null && (
              <>
                {" "}
                by <Foreign text={muted_by} max={120} />
              </>
            )}
          </span>
          <Action {...act} label="Unmute" kind="primary" />
        </>
      )}
      {Object.entries(MUTES).map(([hours, label]) => (
        <Action {...act} label={`Mute ${hours === "over" ? label : `for ${label}`}`} fields={{ hours }} />
      ))}
    </div>
  );
};

async function mute(context: PageContext, form: URLSearchParams): Promise<Response> {
  const hours = form.get("hours");
  const path = `${routeOf(context)}/mute`;
  if (hours === null || !Object.hasOwn(MUTES, hours)) await context.api.change("DELETE", path);
  else {
    const until = hours === "over" ? hours : new Date(context.nowMs + Number(hours) * HOUR_MS).toISOString();
    await context.api.change("PUT", path, { until });
  }
  return seeOther(incidentPath(context.params.incident_id ?? ""));
}

type Told = IncidentDetails["told"][number];

interface Entry {
  at: string;
  kind: Kind;
  what: Child;
  text?: string;
}

/** What happened, the latest first. */
const Timeline: FC<{ of: IncidentDetails; nowMs: number }> = ({ of, nowMs }) => (
  <Panel id="timeline" title="Timeline" refresh={of.state === "over" ? undefined : REFRESH_S}>
    <ol class="timeline">
      {entriesOf(of, nowMs)
        .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
        .reverse()
        .map(({ at, kind, what, text }) => (
          <li>
            <When at={at} nowMs={nowMs} />
            <div>
              <State kind={kind}>{what}</State>
              {text !== undefined && <Foreign as="p" text={text} max={1_000} />}
            </div>
          </li>
        ))}
    </ol>
  </Panel>
);

/** In the order in which those of one moment came. */
function entriesOf(of: IncidentDetails, nowMs: number): Entry[] {
  const { severity, subject, since, opened_at, over_since, events, told } = of;
  const isBad: Kind = severity === "error" ? "bad" : "warn";
  const first = events.find(({ at }) => at === opened_at);
  const rest = events.filter((each) => each !== first && !(each.type === "gone" && each.at === over_since));
  return [
    { at: since, kind: isBad, what: subject.type === "search" ? "Threshold crossed" : "Began" },
    { at: opened_at, kind: isBad, what: "Incident opened", ...(first?.summary && { text: first.summary }) },
    ...rest.map((each) => entryOf(each, nowMs)),
    ...(over_since === null ? [] : [{ at: over_since, kind: "ok", what: "Over: not seen since" } as const]),
    ...told.map((each): Entry => ({ at: each.at, kind: each.accepted ? "info" : "warn", what: toldEntry(each) })),
  ];
}

const EVENTS: Readonly<Record<IncidentDetails["events"][number]["type"], [Kind, string]>> = {
  said: ["quiet", "Now says"],
  worse: ["bad", "Became an error"],
  gone: ["ok", "No longer seen"],
  returned: ["warn", "Seen again"],
  muted: ["quiet", "Muted"],
  unmuted: ["quiet", "Unmuted"],
};

function entryOf({ at, type, summary, by = null, until }: IncidentDetails["events"][number], nowMs: number): Entry {
  const [kind, words] = EVENTS[type];
  const isUntilOver = until !== undefined && Date.parse(until) === UNTIL_OVER_MS;
  const what = (
    <>
      {words}
      {by !== null && (
        <>
          {" "}
          by <Foreign text={by} max={120} />
        </>
      )}
      {until !== undefined && ` until ${isUntilOver ? "it is over" : untilWords(until, nowMs)}`}
    </>
  );
  return { at, kind, what, ...(summary !== undefined && { text: summary }) };
}

/** A receiver's answer. */
const toldEntry = ({ receiver: { id, name, format }, call, answer, accepted, tries }: Told): Child => (
  <>
    <a href={receiverPath(id)}>
      <Foreign text={name} max={120} />
    </a>{" "}
    ({labelOf(format)}) {accepted ? "was told" : "does not take"} that it is{" "}
    {call === "incident.over" ? "over" : "open"}: <Foreign text={answer} max={200} />
    {tries > 1 && `, ${plural(tries, "try", "tries")}`}
  </>
);
