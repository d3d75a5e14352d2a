import type { Child, FC } from "hono/jsx";
import { DAY_MS, HOUR_MS } from "../../../../base/time.ts";
import { count, plural, share } from "../../../../base/words.ts";
import { quoted } from "../../../../formats/query/show.ts";
import { problemPath } from "../../../../operate/alerts/link.ts";
import { SLOT_MS } from "../../../../ship/log/health-slots.ts";
import type { Problem, ProblemDetails } from "../../../api/docs/problems.ts";
import { type PageContext, seeOther, type View } from "../../page.ts";
import { Bars, type Series } from "../../parts/chart.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Facts, figures, Panel, Table } from "../../parts/panel.tsx";
import { Records } from "../../parts/record.tsx";
import { RecordDetails } from "../../parts/record-details.tsx";
import { inItsTime } from "../../parts/record-links.ts";
import type { Json } from "../../parts/record-summary.ts";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FunctionVersionView } from "../../views/account.ts";
import { loadVersions, marksOf } from "../functions/health.tsx";
import { functionPath, hasPath } from "../functions/logging.tsx";
import { Ranges } from "../job/health.tsx";
import { bucketOf, oneOf, RANGES, startOf } from "../job/series.ts";
import { recordAt } from "../live/recent.ts";
import { exactly, searchPath } from "../search/address.ts";
import { problemsPath } from "./list.tsx";
import {
  errorText,
  Marks,
  ProblemState,
  pathTo,
  RecordLink,
  recordsPath,
  recordsQuery,
  versionName,
} from "./words.tsx";

/** Bars of five minutes. */
const SLOTS_SHOWN = 72;

const SPANS = {
  "6h": { label: "6 hours", per: "5 minutes" },
  "2d": { label: "2 days", per: "30 minutes" },
  "7d": RANGES["7d"],
  "30d": RANGES["30d"],
} as const;
type Span = keyof typeof SPANS;

function routeOf({ params }: PageContext): string {
  return `/logship${problemPath((params.problem_id ?? "").toWellFormed())}`;
}

export async function problemView(page: PageContext): Promise<View> {
  const { api, viewer, nowMs, query } = page;
  const problem = await api.get<ProblemDetails>(routeOf(page));
  const versions = await loadVersions(page, problem.worker);
  const tags = new Map(versions.map(({ version, tag }) => [version, tag]));
  const span = oneOf(SPANS, query.get("range"), spanFor(problem, nowMs));
  return {
    title: errorText(problem),
    parts: [
      <About of={problem} viewer={viewer} nowMs={nowMs} tags={tags} />,
      <Panel id="health" title="When" aside={<Ranges at={problemPath(problem.id)} range={span} of={SPANS} />}>
        <Chart of={problem} {...{ span, nowMs, tags, versions }} />
      </Panel>,
      <Versions of={problem} tags={tags} />,
      endRecords(page, problem),
    ],
  };
}

/** Its latest record, and the first as a row: what is shipped, and found in time. */
async function endRecords(page: PageContext, { first_record, last_record }: ProblemDetails): Promise<Child> {
  const [latestAt, firstAt] = [pathTo(last_record), pathTo(first_record)];
  const latest = await recordAt(page, latestAt);
  const first = firstAt === latestAt ? null : await recordAt(page, firstAt);
  return latest === null ? null : (
    <Panel id="latest" title="Latest record">
      <RecordDetails id="record-latest" record={latest as Json} links={inItsTime(latest)} />
      {first !== null && <h3>First record</h3>}
      {first !== null && <Records label="First record" records={[{ record: first }]} />}
    </Panel>
  );
}

/** The shortest time that has the latest record. */
function spanFor({ last_seen }: Problem, nowMs: number): Span {
  const agoMs = nowMs - Date.parse(last_seen);
  if (agoMs < (SLOTS_SHOWN - 1) * SLOT_MS) return "6h";
  return agoMs < 47 * HOUR_MS ? "2d" : agoMs < 6 * DAY_MS ? "7d" : "30d";
}

