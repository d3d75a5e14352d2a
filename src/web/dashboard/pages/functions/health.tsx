import type { FC } from "hono/jsx";
import { HOUR_MS } from "../../../../base/time.ts";
import { count, duration, plural, share, stamp } from "../../../../base/words.ts";
import { quoted } from "../../../../formats/query/show.ts";
import { problemPath } from "../../../../operate/alerts/link.ts";
import { SLOT_MS } from "../../../../ship/log/health-slots.ts";
import { InnerFailure } from "../../inner-api.ts";
import type { PageContext } from "../../page.ts";
import { Bars, type BarsProps, type Bucket, Marks } from "../../parts/chart.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, Facts, figures, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { FunctionHealthView, FunctionVersionView } from "../../views/account.ts";
import { Ranges } from "../job/health.tsx";
import { bucketOf, oneOf, RANGES, timesOf } from "../job/series.ts";
import { problemsPath } from "../problems/list.tsx";
import { errorText, RecordLink, versionName } from "../problems/words.tsx";
import { type Asked, exactly, searchPath } from "../search/address.ts";
import { functionPath, scriptPath } from "./logging.tsx";

/** A quantile may be so many times the exact one: docs/functions.md, Health. */
const QUANTILE_ERROR = 1.05;

/** As of a job's uploads, and by five minutes. */
const SPANS = {
  "1h": { label: "hour", per: "5 minutes" },
  "6h": { label: "6 hours", per: "5 minutes" },
  ...RANGES,
} as const;
type Span = keyof typeof SPANS;

/** Those of five minutes each. */
function isBySlots(span: Span): span is "1h" | "6h" {
  return span === "1h" || span === "6h";
}

/** Defaults to six hours. */
export function spanOf(asked: string | null): Span {
  return oneOf(SPANS, asked, "6h");
}

/** What went on in one piece of time. */
type Piece = Omit<FunctionHealthView["hours"][number], "hour"> & { startMs: number };
type Time = "wall_ms" | "cpu_ms";

/** @throws InnerFailure */
export function loadFunctionHealth({ api, nowMs }: PageContext, name: string, span: Span): Promise<FunctionHealthView> {
  const path = `${scriptPath(name)}/health`;
  if (!isBySlots(span)) return api.get<FunctionHealthView>(path, timesOf(span, nowMs));
  // The API rounds it down: as many bars as of an hour.
  const since = new Date(nowMs - HOUR_MS + SLOT_MS).toISOString();
  return api.get<FunctionHealthView>(path, { every: "5m", ...(span === "1h" && { since }) });
}

/** How a function went, and what it failed with. */
export const Health: FC<Parameters<typeof HealthPanel>[0]> = (props) => (
  <>
    <HealthPanel {...props} />
    <ErrorsPanel name={props.name} errors={props.health.errors} nowMs={props.nowMs} />
  </>
);

