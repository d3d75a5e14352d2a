import type { FC } from "hono/jsx";
import { UPLOAD_INTERVAL_S } from "../../../../base/limits.ts";
import { HOUR_MS } from "../../../../base/time.ts";
import { bytes, count, duration, plural } from "../../../../base/words.ts";
import { intervalAdvice } from "../../../../ship/job/interval.ts";
import type { HealthHour } from "../../../../ship/reader/upload-health.ts";
import type { PageContext } from "../../page.ts";
import { Bars, type Bucket, type Series } from "../../parts/chart.tsx";
import { Empty, figures, Notice, Panel, Table } from "../../parts/panel.tsx";
import type { HourView, JobView } from "../../views/job.ts";
import { bucketed, bucketOf, RANGES, type Range, startOf, timesOf, whole } from "./series.ts";

/** @throws InnerFailure */
export async function loadHealth({ api, nowMs }: PageContext, jobId: number, range: Range): Promise<HealthHour[]> {
  const { items } = await api.list<HourView>(`/logship/jobs/${jobId}/health`, timesOf(range, nowMs));
  return bucketed(items, startOf(range, nowMs), RANGES[range].step);
}

/** Uploads over time: results, records, bytes, durations. */
export const HealthPanel: FC<{ jobId: number; range: Range; sums: readonly HealthHour[] }> = ({
  jobId,
  range,
  sums,
}) => {
  const all = whole(sums);
  const { label, step, per } = RANGES[range];
  const buckets = sums.map(({ hour }) => bucketOf(hour * HOUR_MS, step));
  const series = (name: string, tone: Series["tone"], value: (sum: HealthHour) => number): Series => ({
    name,
    tone,
    values: sums.map(value),
  });
  const most = (value: (sum: HealthHour) => number, format: (value: number) => string) =>
    mostOf(sums, value, buckets, format);
  return (
    <Panel id="health" title="Health" aside={<Ranges at={`/jobs/${jobId}`} range={range} />}>
      {all.ok + all.retried + all.failed === 0 ? (
        <Empty title={`No uploads in the last ${label}`} />
      ) : (
        <>
          <div class="columns">
            <Bars
              id="chart-uploads"
              title={`Uploads per ${per}`}
              sentence={`${plural(all.ok, "upload")} ok, ${count(all.retried)} retried, ${count(all.failed)} failed in the last ${label}.`}
              buckets={buckets}
              series={[
                series("ok", "ok", ({ ok }) => ok),
                series("retried", "warn", ({ retried }) => retried),
                series("failed", "bad", ({ failed }) => failed),
              ]}
              format={count}
            />
            <Bars
              id="chart-records"
              title={`Records delivered per ${per}`}
              sentence={`${plural(all.records, "record")} delivered in the last ${label}${most(({ records }) => records, count)}.`}
              buckets={buckets}
              series={[series("records", "bar", ({ records }) => records)]}
              format={count}
            />
            <Bars
              id="chart-bytes"
              title={`Bytes delivered per ${per}`}
              sentence={`${bytes(all.rawBytes)} before compression, ${bytes(all.bytes)} as stored${ratio(all)} in the last ${label}${most(({ rawBytes }) => rawBytes, bytes)}.`}
              buckets={buckets}
              series={[
                series("as stored", "bar", (sum) => sum.bytes),
                series("saved by compression", "faint", (sum) => Math.max(0, sum.rawBytes - sum.bytes)),
              ]}
              format={bytes}
              table={{
                columns: ["before compression", "as stored"],
                rows: sums.map((sum) => [bytes(sum.rawBytes), bytes(sum.bytes)]),
              }}
            />
            <Bars
              id="chart-duration"
              title={`Upload time per ${per}`}
              sentence={
                all.ok === 0
                  ? `No successful upload in the last ${label}.`
                  : `${duration(mean(all))} on average, ${duration(all.longestMs)} at most, in the last ${label}.`
              }
              buckets={buckets}
              series={[
                series("mean", "bar", mean),
                series("longest", "faint", (sum) => Math.max(0, sum.longestMs - mean(sum))),
              ]}
              format={duration}
              table={{
                columns: ["mean", "longest"],
                rows: sums.map((sum) => [duration(mean(sum)), duration(sum.longestMs)]),
              }}
            />
          </div>
          <Causes errors={all.causes} label={label} />
        </>
      )}
    </Panel>
  );
};

