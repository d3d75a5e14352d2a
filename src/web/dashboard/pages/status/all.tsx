import type { Child } from "hono/jsx";
import { duration, plural } from "../../../../base/words.ts";
import type { InnerAnswer } from "../../inner-api.ts";
import { type Page, type PageContext, REFRESH_HEADER, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Action, may } from "../../parts/form.tsx";
import { Pager, pageOf } from "../../parts/pager.tsx";
import { Empty, figures, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import type { IncidentView, StatusView } from "../../views/account.ts";
import { isMuted, MutedFor, readReceivers } from "./alert-view.tsx";
import { AlertsPanel } from "./alerts-panel.tsx";
import {
  Findings,
  isSilent,
  type JobNames,
  jobNames,
  LinksOf,
  recoveringWords,
  Severity,
  Subject,
} from "./finding.tsx";

export const wrongPages: readonly Page[] = [{ path: "/status", get: { permission: "logs:read", show: statusView } }];

/** Seconds between refreshes; the service checks at most every ten seconds. */
const REFRESH_S = 15;

const PER_PAGE = 20;

async function statusView(context: PageContext): Promise<View> {
  const { api } = context;
  const status = api.send<StatusView>("GET", "/logship/status");
  // After the check: an incident that it ends is in the list.
  const listed = status.then(() => api.list<IncidentView>("/logship/incidents"));
  const incidents = Promise.all([status, listed]).then(([answer, { items }]) => incidentsOf(answer, items));
  return {
    title: "Status",
    parts: [
      findings(context, status),
      openIncidents(context, incidents),
      // Not refreshed.
      ...(context.request.headers.has(REFRESH_HEADER) ? [] : [alerts(context)]),
      pastIncidents(context, incidents),
    ],
  };
}

interface Incidents {
  /** By the same check as the findings; without one, by the last. */
  open: readonly IncidentView[];
  past: readonly IncidentView[];
  isChecked: boolean;
}

/** @param items all of them, asked for after the check. */
function incidentsOf(status: InnerAnswer<StatusView>, items: readonly IncidentView[]): Incidents {
  const open = status.ok ? status.result.incidents : items.filter(({ state }) => state !== "over");
  const ids = new Set(open.map(({ id }) => id));
  const past = items.filter(({ id, state }) => state === "over" && !ids.has(id));
  return { open, past, isChecked: status.ok };
}

/** Always refreshed: an outage of the status check ends too. */
async function findings({ api, viewer, nowMs }: PageContext, status: Promise<InnerAnswer<StatusView>>): Promise<Child> {
  const answer = await status;
  const names = await jobNames(api, answer.ok ? answer.result.findings : []);
  return (
    <Panel
      id="findings"
      title="Now"
      refresh={REFRESH_S}
      aside={
        answer.ok && (
          <span class="quiet">
            Checked <Time at={answer.result.checked_at} />
          </span>
        )
      }
    >
      {answer.ok ? (
        <Said status={answer.result} viewer={viewer} names={names} nowMs={nowMs} />
      ) : (
        <Errors title="Status unavailable" errors={answer.errors} />
      )}
    </Panel>
  );
}

const Said = ({ status, ...who }: { status: StatusView; names: JobNames } & Pick<PageContext, "viewer" | "nowMs">) => {
  const silent = status.findings.filter(isSilent);
  const others = status.findings.filter((each) => !isSilent(each));
  const groups = [
    { title: "Errors: records are delayed or lost", of: others.filter(isError) },
    {
      title: "Warnings: delivery may suffer soon, or a Worker needs a look",
      of: others.filter((each) => !isError(each)),
    },
    { title: "No answer: this list lacks problems of these parts", of: silent },
  ].filter(({ of }) => of.length > 0);
  return (
    <>
      {status.ok ? (
        <Notice kind="ok" title="No problems">
          <p>
            All parts of the service answered, and none reports a problem.
            <Recovering incidents={status.incidents} />
          </p>
        </Notice>
      ) : (
        <Notice
          kind={status.errors > 0 ? "bad" : "warn"}
          title={[
            ...(status.errors > 0 ? [plural(status.errors, "error")] : []),
            ...(status.warnings > 0 ? [plural(status.warnings, "warning")] : []),
          ].join(", ")}
        />
      )}
      {groups.map(({ title, of }) => (
        <>
          <h3>{title}</h3>
          <Findings findings={of} {...who} />
        </>
      ))}
      {status.notices.length > 0 && (
        <>
          <h3>Suggestions</h3>
          {[...Map.groupBy(status.notices, ({ advice }) => advice)].map(([advice, of]) => (
            <>
              {of.map(({ summary }) => (
                <p>{summary}</p>
              ))}
              <p class="quiet">{advice}</p>
            </>
          ))}
        </>
      )}
    </>
  );
};

const isError = ({ severity }: { severity: string }): boolean => severity === "error";

/** ` 1 incident is recovering.`, as a link to it. */
const Recovering = ({ incidents }: { incidents: readonly IncidentView[] }) => {
  const words = recoveringWords(incidents);
  return words === null ? null : (
    <>
      {" "}
      <a href="#incidents">{words}</a>.
    </>
  );
};

async function openIncidents(context: PageContext, incidents: Promise<Incidents>): Promise<Child> {
  const { open, isChecked } = await incidents;
  const names = await jobNames(context.api, open);
  return (
    <Panel id="incidents" title="Open incidents" refresh={REFRESH_S}>
      {open.length === 0 ? (
        <Empty title="No open incidents">
          <p>
            A problem that lasts a minute opens an incident. The incident ends after 15 minutes without the problem.
          </p>
        </Empty>
      ) : (
        <>
          {!isChecked && <p>As of the last check that answered.</p>}
          <IncidentTable caption="Open incidents" incidents={open} names={names} {...context} />
        </>
      )}
    </Panel>
  );
}

async function pastIncidents(context: PageContext, incidents: Promise<Incidents>): Promise<Child> {
  const { past: over } = await incidents;
  const page = pageOf(context.query);
  const shown = over.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  const names = await jobNames(context.api, shown);
  return (
    <Panel id="past" title="Past incidents">
      {over.length === 0 ? (
        <Empty title="No incidents in the last 30 days" />
      ) : (
        <>
          {shown.length > 0 && <IncidentTable caption="Past incidents" incidents={shown} names={names} {...context} />}
          <Pager of="past incidents" here={context.here} page={page} perPage={PER_PAGE} total={over.length} />
        </>
      )}
    </Panel>
  );
}

const IncidentTable = ({
  caption,
  incidents,
  names,
  viewer,
  nowMs,
}: { caption: string; incidents: readonly IncidentView[]; names: JobNames } & Pick<
  PageContext,
  "viewer" | "nowMs"
>) => (
  <Table
    caption={caption}
    columns={["What", "State", "About", "Began", "Lasted", figures("Recurred"), ""]}
    rows={incidents.map((each) => [
      <>
        <Foreign text={each.summary} max={600} /> <code class="quiet">{each.kind}</code>
        <div class="ways">
          <LinksOf of={each} />
        </div>
      </>,
      <IncidentState of={each} />,
      <Subject of={each} viewer={viewer} names={names} />,
      <Time at={each.since} />,
      <Lasted of={each} nowMs={nowMs} />,
      each.flaps === 0 ? "no" : plural(each.flaps, "time"),
      <Mute of={each} viewer={viewer} nowMs={nowMs} />,
    ])}
  />
);

/** What the last check says of an incident: red only if it is one of the findings. */
const IncidentState = ({ of: { state, severity, over_at } }: { of: IncidentView }) => {
  if (state === "open") return <Severity of={severity} />;
  if (state === "over") return <State kind="quiet">{severity}, over</State>;
  if (state === "unknown") return <State kind="warn">{severity}, not confirmed: no answer</State>;
  return (
    <State kind="quiet">
      {severity}, recovering
      {over_at !== null && (
        <>
          : over after <Time at={over_at} short />
        </>
      )}
    </State>
  );
};

const Lasted = ({ of: { since, over_since, recovering_since }, nowMs }: { of: IncidentView; nowMs: number }) => {
  const end = over_since ?? recovering_since;
  if (end === null) return <>{lasted(since, nowMs)} so far</>;
  return (
    <>
      {lasted(since, Date.parse(end))}, until <Time at={end} />
    </>
  );
};

function lasted(since: string, untilMs: number): string {
  return duration(Math.max(0, untilMs - Date.parse(since)));
}

async function alerts(context: PageContext): Promise<Child> {
  const { viewer, nowMs } = context;
  if (!may(viewer, "logs:edit"))
    return (
      <Panel id="alerts" title="Alerts">
        <p class="quiet">
          Needs the permission <code>logs:edit</code>.
        </p>
      </Panel>
    );
  return <AlertsPanel receivers={await readReceivers(context)} viewer={viewer} nowMs={nowMs} leads />;
}

/** Mutes for eight hours, or ends that. */
const Mute = ({ of: { id, summary, state, muted_until, muted_by }, viewer, nowMs }: MuteProps) => {
  if (state === "over") return null;
  const muted = isMuted(muted_until, nowMs);
  return (
    <>
      {muted && (
        <span class="quiet">
          <MutedFor until={muted_until} nowMs={nowMs} />
          {muted_by !== null && (
            <>
              , by <Foreign text={muted_by} max={80} />
            </>
          )}{" "}
        </span>
      )}
      <Action
        viewer={viewer}
        action={`/status/incidents/${id}/mute`}
        label={muted ? "Unmute" : "Mute for 8 hours"}
        about={visible(summary).slice(0, 120)}
        kind="small"
        fields={muted ? {} : { hours: "8" }}
      />
    </>
  );
};

type MuteProps = { of: IncidentView } & Pick<PageContext, "viewer" | "nowMs">;
