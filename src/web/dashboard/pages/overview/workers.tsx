import type { Child, FC } from "hono/jsx";
import { count, duration, plural, share } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { figures, Panel, Table } from "../../parts/panel.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, FunctionDayView, StatusView } from "../../views/account.ts";
import { functionPath, hasPath } from "../functions/logging.tsx";
import { versionName } from "../problems/words.tsx";
import { Mark } from "../status/finding.tsx";
import type { Workers } from "./asks.ts";
import { REFRESH_S } from "./wrong.tsx";

interface Asked {
  workers: Workers | null;
  status: StatusView | null;
  viewer: Viewer;
  nowMs: number;
}

/** How Workers went in the last day, the worst first. */
export const WorkersPanel: FC<Asked> = ({ workers, status, viewer, nowMs }) => {
  const isOpen = may(viewer, "functions:read");
  const found = new Map(
    status?.findings
      .toReversed()
      .flatMap((each) => (each.subject.type === "function" ? [[each.subject.name, each]] : [])),
  );
  return (
    <Panel id="functions" title="Workers" refresh={REFRESH_S} aside={isOpen && <a href="/functions">All Workers</a>}>
      {workers === null ? (
        <p>The health of Workers is unavailable. Retrying automatically.</p>
      ) : workers.total === 0 ? (
        <p class="quiet">No Worker has sent an event in the last 24 hours.</p>
      ) : (
        <Table
          caption="Workers that ran in the last 24 hours, the worst first"
          columns={[
            "Worker",
            figures("Failed now"),
            figures("24 h"),
            figures("p95, 1 h"),
            "Requests in 24 h",
            "Last event",
            "Version",
          ]}
          rows={workers.days.map((day) => cells(day, found.get(day.id), isOpen, nowMs))}
        />
      )}
      {workers !== null && workers.total > workers.days.length && (
        <p class="quiet">{plural(workers.total - workers.days.length, "more Worker")} ran in this time.</p>
      )}
    </Panel>
  );
};

function cells(day: FunctionDayView, found: FindingView | undefined, isOpen: boolean, nowMs: number): Child[] {
  const { id, now, version, tag, p95_ms: p95 } = day;
  const name = <Foreign text={id} max={120} />;
  return [
    <>
      {found !== undefined && <Mark of={found.severity} />}
      {isOpen && hasPath(id) ? <a href={functionPath(id)}>{name}</a> : name}
    </>,
    now.invocations === 0 ? "" : <Failed of={now} />,
    <Failed of={day} />,
    p95 === null ? "" : duration(p95),
    <Sparkline values={day.hours.map(({ invocations }) => invocations)} marked={day.hours.map(({ failed }) => failed)}>
      {`${plural(day.invocations, "request")} in 24 hours, ${count(day.failed)} failed`}
    </Sparkline>,
    <Ago at={day.last_event} nowMs={nowMs} />,
    <Foreign text={versionName(version, tag)} max={20} />,
  ];
}

/** The share that failed, and how many of how many. */
const Failed: FC<{ of: { invocations: number; failed: number } }> = ({ of: { invocations, failed } }) =>
  failed === 0 ? (
    <span class="quiet">0</span>
  ) : (
    <span title={`${count(failed)} of ${plural(invocations, "request")}`}>{share(failed, invocations)}</span>
  );
