import type { Child, FC } from "hono/jsx";
import * as z from "zod";
import { parsedJson } from "../../../base/bytes.ts";
import { CODE, type ErrorEntry, oneError } from "../../../base/errors.ts";
import { count } from "../../../base/words.ts";
import { readExtraFields } from "../../../config.ts";
import { parseFilter } from "../../../formats/filter/parse.ts";
import { readWants } from "../../../operate/live/wants.ts";
import {
  formPage,
  type Page,
  type PageAnswer,
  type PageContext,
  REFRESH_HEADER,
  seeOther,
  type View,
} from "../page.ts";
import { Button } from "../parts/form.tsx";
import { Empty, Notice, Panel } from "../parts/panel.tsx";
import { Records } from "../parts/record.tsx";
import { RecordDetails } from "../parts/record-details.tsx";
import { linksIn } from "../parts/record-links.ts";
import type { JobView } from "../views/job.ts";
import { ConditionsForm, type JobFilter } from "./live/form.tsx";
import { held, lastRecords } from "./live/recent.ts";
import { type Asked, askedOf, livePath, NOTHING } from "./search/address.ts";
import { readFilter } from "./shipping/filter-read.ts";

export const livePages: readonly Page[] = [
  formPage("/live", "logs:read", liveView, takeConditions),
  { path: "/live/recent", get: { permission: "logs:read", show: recentRecords } },
  { path: "/live/judge", post: { permission: "logs:read", take: judge } },
  { path: "/live/record", post: { permission: "logs:read", take: wholeRecord } },
];

async function liveView(page: PageContext): Promise<View> {
  const jobs = await jobsWithFilter(page);
  const chosen = jobs.find(({ id }) => `${id}` === page.query.get("job"));
  const asked = conditionsOf(page.query);
  return view(page, jobs, chosen === undefined ? asked : { ...asked, filter: chosen.filter }, false);
}

/** The form: leads to the address that says the same, or shows the builder again. */
async function takeConditions(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const jobs = await jobsWithFilter(page);
  const { filter, again } = readFilter(form, {});
  const chosen = again ? undefined : jobs.find(({ id }) => `${id}` === form.get("job"));
  const asked = { ...conditionsOf(form), filter: chosen?.filter ?? filter };
  if (again) return view(page, jobs, asked, true);
  const path = livePath(asked);
  return seeOther(form.get("list") === "1" ? `${path}${path.includes("?") ? "&" : "?"}list=1` : path);
}

/** For the script of the page. */
async function recentRecords({ api, query, platform }: PageContext): Promise<Response> {
  return forScript(await lastRecords(api, conditionsOf(query), platform));
}

/**
 * For the script of the page: which records of its list match other conditions. The browser has no
 * evaluator of its own.
 */
async function judge({ env }: PageContext, form: URLSearchParams): Promise<Response> {
  const wants = { filter: form.get("filter") ?? "", query: form.get("query") ?? "" };
  const read = readWants(wants, readExtraFields(env) ?? []);
  const sent = Sent.safeParse(parsedJson(form.get("records") ?? ""));
  if (!read.ok || !sent.success) throw oneError(400, CODE.invalid, "no such question");
  return forScript(sent.data.map(({ record, source }) => read.wanted.fitsAgain(record, source)));
}

/** For the script of the page: a record that it has, whose values lead to further conditions. */
async function wholeRecord(_page: PageContext, form: URLSearchParams): Promise<Response> {
  const sent = Arrived.safeParse(parsedJson(form.get("record") ?? ""));
  if (!sent.success) throw oneError(400, CODE.invalid, "no such record");
  const { tooLarge: size, ...more } = sent.data;
  const html = await (
    <RecordDetails id="opened" {...more} links={linksIn(conditionsOf(form), livePath)}>
      {size !== undefined && `Too large to show in full: ${count(size)} bytes. Its short fields; jobs ship all of it.`}
    </RecordDetails>
  ).toString();
  return forScript({ html });
}

const Arrived = z.object({
  record: z.looseObject({}),
  source: z.string().default(""),
  tooLarge: z.number().optional(),
});

/** As many as the list has. */
const Sent = z.array(Arrived).max(1_000);

function forScript(answer: unknown): Response {
  return Response.json(answer, { headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } });
}

/** As a search has them, but for time and job; `script` and `errors` are of earlier addresses. */
function conditionsOf(query: URLSearchParams): Asked {
  const { q, function: name, outcome, filter } = askedOf(query) ?? NOTHING;
  const [script, isFailed] = [query.get("script") ?? "", query.get("errors") === "1"];
  return { ...NOTHING, q, function: name || script.trim(), outcome: isFailed ? "failed" : outcome, filter };
}