/** How many invocations there were, how many failed, how long they took. */
const HealthPanel: FC<{ name: string; range: Span; health: FunctionHealthView; nowMs: number }> = ({
  name,
  range,
  health,
  nowMs,
}) => {
  const { label, per } = SPANS[range];
  const { total } = health;
  const { bars, stepMs } = inBars(health, range);
  const pieces = bars.flat();
  const bucketAt = (startMs: number): Bucket => bucketOf(startMs, stepMs / HOUR_MS);
  // A bar leads to what it stands for, as far as one can search.
  const bucketsTo = (of: (pieces: readonly Piece[]) => Partial<Asked> | null): Bucket[] =>
    bars.map((each) => {
      const { startMs = Number.NaN } = each[0] ?? {};
      const asked = of(each);
      const time = exactly(startMs, startMs + each.length * (isBySlots(range) ? SLOT_MS : HOUR_MS));
      const href = asked === null ? undefined : searchPath({ function: name.toWellFormed(), ...asked, ...time });
      return { ...bucketAt(startMs), href };
    });
  const invoked = bucketsTo((each) => {
    const failed = each.some((piece) => piece.failed > 0);
    return each.every((piece) => piece.invocations === 0) ? null : failed ? { outcome: "failed" } : {};
  });
  const sums = (of: (piece: Piece) => number): number[] =>
    bars.map((each) => each.reduce((sum, piece) => sum + of(piece), 0));
  const marks = marksOf(
    health.deployments,
    bars.map((each) => each[0]?.startMs ?? Number.NaN),
    nowMs + 1,
  );
  const times = (title: string, time: Time) => {
    const buckets = bucketsTo((each) => {
      const slowest = Math.max(0, ...each.map((piece) => piece[time]?.p95 ?? 0));
      return time === "cpu_ms" || slowest < 2 ? null : { q: `took:>=${Math.floor(slowest / QUANTILE_ERROR)}ms` };
    });
    return <Times title={title} {...{ time, per, label, bars, buckets, total, marks }} />;
  };
  return (
    <Panel id="health" title="Health" aside={<Ranges at={functionPath(name)} range={range} of={SPANS} />}>
      {total.invocations === 0 ? (
        <Empty title={`No invocations in the last ${label}`} />
      ) : (
        <>
          <Facts
            rows={[
              ["Requests", <span class="figure">{count(total.invocations)}</span>],
              ["Failed", <span class="figure">{share(total.failed, total.invocations)}</span>],
              ["Median", <Took ms={total.wall_ms?.p50} />],
              ["p95", <Took ms={total.wall_ms?.p95} />],
              ["CPU p95", <Took ms={total.cpu_ms?.p95} />],
            ]}
          />
          <div class="columns">
            <Bars
              id="chart-invocations"
              title={`Invocations per ${per}`}
              sentence={`${plural(total.invocations, "invocation")} in the last ${label}, ${share(total.failed, total.invocations)} failed.`}
              buckets={invoked}
              series={[
                { name: "succeeded", tone: "bar", values: sums((piece) => piece.invocations - piece.failed) },
                { name: "failed", tone: "bad", values: sums((piece) => piece.failed) },
              ]}
              format={count}
              marks={marks}
              isSaid
            />
            {times("Duration", "wall_ms")}
            {times("CPU time", "cpu_ms")}
          </div>
          <Marks of={marks} />
          <p>
            {plural(total.failed, "request")} failed, {plural(total.server_errors, "response was", "responses were")}{" "}
            5xx. Outcomes:{" "}
            {total.outcomes.map(({ outcome, count: n }, i) => (
              <>
                {i > 0 && ", "}
                {count(n)} <Foreign text={outcome} max={40} />
              </>
            ))}
            .
          </p>
          {pieces.some(({ partial }) => partial) && (
            <p class="quiet">At times more than 200 Workers ran; some invocations may be missing here.</p>
          )}
        </>
      )}
    </Panel>
  );
};

/** Medians, and what lies between them and the 95th of a hundred. Of several hours, the highest. */
const Times: FC<{
  title: string;
  time: Time;
  per: string;
  label: string;
  bars: readonly (readonly Piece[])[];
  buckets: readonly Bucket[];
  total: FunctionHealthView["total"];
  marks: NonNullable<BarsProps["marks"]>;
}> = ({ title, time, per, label, bars, buckets, total, marks }) => {
  const highest = (of: "p50" | "p95" | "p99"): number[] =>
    bars.map((each) => Math.max(0, ...each.map((piece) => piece[time]?.[of] ?? 0)));
  const [p50, p95, p99] = [highest("p50"), highest("p95"), highest("p99")];
  const all = total[time];
  const words = all === null ? "" : `median ${duration(all.p50)}, p95 ${duration(all.p95)}, p99 ${duration(all.p99)}`;
  return (
    <Bars
      id={`chart-${time}`}
      title={`${title} per ${per}`}
      sentence={`${words}, in the last ${label}.`}
      buckets={buckets}
      series={[
        { name: "p50", tone: "bar", values: p50 },
        { name: "to p95", tone: "faint", values: p95.map((ms, i) => Math.max(0, ms - (p50[i] ?? 0))) },
      ]}
      format={duration}
      marks={marks}
      table={{
        columns: ["p50", "p95", "p99"],
        rows: bars.map((_, i) => [p50, p95, p99].map((values) => duration(values[i] ?? 0))),
      }}
      isSaid
    />
  );
};

