import type { Child, FC, PropsWithChildren } from "hono/jsx";
import { bytes, count, percent, plural } from "../../../../base/words.ts";
import { type Series, Share } from "../../parts/chart.tsx";
import { Facts, Notice, Panel, State } from "../../parts/panel.tsx";
import type { LedgerView } from "../../views/job.ts";
import { addsUp, guaranteeWords } from "./job-text.ts";

/** The fate of every received record, as a tree. */
export const LedgerPanel: FC<{ jobId: number; ledger: LedgerView }> = ({ jobId, ledger }) => {
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = ledger;
  const passed = Math.max(0, received - filtered - sampled_out);
  const { ok, sum } = addsUp(ledger);
  const of = received;
  return (
    <Panel id="ledger" title="Where records went" refresh={5}>
      <ul class="flow">
        <Row name="Received" what="sent to this job" value={received} of={of} tone="bar">
          <Row name="Filtered" what="by the filter" value={filtered} of={of} tone="quiet" />
          <Row name="Sampled out" what="not in the sample" value={sampled_out} of={of} tone="quiet" />
          <Row name="Kept" what="for the destination" value={passed} of={of} tone="bar">
            <Row name="Delivered" what="at the destination" value={delivered} of={of} tone="ok" />
            <Row name="Pending" what="waiting" value={pending} of={of} tone="info" />
            <Row
              name={set_aside > 0 ? <a href="/set-aside">On hold</a> : "On hold"}
              what="kept until you decide"
              value={set_aside}
              of={of}
              tone="bad"
            />
            <Row name="Discarded" what="by request" value={discarded} of={of} tone="warn" />
          </Row>
        </Row>
      </ul>
      {ok ? (
        <p class="equation">
          <State kind="ok">It adds up</State> {count(received)} received = {count(filtered)} filtered +{" "}
          {count(sampled_out)} sampled out + {count(delivered)} delivered + {count(pending)} pending +{" "}
          {count(set_aside)} on hold + {count(discarded)} discarded
        </p>
      ) : (
        <Notice kind="bad" title="It does not add up">
          <p>
            {count(received)} received, {count(sum)} accounted for: {count(Math.abs(received - sum))}{" "}
            {received > sum ? "missing" : "too many"}. Reload the page; if this stays, report it as a bug.
          </p>
        </Notice>
      )}
      <Facts
        rows={[
          ["Delivered, before compression", bytes(ledger.bytes_raw)],
          ["Delivered, as stored", bytes(ledger.bytes_compressed)],
          [
            "Compression",
            ledger.bytes_compressed === 0
              ? "nothing delivered yet"
              : `${(ledger.bytes_raw / ledger.bytes_compressed).toFixed(1)} to 1`,
          ],
          ...(ledger.unread.records === 0
            ? []
            : [["Not read from the log yet", plural(ledger.unread.records, "record")] as const]),
          ["Guarantee", guaranteeWords(ledger)],
          ...(ledger.resent_in_doubt === 0
            ? []
            : [["Sent again in doubt (counted separately)", plural(ledger.resent_in_doubt, "record")] as const]),
          ["Replayed (counted separately)", <Replayed jobId={jobId} {...ledger.replayed} />],
        ]}
      />
    </Panel>
  );
};

const Row: FC<PropsWithChildren<{ name: Child; what: string; value: number; of: number; tone: Series["tone"] }>> = ({
  name,
  what,
  value,
  of,
  tone,
  children,
}) => (
  <li>
    <div class="flow-row">
      <span>
        {name} <span class="quiet">{what}</span>
      </span>
      <span class="flow-count">
        <strong>{count(value)}</strong> <span class="quiet">{percent(value, of)}</span>
      </span>
      <Share share={of === 0 ? 0 : value / of} tone={tone} />
    </div>
    {children !== undefined && <ol>{children}</ol>}
  </li>
);

const Replayed: FC<LedgerView["replayed"] & { jobId: number }> = ({ jobId, objects, records, bytes: size }) =>
  objects === 0 ? (
    <>nothing</>
  ) : (
    <a href={`/jobs/${jobId}/replay`}>
      {plural(records, "record")} in {plural(objects, "object")}, {bytes(size)}
    </a>
  );
