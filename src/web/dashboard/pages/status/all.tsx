import type { Child } from "hono/jsx";
import { plural } from "../../../../base/words.ts";
import type { InnerAnswer } from "../../inner-api.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import type { IncidentView, StatusView } from "../../views/account.ts";
import { INCIDENTS_AT } from "../incidents/words.tsx";
import { Findings, isSilent, type JobNames, jobNames, recoveringWords } from "./finding.tsx";

export const wrongPages: readonly Page[] = [{ path: "/status", get: { permission: "logs:read", show: statusView } }];

/** Seconds between refreshes; the service checks at most every ten seconds. */
const REFRESH_S = 15;

async function statusView(context: PageContext): Promise<View> {
  const status = context.api.send<StatusView>("GET", "/logship/status");
  return { title: "Status", parts: [findings(context, status)] };
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
        <span class="quiet">
          {answer.ok && (
            <>
              Checked <Time at={answer.result.checked_at} />.{" "}
            </>
          )}
          <a href={INCIDENTS_AT}>Incidents</a>
        </span>
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
      <a href={INCIDENTS_AT}>{words}</a>.
    </>
  );
};