/** An interval that fits the traffic of the last 24 hours better. */
export const IntervalNotice: FC<{ job: JobView; range: Range; sums: readonly HealthHour[] }> = ({
  job,
  range,
  sums,
}) => {
  const all = whole(sums);
  const found =
    range === "24h" && job.enabled
      ? intervalAdvice(
          { objects: all.ok, bytes: all.bytes },
          (job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) * 1_000,
        )
      : null;
  if (found === null) return null;
  const { objects, meanBytes, seconds, made } = found;
  return (
    <Notice kind="info" title={`${plural(objects, "object")} in 24 hours, of ${bytes(meanBytes)} on average`}>
      <p>
        An interval of {seconds} seconds would make about {plural(made.objects, "object")} of {bytes(made.meanBytes)} a
        day, which cost less and are faster to read. Records then leave up to {seconds / 60} minutes after they arrive.{" "}
        <a href={`/jobs/${job.id}/edit`}>Edit the job</a>
      </p>
    </Notice>
  );
};

function mean({ totalMs, ok }: Pick<HealthHour, "totalMs" | "ok">): number {
  return ok === 0 ? 0 : totalMs / ok;
}

/** The choice of a time. @param at the page with a panel of health. */
export const Ranges: FC<{ at: string; range: string; of?: Readonly<Record<string, { label: string }>> }> = ({
  at,
  range,
  of = RANGES,
}) => (
  <nav class="range" aria-label="Time range">
    {Object.entries(of).map(([name, { label }]) => (
      <a href={`${at}?range=${name}#health`} aria-current={name === range ? "true" : undefined}>
        {label}
      </a>
    ))}
  </nav>
);

/** By HTTP status or word. */
const CAUSES: Readonly<Record<string, string>> = {
  "401": "the destination does not recognise the keys",
  "403": "the keys may not write there",
  "404": "no such bucket or address",
  "429": "the destination limits requests",
  "500": "the destination failed",
  "503": "the destination is busy",
  timeout: "no answer in time",
  connection_failed: "the destination is unreachable",
};

const Causes: FC<{ errors: Readonly<Record<string, number>>; label: string }> = ({ errors, label }) => {
  const rows = Object.entries(errors).sort(([, a], [, b]) => b - a);
  if (rows.length === 0) return <p>No upload errors in the last {label}.</p>;
  return (
    <>
      <h3>Upload errors</h3>
      <Table
        caption={`Failed and retried uploads of the last ${label}, by cause`}
        columns={["Cause", "Meaning", figures("Uploads")]}
        rows={rows.map(([cause, n]) => [
          /^\d+$/.test(cause) ? `HTTP ${cause}` : cause.replaceAll("_", " "),
          CAUSES[cause] ?? "",
          count(n),
        ])}
      />
    </>
  );
};

function mostOf(
  sums: readonly HealthHour[],
  value: (sum: HealthHour) => number,
  buckets: readonly Bucket[],
  format: (value: number) => string,
): string {
  const most = Math.max(0, ...sums.map(value));
  const at = buckets[sums.findIndex((sum) => value(sum) === most)];
  return most === 0 || at === undefined ? "" : `; most at ${at.label} UTC: ${format(most)}`;
}

function ratio(sum: HealthHour): string {
  return sum.bytes === 0 ? "" : ` (${(sum.rawBytes / sum.bytes).toFixed(1)} to 1)`;
}