const Took: FC<{ ms: number | undefined }> = ({ ms }) => (
  <span class="figure">{ms === undefined ? "–" : duration(ms)}</span>
);

/** What it failed with. */
const ErrorsPanel: FC<{ name: string; errors: FunctionHealthView["errors"]; nowMs: number }> = ({
  name,
  errors,
  nowMs,
}) => (
  <Panel
    id="errors"
    title="Problems"
    aside={<a href={problemsPath("open", name.toWellFormed())}>All of this Worker</a>}
  >
    {errors.length === 0 ? (
      <p class="quiet">Nothing failed.</p>
    ) : (
      <Table
        caption="The most frequent errors, each with its first and latest record"
        columns={["Error", figures("Count"), "First", "Latest"]}
        rows={errors.map((error, i) => [
          <a href={problemPath(error.id)}>
            <Foreign text={errorText(error)} max={240} />
          </a>,
          count(error.count),
          <RecordLink
            to={error.first_record}
            at={error.first}
            nowMs={nowMs}
            about={`first record of error ${i + 1}`}
          />,
          <RecordLink to={error.record} at={error.last} nowMs={nowMs} about={`latest record of error ${i + 1}`} />,
        ])}
      />
    )}
  </Panel>
);

/** Pieces of time by bars, the first piece of each at a multiple of its length. */
function inBars({ hours, slots }: FunctionHealthView, span: Span): { bars: Piece[][]; stepMs: number } {
  const pieces =
    slots?.map(({ slot, ...rest }): Piece => ({ ...rest, startMs: Date.parse(slot) })) ??
    hours.map(({ hour, ...rest }): Piece => ({ ...rest, startMs: Date.parse(hour) }));
  const stepMs = isBySlots(span) ? SLOT_MS : RANGES[span].step * HOUR_MS;
  return { bars: [...Map.groupBy(pieces, ({ startMs }) => Math.floor(startMs / stepMs)).values()], stepMs };
}

type Version = FunctionVersionView;

/** Where versions were first seen. @param starts of the bars of a chart, in ms. */
export function marksOf(
  versions: readonly (Pick<Version, "version" | "tag"> & { at: string })[],
  starts: readonly number[],
  untilMs: number,
): NonNullable<BarsProps["marks"]> {
  return versions.flatMap(({ at, version, tag }) => {
    const bucket = Date.parse(at) < untilMs ? starts.findLastIndex((ms) => ms <= Date.parse(at)) : -1;
    return bucket < 0 ? [] : [{ bucket, words: `${versionName(version, tag)} first seen ${stamp(at)} UTC` }];
  });
}

/** None, if no such Worker is known, or can be: a sender chooses names. @throws InnerFailure */
export async function loadVersions({ api }: PageContext, name: string): Promise<readonly Version[]> {
  try {
    const path = `${scriptPath(name)}/versions`;
    return (await api.list<Version>(path)).items;
  } catch (error) {
    if (error instanceof InnerFailure && [400, 404].includes(error.status)) return [];
    throw error;
  }
}

/** Which versions ran, the newest first: which one fails, and which is slow. */
export const VersionsPanel: FC<{ name: string; versions: readonly Version[]; nowMs: number }> = ({
  name,
  versions,
  nowMs,
}) =>
  versions.length === 0 ? null : (
    <Panel id="versions" title="Versions">
      <Table
        caption="Versions that were seen in 90 days, with what they did in 30"
        columns={["Version", "First seen", "Last seen", figures("Requests"), figures("Failed"), figures("p95")]}
        rows={versions.map(({ version, tag, first_seen, last_seen, requests, failed, wall_ms }) => [
          <a href={searchPath({ q: `version:${quoted(version)}`, function: name.toWellFormed(), last: "24h" })}>
            <Foreign text={tag === "" ? version : `${tag} (${version.slice(0, 8)})`} max={60} />
          </a>,
          <Ago at={first_seen} nowMs={nowMs} />,
          <Ago at={last_seen} nowMs={nowMs} />,
          count(requests),
          failed === 0 ? "0" : `${count(failed)} (${share(failed, requests)})`,
          wall_ms === null ? "" : duration(wall_ms.p95),
        ])}
      />
    </Panel>
  );
