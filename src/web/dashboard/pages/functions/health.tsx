import type { FC } from "hono/jsx";
import { HOUR_MS } from "../../../../base/time.ts";
import { count, duration, plural, share } from "../../../../base/words.ts";
import { recordPath } from "../../../../operate/alerts/link.ts";
import type { PageContext } from "../../page.ts";
import { Bars, type Bucket } from "../../parts/chart.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, figures, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { FunctionHealthView } from "../../views/account.ts";
import { Ranges } from "../job/health.tsx";
import { bucketOf, RANGES, type Range, timesOf } from "../job/series.ts";
import { type Asked, exactly, searchPath } from "../search/address.ts";
import { functionPath } from "./logging.tsx";

/** A quantile may be so many times the exact one: docs/functions.md, Health. */
const QUANTILE_ERROR = 1.05;

type Hour = FunctionHealthView["hours"][number];
type Time = "wall_ms" | "cpu_ms";
type Example = FunctionHealthView["errors"][number]["record"];

/** @throws InnerFailure */
export function loadFunctionHealth(
  { api, nowMs }: PageContext,
  name: string,
  range: Range,
): Promise<FunctionHealthView> {
  const path = `/functions/scripts/${encodeURIComponent(name.toWellFormed())}/health`;
  return api.get<FunctionHealthView>(path, timesOf(range, nowMs));
}

/** How the invocations of a function went: how many, what failed, how long they took. */
export const HealthPanel: FC<{ name: string; range: Range; health: FunctionHealthView; nowMs: number }> = ({
  name,
  range,
  health,
  nowMs,
}) => {
  const { label, step, per } = RANGES[range];
  const { total, hours, errors } = health;
  const bars = inBars(hours, step);
  // A bar leads to what it stands for, as far as one can search.
  const bucketsTo = (of: (hours: readonly Hour[]) => Partial<Asked> | null): Bucket[] =>
    bars.map((each) => {
      const startMs = Date.parse(each[0]?.hour ?? "");
      const asked = of(each);
      const time = exactly(startMs, startMs + each.length * HOUR_MS);
      const href = asked === null ? undefined : searchPath({ function: name.toWellFormed(), ...asked, ...time });
      return { ...bucketOf(startMs, step), href };
    });
  const invoked = bucketsTo((each) => {
    const failed = each.some((hour) => hour.failed > 0);
    return each.every((hour) => hour.invocations === 0) ? null : failed ? { outcome: "failed" } : {};
  });
  const sums = (of: (hour: Hour) => number): number[] =>
    bars.map((each) => each.reduce((sum, hour) => sum + of(hour), 0));
  const times = (title: string, time: Time) => {
    const buckets = bucketsTo((each) => {
      const slowest = Math.max(0, ...each.map((hour) => hour[time]?.p95 ?? 0));
      return time === "cpu_ms" || slowest < 2 ? null : { q: `took:>=${Math.floor(slowest / QUANTILE_ERROR)}ms` };
    });
    return <Times title={title} {...{ time, per, label, bars, buckets, total }} />;
  };
  return (
    <Panel id="health" title="Health" aside={<Ranges at={functionPath(name)} range={range} />}>
      {total.invocations === 0 ? (
        <Empty title={`No invocations in the last ${label}`} />
      ) : (
        <>
          <Errors name={name} errors={errors} nowMs={nowMs} />
          <div class="columns">
            <Bars
              id="chart-invocations"
              title={`Invocations per ${per}`}
              sentence={`${plural(total.invocations, "invocation")} in the last ${label}, ${share(total.failed, total.invocations)} failed (${count(total.failed)}; ${plural(total.server_errors, "response was", "responses were")} 5xx).`}
              buckets={invoked}
              series={[
                { name: "succeeded", tone: "bar", values: sums((hour) => hour.invocations - hour.failed) },
                { name: "failed", tone: "bad", values: sums((hour) => hour.failed) },
              ]}
              format={count}
            />
            {times("Duration", "wall_ms")}
            {times("CPU time", "cpu_ms")}
          </div>
          <p>
            Outcomes:{" "}
            {total.outcomes.map(({ outcome, count: n }, i) => (
              <>
                {i > 0 && ", "}
                {count(n)} <Foreign text={outcome} max={40} />
              </>
            ))}
            .
          </p>
          {hours.some(({ partial }) => partial) && (
            <p class="quiet">In some hours more than 200 Workers ran; some invocations may be missing here.</p>
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
  bars: readonly (readonly Hour[])[];
  buckets: readonly Bucket[];
  total: FunctionHealthView["total"];
}> = ({ title, time, per, label, bars, buckets, total }) => {
  const highest = (of: "p50" | "p95" | "p99"): number[] =>
    bars.map((each) => Math.max(0, ...each.map((hour) => hour[time]?.[of] ?? 0)));
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
      table={{
        columns: ["p50", "p95", "p99"],
        rows: bars.map((_, i) => [p50, p95, p99].map((values) => duration(values[i] ?? 0))),
      }}
    />
  );
};

const Errors: FC<{ name: string; errors: FunctionHealthView["errors"]; nowMs: number }> = ({ name, errors, nowMs }) =>
  errors.length === 0 ? (
    <p>Nothing failed.</p>
  ) : (
    <Table
      caption="The most frequent errors, each with its latest record"
      columns={["Error", figures("Count"), "First", "Latest", "Example"]}
      rows={errors.map((error, i) => [
        <>
          <Foreign text={error.name} max={60} />
          {error.message !== "" && (
            <>
              : <Foreign text={error.message} max={160} />
            </>
          )}
        </>,
        count(error.count),
        <Ago at={error.first} nowMs={nowMs} />,
        <Ago at={error.last} nowMs={nowMs} />,
        <a href={examplePath(name, error.record)} aria-label={`Open an example of error ${i + 1}`}>
          Open
        </a>,
      ])}
    />
  );

function examplePath(name: string, { event_timestamp_ms: atMs, ray_id }: Example): string {
  return recordPath({ script: name, atMs, rayId: ray_id || null }, "failed");
}

/** Hours by bars of `step`, the first of each at a multiple of it. */
function inBars(hours: readonly Hour[], step: number): Hour[][] {
  const bars = Map.groupBy(hours, ({ hour }) => Math.floor(Date.parse(hour) / HOUR_MS / step));
  return [...bars.values()];
}
