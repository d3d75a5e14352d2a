import type { FC } from "hono/jsx";
import { PRICES, type PriceName, VENDOR } from "../../../base/prices.ts";
import { bytes, count, dollars, monthInWords, plural } from "../../../base/words.ts";
import type { PageContext, View } from "../page.ts";
import { Empty, Facts, figures, Notice, Panel, Table } from "../parts/panel.tsx";
import { Time } from "../parts/values.tsx";
import type { UsageOperation, UsageView } from "../views/account.ts";

/** Label and price of each operation. */
const OPERATIONS: readonly { name: keyof UsageView["operations"]; label: string; price: PriceName }[] = [
  { name: "queue_operations", label: "Queue operations", price: "queueOperations" },
  { name: "rows_written", label: "Rows written", price: "rowsWritten" },
  { name: "object_requests", label: "Durable object requests", price: "objectRequests" },
  { name: "object_gb_seconds", label: "Durable object GB-seconds", price: "objectGbSeconds" },
  { name: "puts", label: "PUTs", price: "storeClassA" },
  { name: "cpu_ms", label: "CPU time, ms", price: "cpuMs" },
  { name: "invocations", label: "Invocations", price: "requests" },
  { name: "log_lines", label: "Log lines", price: "logEvents" },
];

/** What this month used and cost so far, and how each number is known. */
export async function costView({ api }: PageContext): Promise<View> {
  const usage = await api.get<UsageView>("/logship/usage");
  return {
    title: `Cost in ${monthInWords(usage.month)} so far`,
    parts:
      usage.since === null
        ? [<Nothing />]
        : [<Sum usage={usage} />, <Billed usage={usage} />, <Counted usage={usage} />],
  };
}

const Nothing: FC = () => (
  <Empty title="Nothing counted yet">
    <p>Usage and cost appear with the first events.</p>
  </Empty>
);

const Sum: FC<{ usage: UsageView }> = ({ usage }) => (
  <Panel id="sum" title="At public list prices">
    {usage.silent_jobs.length > 0 && (
      <Notice kind="warn" title={`Uploads of ${plural(usage.silent_jobs.length, "job")} are missing: no answer`} />
    )}
    <Facts
      rows={[
        ["logship", <span class="figure">{dollars(usage.list_price_usd)}</span>],
        ["Logpush, same records", <span class="figure">{dollars(usage.vendor_price_usd)}</span>],
        ["logship, beyond the plan", dollars(usage.beyond_plan_usd)],
        ["Logpush, beyond the plan", dollars(usage.vendor_beyond_plan_usd)],
      ]}
    />
    <p class="quiet">
      {usage.since !== null && (
        <>
          From <Time at={usage.since} /> to <Time at={usage.until} />.{" "}
        </>
      )}
      Logpush charges per delivered record: {count(usage.counted.records_delivered)} records at{" "}
      {dollars(VENDOR.dollars)} per million. “Beyond the plan” is the part above the monthly allowance of the paid plan,
      if the account does nothing else.
    </p>
  </Panel>
);

const Billed: FC<{ usage: UsageView }> = ({ usage }) => (
  <Panel id="operations" title="Billed operations">
    <Table
      caption="Billed operations of this month, with their basis and price"
      columns={[
        "Operation",
        figures("So far"),
        "Basis",
        figures("Per million"),
        figures("Included per month"),
        figures("List price"),
      ]}
      rows={OPERATIONS.map(({ name, label, price }) => {
        const { amount, basis, list_price_usd }: UsageOperation = usage.operations[name];
        return [
          label,
          count(amount),
          basis,
          dollars(PRICES[price].dollars),
          count(PRICES[price].included),
          dollars(list_price_usd),
        ];
      })}
    />
    <ul>
      <li>counted: as it happened.</li>
      <li>derived: from counted numbers, by measured factors.</li>
      <li>estimated: Cloudflare does not expose this.</li>
    </ul>
  </Panel>
);

const Counted: FC<{ usage: UsageView }> = ({ usage: { counted, assumptions } }) => (
  <Panel id="counted" title="Counted">
    <Facts
      rows={[
        ["Events", count(counted.events)],
        ["Queue messages", count(counted.messages)],
        ["Queue batches", count(counted.batches)],
        ["Records sent to jobs", count(counted.records_offered)],
        ["Entries of jobs in the log", count(counted.entries)],
        ["Uploads", count(counted.uploads.ok)],
        ["Failed uploads", count(counted.uploads.retried + counted.uploads.failed)],
        ["Records delivered", count(counted.records_delivered)],
        ["Bytes delivered (as stored)", bytes(counted.bytes_delivered)],
      ]}
    />
    <h3>About these numbers</h3>
    <ul>
      {assumptions.map((each) => (
        <li>{each}</li>
      ))}
    </ul>
  </Panel>
);