const About: FC<{ of: ProblemDetails; viewer: Viewer; nowMs: number; tags: ReadonlyMap<string, string> }> = ({
  of,
  viewer,
  nowMs,
  tags,
}) => {
  const { worker, source, frame, first_seen, last_seen, first_record, last_record } = of;
  const firstVersion = versionAt(of, Date.parse(first_seen));
  const name = <Foreign text={worker} max={120} />;
  return (
    <Panel id="about" title="Problem" isMain aside={<Marks of={of} tags={tags} />}>
      <Facts
        rows={[
          ["Records", <span class="figure">{count(of.count)}</span>],
          ["Worker", hasPath(worker) ? <a href={functionPath(worker)}>{name}</a> : name],
          ["Where", frame === "" ? <span class="quiet">unknown</span> : <Foreign text={frame} max={200} as="code" />],
          [
            "First record",
            <>
              <RecordLink to={first_record} at={first_seen} nowMs={nowMs} about="open the first record" />
              {firstVersion !== null && (
                <>
                  , in version <Foreign text={versionName(firstVersion, tags.get(firstVersion))} max={60} />
                </>
              )}
            </>,
          ],
          [
            "Latest record",
            <RecordLink to={last_record} at={last_seen} nowMs={nowMs} about="open the latest record" />,
          ],
          ...(source === "" || source === "tail"
            ? []
            : [["Sent by", <Foreign text={source} max={120} />] as [string, Child]]),
        ]}
      />
      <Standing of={of} viewer={viewer} nowMs={nowMs} />
      <p class="ways">
        <a href={recordsPath(of)}>Search for such records</a>
        <a href={problemsPath("open", worker)}>Problems of this Worker</a>
        <a href="/incidents">Incidents</a>
      </p>
    </Panel>
  );
};

/** The version of the first records; null: it is unknown, or longer ago than counts go back. */
function versionAt({ slots, counts }: ProblemDetails, atMs: number): string | null {
  const [slot] = slots.filter((each) => Math.abs(Date.parse(each.slot) - atMs) < SLOT_MS);
  const [hour] = counts.filter((each) => Math.abs(Date.parse(each.hour) - atMs) < HOUR_MS);
  return slot?.version ?? hour?.version ?? null;
}

const IGNORED_FOR = { "1": "Ignore for a day", "7": "Ignore for a week" } as const;

/** What was decided, and what can be. */
const Standing: FC<{ of: Problem; viewer: Viewer; nowMs: number }> = ({ of, viewer, nowMs }) => {
  const act = { viewer, action: problemPath(of.id) };
  return (
    <>
      <p>
        <ProblemState of={of} nowMs={nowMs} />
        {of.changed_by !== null && of.changed_at !== null && (
          <span class="quiet">
            {of.regressed ? ": resolved" : ""} by <Foreign text={of.changed_by} max={120} />,{" "}
            <Ago at={of.changed_at} nowMs={nowMs} />
            {of.regressed && ", and came again"}
          </span>
        )}
      </p>
      <div class="actions">
        {of.state !== "resolved" && <Action {...act} kind="primary" label="Resolve" fields={{ state: "resolved" }} />}
        {of.state !== "ignored" &&
          Object.entries(IGNORED_FOR).map(([days, label]) => (
            <Action {...act} label={label} fields={{ state: "ignored", days }} />
          ))}
        {of.state !== "open" && <Action {...act} label="Open again" fields={{ state: "open" }} />}
      </div>
    </>
  );
};

export async function decide(page: PageContext, form: URLSearchParams): Promise<Response> {
  const days = form.get("days");
  const until =
    days === null ? null : Object.hasOwn(IGNORED_FOR, days) ? page.nowMs + Number(days) * DAY_MS : Number.NaN;
  const problem = await page.api.change<Problem>("PATCH", routeOf(page), {
    state: form.get("state") ?? "",
    ...(until !== null && { until: Number.isNaN(until) ? "" : new Date(until).toISOString() }),
  });
  return seeOther(problemPath(problem.id));
}

/** Versions with a series of their own. */
const TONES = ["bar", "second", "third"] as const satisfies readonly Series["tone"][];

interface Piece {
  atMs: number;
  version: string | null;
  count: number;
}

/** By version, the most frequent first. */
function byVersion(pieces: readonly Piece[]): [version: string | null, count: number][] {
  const sums = new Map<string | null, number>();
  for (const { version, count: n } of pieces) sums.set(version, n + (sums.get(version) ?? 0));
  return [...sums].sort(([, a], [, b]) => b - a);
}

