import type { FC } from "hono/jsx";
import { count, plural } from "../../../../base/words.ts";
import { fieldTerm, quoted } from "../../../../formats/query/show.ts";
import { controlPlane } from "../../../../state/control/plane.ts";
import { localUrl } from "../../../../state/local/runnable.ts";
import type { CountedSearch } from "../../../api/docs/searches.ts";
import type { PageContext, Part, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, may } from "../../parts/form.tsx";
import { Closed, Facts, Panel, Rows, State } from "../../parts/panel.tsx";
import { Ago, Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, FunctionView, StatusView } from "../../views/account.ts";
import { searchPath } from "../search/address.ts";
import { alertWords, SEARCHES_AT, Standing } from "../searches/words.tsx";
import { rowOf } from "../status/finding.tsx";
import { Health, loadFunctionHealth, loadVersions, spanOf, VersionsPanel } from "./health.tsx";
import { Attached } from "./list.tsx";
import { functionPath, LoggingSwitch, scriptPath } from "./logging.tsx";
import { loadKinds, RhythmPanel } from "./rhythm.tsx";

/** A function: findings, counts and settings. */
export async function functionView(page: PageContext): Promise<View> {
  const { api, viewer, nowMs, params, query } = page;
  const name = params.name ?? "";
  const [known, url] = await Promise.all([api.get<FunctionView>(scriptPath(name)), whereItRuns(page, name)]);
  const findings: Part = may(viewer, "logs:read") ? (
    (async () => <Findings found={await findingsOf(page, name)} viewer={viewer} nowMs={nowMs} />)()
  ) : (
    <Closed what="Problems of this Worker" permission="logs:read" />
  );
  const range = spanOf(query.get("range"));
  const health: Part =
    may(viewer, "logs:read") &&
    (async () => <Health {...{ name, range, nowMs }} health={await loadFunctionHealth(page, name, range)} />)();
  const versions: Part =
    may(viewer, "logs:read") &&
    (async () => <VersionsPanel {...{ name, nowMs }} versions={await loadVersions(page, name)} />)();
  const searches: Part =
    may(viewer, "logs:read") && (async () => <SearchesPanel name={name} all={await asked(page)} />)();
  const rhythm: Part =
    may(viewer, "logs:read") &&
    (async () => (
      <RhythmPanel {...{ name, viewer, nowMs }} kinds={await loadKinds(page, name)} chosen={query.get("kind")} />
    ))();
  return {
    title: name,
    aside: may(viewer, "logs:read") && (
      <a class="button" href={searchPath({ function: name.toWellFormed(), last: "24h" })}>
        Search its records
      </a>
    ),
    parts: [
      findings,
      health,
      versions,
      searches,
      rhythm,
      <Counts of={known} nowMs={nowMs} />,
      <Settings of={known} url={url} viewer={viewer} nowMs={nowMs} />,
    ],
  };
}

async function findingsOf({ api }: PageContext, name: string): Promise<FindingView[]> {
  const { findings } = await api.get<StatusView>("/logship/status");
  return findings.filter(({ subject }) => subject.type === "function" && subject.name === name);
}

/** Where its uploaded code answers, in local development; null: it does not run here. */
async function whereItRuns({ config, env }: PageContext, name: string): Promise<string | null> {
  if (config.localFunctions === null) return null;
  const url = localUrl(config.localFunctions, name);
  if (url === null) return null;
  const version: string | null = await controlPlane(env.CONTROL).localVersion(name);
  return version === null ? null : url;
}

/** As on the status page: on the page of its subject, too, it is a row. */
const Findings: FC<{ found: readonly FindingView[]; viewer: Viewer; nowMs: number }> = ({ found, viewer, nowMs }) =>
  found.length === 0 ? null : (
    <Panel id="verdict" title={plural(found.length, "problem")}>
      <Rows rows={found.map((each) => rowOf(each, { viewer, names: new Map(), nowMs }, true))} />
    </Panel>
  );

async function asked({ api }: PageContext): Promise<readonly CountedSearch[]> {
  return (await api.list<CountedSearch>("/logship/searches")).items;
}

