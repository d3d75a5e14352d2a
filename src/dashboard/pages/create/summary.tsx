import type { Child, FC } from "hono/jsx";
import type { DestinationEntry } from "../../../destinations/build.ts";
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../../limits.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts, Snippet } from "../../parts/panel.tsx";
import { bytes, count, duration } from "../../parts/values.tsx";
import { optionsOf, type ShippingBody, type Typed } from "../shipping/body.ts";

/** Where a destination is, without the keys to it. */
export const DestinationFacts: FC<{ entry: DestinationEntry }> = ({ entry }) => {
  const isS3 = entry.scheme === "s3";
  const text = (value: string): Child => <Foreign text={value} max={300} />;
  return (
    <Facts
      rows={[
        ["Bucket", text(`${entry.scheme}://${entry.bucket}`)],
        ["Path", entry.path === "" ? "the bucket itself" : text(entry.path)],
        ...(isS3
          ? ([
              ["Region", text(entry.region)],
              ["Endpoint", entry.endpoint === "" ? "AWS" : text(entry.endpoint)],
              ["Encryption asked for", entry.sse ? "AES256" : "none"],
            ] as const)
          : ([["Account", text(entry.accountId)]] as const)),
        [
          "Keys",
          entry.credentials === "env" ? (
            <>in the secret {text(entry.secretName)}</>
          ) : (
            "entered; kept encrypted, never shown"
          ),
        ],
      ]}
    />
  );
};

/** What a job ships, and how, in short. */
export const ShippingFacts: FC<{ body: ShippingBody }> = ({ body }) => {
  const options = optionsOf(body);
  const fields = options.field_names ?? null;
  return (
    <>
      <Facts
        rows={[
          ["Name", body.name == null || body.name === "" ? "none" : <Foreign text={body.name} max={512} />],
          [
            "Once created",
            body.enabled === true ? "on: it takes events at once" : "paused: it takes none until you switch it on",
          ],
          ["Fields", fields === null ? "all" : <Foreign text={fields.join(", ")} max={500} />],
          ["Sample", sampleWords(options.sample_rate)],
          ["Written as", options.output_type === "csv" ? "CSV" : "NDJSON"],
          ...(options.record_template == null || options.record_template === ""
            ? []
            : ([["Template", "one of its own"]] as const)),
          [
            "An object is cut",
            `after ${duration(limitOf(body.max_upload_interval_seconds, UPLOAD_INTERVAL_S.fallback) * 1_000)}, ${count(
              limitOf(body.max_upload_records, UPLOAD_RECORDS.fallback),
            )} records or ${bytes(limitOf(body.max_upload_bytes, UPLOAD_BYTES.fallback))}, whichever comes first`,
          ],
          ["Canary", body.canary === true ? "every hour" : "none"],
        ]}
      />
      {body.filter == null || body.filter === "" ? (
        <p>No filter: every record is kept.</p>
      ) : (
        <Snippet id="summary-filter" label="Filter" text={body.filter} />
      )}
    </>
  );
};

function limitOf(value: Typed<number> | null | undefined, fallback: number): number {
  return Number(value) || fallback;
}

function sampleWords(rate: Typed<number> | null | undefined): string {
  return rate == null || Number(rate) === 1 ? "every record" : `${Number(rate) * 100} % of the records`;
}