const Chart: FC<{
  of: ProblemDetails;
  span: Span;
  nowMs: number;
  tags: ReadonlyMap<string, string>;
  versions: readonly FunctionVersionView[];
}> = ({ of, span, nowMs, tags, versions: deployed }) => {
  const { label, per } = SPANS[span];
  const { firstMs, stepMs, bars } = barsOf(span, nowMs);
  const all: Piece[] =
    span === "6h" || span === "2d"
      ? of.slots.map(({ slot, ...rest }) => ({ ...rest, atMs: Date.parse(slot) }))
      : of.counts.map(({ hour, ...rest }) => ({ ...rest, atMs: Date.parse(hour) }));
  const shown = all.filter(({ atMs }) => atMs >= firstMs);
  const barOf = ({ atMs }: Piece): number => Math.floor((atMs - firstMs) / stepMs);
  const sums = (own: readonly Piece[]): number[] => {
    const values = new Array<number>(bars).fill(0);
    for (const piece of own) values[barOf(piece)] = (values[barOf(piece)] ?? 0) + piece.count;
    return values;
  };
  const versions = byVersion(shown).map(([version]) => version);
  const top = versions.slice(0, TONES.length);
  const series = top.map((version, i): Series => {
    const name = version === null ? "unknown version" : visible(versionName(version, tags.get(version)));
    return { name, tone: TONES[i] ?? "faint", values: sums(shown.filter((each) => each.version === version)) };
  });
  const others = shown.filter(({ version }) => !top.includes(version));
  const total = shown.reduce((sum, each) => sum + each.count, 0);
  const starts = Array.from({ length: bars }, (_, i) => firstMs + i * stepMs);
  const deployments = deployed.map(({ first_seen: at, ...rest }) => ({ ...rest, at }));
  const has = sums(shown);
  return (
    <Bars
      id="chart-records"
      title={`Records per ${per}`}
      sentence={`${total === 0 ? "No records" : plural(total, "record")} in the last ${label}${total === 0 ? "" : "."}`}
      buckets={starts.map((startMs, i) => {
        const time = exactly(startMs, startMs + stepMs);
        const asked = { q: recordsQuery(of), function: of.worker.toWellFormed(), ...time };
        return { ...bucketOf(startMs, stepMs / HOUR_MS), href: has[i] === 0 ? undefined : searchPath(asked) };
      })}
      series={others.length === 0 ? series : [...series, { name: "others", tone: "faint", values: sums(others) }]}
      format={count}
      marks={marksOf(deployments, starts, nowMs + 1)}
    />
  );
};

/** When the first bar begins, how long one is, in ms, and how many there are. */
function barsOf(span: Span, nowMs: number): { firstMs: number; stepMs: number; bars: number } {
  if (span === "7d" || span === "30d") {
    const { hours, step } = RANGES[span];
    return { firstMs: startOf(span, nowMs), stepMs: step * HOUR_MS, bars: hours / step };
  }
  const [stepMs, bars] = span === "6h" ? [SLOT_MS, SLOTS_SHOWN] : [6 * SLOT_MS, 96];
  return { firstMs: (Math.floor(nowMs / stepMs) + 1 - bars) * stepMs, stepMs, bars };
}

const Versions: FC<{ of: ProblemDetails; tags: ReadonlyMap<string, string> }> = ({ of, tags }) => {
  const pieces = of.counts.map(({ hour, ...rest }) => ({ ...rest, atMs: Date.parse(hour) }));
  const total = pieces.reduce((sum, each) => sum + each.count, 0);
  return pieces.length === 0 ? null : (
    <Panel id="versions" title="Versions">
      <Table
        caption="Records of this problem by version, in 30 days"
        columns={["Version", figures("Records"), figures("Share")]}
        rows={byVersion(pieces).map(([version, n]) => [
          version === null ? (
            <span class="quiet">unknown</span>
          ) : (
            <a href={searchPath({ q: `version:${quoted(version)}`, function: of.worker.toWellFormed(), last: "24h" })}>
              <Foreign text={tags.get(version) ? `${tags.get(version)} (${version.slice(0, 8)})` : version} max={80} />
            </a>
          ),
          count(n),
          share(n, total),
        ])}
      />
    </Panel>
  );
};