async function jobsWithFilter({ api }: PageContext): Promise<JobFilter[]> {
  const { items } = await api.list<JobView>("/logship/jobs");
  return items.flatMap(({ id, name, filter }) =>
    filter === null || filter === "" ? [] : [{ id, name: name ?? `job ${id}`, filter }],
  );
}

function view(page: PageContext, jobs: readonly JobFilter[], asked: Asked, isBuilding: boolean): View {
  return {
    title: "Live",
    scripts: ["live"],
    parts: [
      <noscript>
        <Notice kind="info" title="The live view needs JavaScript">
          <p>
            <a href="#recent">The most recent records</a> are below. Apply lists the matching records of the last hour.
          </p>
        </Notice>
      </noscript>,
      <ConditionsForm
        viewer={page.viewer}
        asked={asked}
        faults={faultsOf(asked.filter, page)}
        jobs={jobs}
        isBuilding={isBuilding}
      />,
      <Live />,
      ...(page.request.headers.has(REFRESH_HEADER) ? [] : [recent(page, asked)]),
    ],
  };
}

/** As the API tells them of a job's filter. */
function faultsOf(filter: string, { env }: PageContext): ErrorEntry[] {
  const parsed = parseFilter(filter, readExtraFields(env) ?? []);
  if (parsed.ok) return [];
  return parsed.faults.map((message) => ({ code: CODE.invalid, message, source: { pointer: "/filter" } }));
}

/** Counts since the page was opened. */
const COUNTS = [
  ["seen", "arrived"],
  ["shown", "shown"],
  ["filtered", "filtered"],
  ["dropped", "skipped (too fast)"],
  ["paused", "missed while paused"],
] as const;

const KEYS = [
  [["/"], "search"],
  [["j", "k"], "move"],
  [["Enter"], "opens"],
  [["Esc"], "closes"],
  [["Space"], "pauses"],
] as const;

const Live: FC = () => (
  <div id="live-app" hidden>
    <p class="live-line">
      <span id="live-state" role="status">
        Connecting…
      </span>
      {COUNTS.map(([name, label]) => (
        <span class="quiet">
          <span id={`live-${name}`}>0</span> {label}
        </span>
      ))}
      <span id="live-held" role="status" />
    </p>
    <p class="live-line quiet">
      {KEYS.map(([keys, does]) => (
        <span>
          {keys.map((key) => (
            <>
              <kbd>{key}</kbd>{" "}
            </>
          ))}
          {does}
        </span>
      ))}
      <span>Records appear seconds after their events. The list keeps the newest 1,000.</span>
    </p>
    <p id="live-spoken" class="unseen" aria-live="polite" />
    <div id="live-empty" hidden>
      <Empty title="No records yet">
        <p>
          Records appear when a Worker sends trace events, with or without a job. <a href="/attach">Attach a Worker</a>
        </p>
      </Empty>
    </div>
    <ol class="live-rows" id="live-rows" aria-label="Records, newest first" />
    <dialog id="live-record" aria-labelledby="live-record-title">
      <header>
        <h2 id="live-record-title">Record</h2>
        <p class="actions">
          <Button type="button" class="small" id="live-newer" disabled label="Newer" />
          <Button type="button" class="small" id="live-older" disabled label="Older" />
          <Button type="button" class="small" id="live-close" label="Close" />
        </p>
      </header>
      <section id="live-opened" aria-label="The record" />
    </dialog>
  </div>
);

/**
 * Records without a script: those in memory, or after the form was sent (`list`) those of the last
 * hour.
 */
async function recent({ api, query, platform }: PageContext, asked: Asked): Promise<Child> {
  const isList = query.get("list") === "1";
  const { records, from } = isList
    ? await lastRecords(api, asked, platform)
    : { records: await held(api, asked), from: "memory" as const };
  return (
    <Panel id="recent" title="Recent records">
      {records.length === 0 ? (
        <Empty title="No recent records">
          <p>
            logship keeps some of the newest records in memory for half a minute. Shipped records are in the jobs'
            objects.
          </p>
        </Empty>
      ) : (
        <>
          <p class="quiet">
            {from === "search"
              ? "Records of the last hour, newest first."
              : "Records from memory, newest first; a sample if many arrive."}
          </p>
          <Records label="Recent records" records={records.slice(0, 15)} />
        </>
      )}
    </Panel>
  );
}
