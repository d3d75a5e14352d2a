import type { Child, FC } from "hono/jsx";
import { count, plural } from "../../../../base/words.ts";
import { problemPath } from "../../../../operate/alerts/link.ts";
import type { Problem } from "../../../api/docs/problems.ts";
import type { ListInfo } from "../../inner-api.ts";
import type { PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { paged } from "../../parts/pager.tsx";
import { Empty, figures, Panel, Table } from "../../parts/panel.tsx";
import { functionPath, hasPath } from "../functions/logging.tsx";
import { oneOf } from "../job/series.ts";
import { errorText, Marks, ProblemState, RecordLink, recordsPath } from "./words.tsx";

const PER_PAGE = 50;

/** Longest name of a Worker, in UTF-16 units. */
const WORKER_MAX = 255;

const STATES = {
  open: "Open",
  new: "New",
  regressed: "Regressed",
  resolved: "Resolved",
  ignored: "Ignored",
  all: "All",
} as const;
type Shown = keyof typeof STATES;

/** @param worker "": all. */
export function problemsPath(state: Shown, worker: string): string {
  const query = new URLSearchParams({ ...(state !== "open" && { state }), ...(worker !== "" && { worker }) });
  return query.size === 0 ? "/problems" : `/problems?${query}`;
}

export async function problemsView(page: PageContext): Promise<View> {
  const { query, nowMs } = page;
  const state = oneOf(STATES, query.get("state"), "open");
  const worker = (query.get("worker") ?? "").slice(0, WORKER_MAX).toWellFormed();
  const more = { ...(state !== "all" && { state }), ...(worker !== "" && { worker }) };
  const { items, info, pager } = await paged<Problem>(page, "/logship/problems", {
    ...{ of: "problems", perPage: PER_PAGE, more },
  });
  return {
    title: "Problems",
    parts: [
      <Panel id="all" title="Errors of one cause" isMain aside={<States state={state} worker={worker} />}>
        {worker !== "" && <OfWorker worker={worker} state={state} />}
        {items.length === 0 ? (
          <Nothing state={state} />
        ) : (
          <Table
            caption="Problems, the latest first"
            columns={["Error", "Worker", figures("Records"), "First", "Latest", "State"]}
            rows={items.map((each) => cells(each, state, nowMs))}
          />
        )}
        {pager}
        <Beyond info={info} />
      </Panel>,
    ],
  };
}

const States: FC<{ state: Shown; worker: string }> = ({ state, worker }) => (
  <nav class="range" aria-label="Which problems">
    {Object.entries(STATES).map(([name, label]) => (
      <a href={problemsPath(name as Shown, worker)} aria-current={name === state ? "true" : undefined}>
        {label}
      </a>
    ))}
  </nav>
);

const OfWorker: FC<{ worker: string; state: Shown }> = ({ worker, state }) => (
  <p class="ways">
    <span>
      Only of <Foreign text={worker} max={120} />.
    </span>
    <a href={problemsPath(state, "")}>All Workers</a>
    {hasPath(worker) && <a href={functionPath(worker)}>Page of this Worker</a>}
  </p>
);

const Nothing: FC<{ state: Shown }> = ({ state }) => (
  <Empty title={state === "all" ? "No problems" : `No ${STATES[state].toLowerCase()} problems`}>
    <p>Exceptions, logged errors, failed invocations and 5xx responses are grouped here, over all Workers.</p>
  </Empty>
);

function cells(problem: Problem, state: Shown, nowMs: number): Child[] {
  const { id, worker, first_record, last_record, first_seen, last_seen } = problem;
  return [
    <>
      <a href={problemPath(id)}>
        <Foreign text={errorText(problem)} max={240} />
      </a>{" "}
      <Marks of={problem} />
    </>,
    <a href={problemsPath(state, worker)}>
      <Foreign text={worker} max={120} />
    </a>,
    <a href={recordsPath(problem)}>
      {count(problem.count)}
      <span class="unseen">: search for such records</span>
    </a>,
    <RecordLink to={first_record} at={first_seen} nowMs={nowMs} about="first record" />,
    <RecordLink to={last_record} at={last_seen} nowMs={nowMs} about="latest record" />,
    <ProblemState of={problem} nowMs={nowMs} />,
  ];
}

/** What the list does not have. */
const Beyond: FC<{ info: ListInfo }> = ({ info: { dropped, other_records: others } }) => (
  <>
    {typeof dropped === "number" && dropped > 0 && (
      <p class="quiet">{plural(dropped, "problem")} had no room: those seen least recently.</p>
    )}
    {typeof others === "number" && others > 0 && (
      <p class="quiet">{plural(others, "record")} with errors are in none of the problems.</p>
    )}
  </>
);
