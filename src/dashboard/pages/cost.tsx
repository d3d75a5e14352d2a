import type { FC } from "hono/jsx";
import { PRICES, type PriceName, VENDOR } from "../../prices.ts";
import type { PageContext, View } from "../page.ts";
import { Empty, Facts, Notice, Panel, Table } from "../parts/panel.tsx";
import { bytes, count, dollars, monthInWords, plural, Time } from "../parts/values.tsx";
import type { UsageOperation, UsageView } from "../views/account.ts";

/** What each operation is called, and its price. */
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

/** What this month used and cost so far, and how that is known. */
export async function costView({ api }: PageContext): Promise<View> {
  const usage = await api.get<UsageView>("/logship/usage");
  return {
    title: `What ${monthInWords(usage.month)} cost so far`,
    section: "overview",
    trail: [{ href: "/", label: "Overview" }],
    parts:
      usage.since === null
        ? [<Nothing />]
        : [<Sum usage={usage} />, <Billed usage={usage} />, <Counted usage={usage} />],
  };
}

const Nothing: FC = () => (
  <Empty title="Nothing was counted yet">
    <p>
      With the first events that a batch of the queue brings, this page says what the month used, and what that costs.
    </p>
  </Empty>
);

const Sum: FC<{ usage: UsageView }> = ({ usage }) => (
  <Panel id="sum" title="By public list price">
    {usage.silent_jobs.length > 0 && (
      <Notice
        kind="warn"
        title={`${plural(usage.silent_jobs.length, "job does", "jobs do")} not answer: what ${usage.silent_jobs.length === 1 ? "it" : "they"} uploaded is missing here`}
      />
    )}
    <Facts
      rows={[
        ["logship", <span class="price">{dollars(usage.list_price_usd)}</span>],
        ["The vendor's own, for the same records", <span class="price">{dollars(usage.vendor_price_usd)}</span>],
        ["logship, beyond the paid plan", dollars(usage.beyond_plan_usd)],
        ["The vendor's own, beyond the paid plan", dollars(usage.vendor_beyond_plan_usd)],
      ]}
    />
    <p class="quiet">
      {usage.since !== null && (
        <>
          From <Time at={usage.since} /> to <Time at={usage.until} />.{" "}
        </>
      )}
      The vendor charges for what reaches a destination: {count(usage.counted.records_delivered)} records,{" "}
      {dollars(VENDOR.dollars)} for a million. “Beyond the paid plan” is what exceeds what the plan includes a month, if
      the account does nothing else.
    </p>
  </Panel>
);

const Billed: FC<{ usage: UsageView }> = ({ usage }) => (
  <Panel id="operations" title="What is billed">
    <Table
      caption="Billed operations of this month, with how each number is known and what it costs"
      columns={[
        { label: "Operation" },
        { label: "So far", figures: true },
        { label: "Known how" },
        { label: "For a million", figures: true },
        { label: "Included a month", figures: true },
        { label: "List price", figures: true },
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
      <li>derived: from what was counted, by factors that were measured.</li>
      <li>estimated: by what cannot be measured from here.</li>
    </ul>
  </Panel>
);

const Counted: FC<{ usage: UsageView }> = ({ usage: { counted, assumptions } }) => (
  <Panel id="counted" title="What was counted">
    <Facts
      rows={[
        ["Events", count(counted.events)],
        ["Messages of the queue", count(counted.messages)],
        ["Batches of the queue", count(counted.batches)],
        ["Records offered to jobs", count(counted.records_offered)],
        ["Appends to logs", count(counted.appends)],
        ["Uploads", count(counted.uploads.ok)],
        ["Uploads that were refused", count(counted.uploads.retried + counted.uploads.failed)],
        ["Records delivered", count(counted.records_delivered)],
        ["Delivered, as stored", bytes(counted.bytes_delivered)],
      ]}
    />
    <h3>What to know of these numbers</h3>
    <ul>
      {assumptions.map((each) => (
        <li>{each}</li>
      ))}
    </ul>
  </Panel>
);