/** Saved searches that name it, and where their alerts stand. */
const SearchesPanel: FC<{ name: string; all: readonly CountedSearch[] }> = ({ name, all }) => {
  const term = fieldTerm("worker", name.toWellFormed(), false);
  const own = all.filter(
    ({ query }) => query.split(/[\s()]+/).includes(term) || query.includes(`worker:${quoted(name)}`),
  );
  const save = <a href={`${SEARCHES_AT}/new?${new URLSearchParams({ query: term })}`}>Save a search</a>;
  return (
    <Panel id="searches" title="Searches and alerts" aside={save}>
      {own.length === 0 ? (
        <p class="quiet">No saved search names this Worker.</p>
      ) : (
        <Rows
          rows={own.map((search) => ({
            subject: (
              <a href={`${SEARCHES_AT}/${search.id}`}>
                <Foreign text={search.name} max={120} />
              </a>
            ),
            detail: <Foreign text={search.alert === null ? search.query : alertWords(search.alert)} max={300} />,
            action: <Standing of={search} />,
          }))}
        />
      )}
    </Panel>
  );
};

const Counts: FC<{ of: FunctionView; nowMs: number }> = ({ of, nowMs }) => {
  const { shipped, dropped, last_event, sources } = of;
  return (
    <Panel id="counts" title="Events in the last 30 days">
      <Facts
        rows={[
          ["Shipped", count(shipped)],
          ["Dropped: logging off", count(dropped.logging_off)],
          ["Dropped: no job enabled", count(dropped.no_job)],
          ["Last event", last_event === null ? "none in 30 days" : <Ago at={last_event} nowMs={nowMs} />],
          ["Sources", <Sources seen={sources} nowMs={nowMs} />],
        ]}
      />
      <p class="quiet">
        Shipped: sent to at least one job. Events that a job's filter or sample drops are in the job's ledger.
      </p>
    </Panel>
  );
};

/** Which of its events were traced, and which were claimed to be its. */
const Sources: FC<{ seen: FunctionView["sources"]; nowMs: number }> = ({ seen, nowMs }) =>
  seen.length === 0 ? (
    <span class="quiet">unknown</span>
  ) : (
    <ul class="named">
      {seen.map(({ source, last }) => (
        <li>
          <Foreign text={source} max={300} />{" "}
          <span class="quiet">
            {source === "tail" ? "traced by Cloudflare" : "as its sender says"}, last <Ago at={last} nowMs={nowMs} />
          </span>
        </li>
      ))}
    </ul>
  );

const Settings: FC<{ of: FunctionView; url: string | null; viewer: Viewer; nowMs: number }> = ({
  of,
  url,
  viewer,
  nowMs,
}) => {
  const { id, logging, tail_consumers, modified_on, attachment } = of;
  return (
    <Panel id="settings" title="Settings">
      <Facts
        rows={[
          ["Logging", <LoggingSwitch of={of} viewer={viewer} />],
          ["Attached", <Attached of={of} />],
          ["Last changed", modified_on === null ? "never" : <Time at={modified_on} />],
          [
            "Tail consumers set here",
            tail_consumers === null || tail_consumers.length === 0 ? (
              <span class="quiet">none</span>
            ) : (
              <Foreign text={tail_consumers.map(({ service }) => service).join(", ")} max={400} />
            ),
          ],
          ...(url === null ? [] : [["Runs here", <a href={url}>{url}</a>] as const]),
        ]}
      />
      <p>{MEANS[logging]}</p>
      {logging !== "unset" && (
        <p>
          <Action
            viewer={viewer}
            action={`${functionPath(id)}/logging`}
            label="Unset"
            about="logging of this Worker"
            needs="functions:edit"
            kind="small"
            fields={{ logging: "unset" }}
          />{" "}
          <span class="quiet">Back to the default: on.</span>
        </p>
      )}
      {attachment !== null && (
        <p>
          <State kind={attachment.state === "attached" ? "ok" : attachment.state === "undone" ? "bad" : "warn"}>
            {attachment.state}
          </State>
          : <Foreign text={attachment.why} max={600} /> Since <Time at={attachment.since} />, last checked{" "}
          <Ago at={attachment.checked_at} nowMs={nowMs} />.
        </p>
      )}
      <Action
        viewer={viewer}
        action={`${functionPath(id)}/forget`}
        label="Forget"
        about="this Worker"
        needs="functions:edit"
        kind="danger"
      />
    </Panel>
  );
};

const MEANS: { readonly [logging in FunctionView["logging"]]: string } = {
  on: "Events ship to every enabled job.",
  unset: "Events ship to every enabled job, the default for an attached Worker.",
  off: "logship counts and drops events. Events accepted before still ship.",
};
