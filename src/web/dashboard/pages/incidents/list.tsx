import type { Child } from "hono/jsx";
import type { InnerAnswer } from "../../inner-api.ts";
import type { PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Pager, pageOf } from "../../parts/pager.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import type { IncidentView, StatusView } from "../../views/account.ts";
import { jobNames, Subject } from "../status/finding.tsx";
import { IncidentState, incidentPath, lastedWords, REFRESH_S, toldWords, When } from "./words.tsx";

const PER_PAGE = 20;

export async function incidentsView(context: PageContext): Promise<View> {
  const { api } = context;
  const status = api.send<StatusView>("GET", "/logship/status");
  // After the check: an incident that it ends is in the list.
  const listed = status.then(() => api.list<IncidentView>("/logship/incidents"));
  const incidents = Promise.all([status, listed]).then(([answer, { items }]) => incidentsOf(answer, items));
  return { title: "Incidents", parts: [open(context, incidents), past(context, incidents)] };
}

interface Incidents {
  /** By the latest check; if that does not answer, by the one before. */
  open: readonly IncidentView[];
  past: readonly IncidentView[];
  isChecked: boolean;
}

/** @param items all of them, asked for after the check. */
function incidentsOf(status: InnerAnswer<StatusView>, items: readonly IncidentView[]): Incidents {
  const open = status.ok ? status.result.incidents : items.filter(({ state }) => state !== "over");
  const ids = new Set(open.map(({ id }) => id));
  const past = items.filter(({ id, state }) => state === "over" && !ids.has(id));
  return { open: open.toSorted((a, b) => rank(a) - rank(b)), past, isChecked: status.ok };
}

/** What is seen first, errors before warnings; the latest of each first. */
function rank({ state, severity, opened_at }: IncidentView): number {
  const isFirst = [state !== "recovering", severity === "error"].map(Number);
  return -Number.parseInt(isFirst.join(""), 2) * 1e15 - Date.parse(opened_at);
}

async function open(context: PageContext, incidents: Promise<Incidents>): Promise<Child> {
  const { open, isChecked } = await incidents;
  return (
    <Panel id="incidents" title="Open" refresh={REFRESH_S}>
      {!isChecked && <p>The check does not answer: as of the last one that did.</p>}
      {open.length === 0 ? (
        <Empty title="No open incidents">
          <p>
            A problem that lasts a minute opens an incident. It ends after 15 minutes without the problem. What is found
            right now is on <a href="/status">Status</a>.
          </p>
        </Empty>
      ) : (
        await table("Open incidents", open, context)
      )}
    </Panel>
  );
}

async function past(context: PageContext, incidents: Promise<Incidents>): Promise<Child> {
  const { past: over } = await incidents;
  const page = pageOf(context.query);
  const shown = over.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return (
    <Panel id="past" title="Over">
      {over.length === 0 && <p class="quiet">No incident ended in the last 30 days.</p>}
      {shown.length > 0 && (await table("Past incidents", shown, context))}
      <Pager of="past incidents" here={context.here} page={page} perPage={PER_PAGE} total={over.length} />
    </Panel>
  );
}

async function table(caption: string, incidents: readonly IncidentView[], { api, viewer, nowMs }: PageContext) {
  const names = await jobNames(api, incidents);
  return (
    <Table
      caption={caption}
      columns={["Incident", "State", "About", "Began", "Lasted", "Told"]}
      rows={incidents.map((each) => [
        <a href={incidentPath(each.id)}>
          <Foreign text={each.summary} max={300} />
        </a>,
        <IncidentState of={each} nowMs={nowMs} />,
        <Subject of={each} viewer={viewer} names={names} />,
        <When at={each.since} nowMs={nowMs} />,
        <>
          {lastedWords(each, nowMs)}
          {each.flaps > 0 && <span class="quiet">, came back {each.flaps} ×</span>}
        </>,
        toldWords(each) || <span class="quiet">no one</span>,
      ])}
    />
  );
}
