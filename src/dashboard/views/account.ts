/** What the API answers of the account and of functions, as pages read it: as job.ts. */

/** What a finding or an incident is about. */
export type SubjectView = { type: "account" } | { type: "job"; id: number } | { type: "function"; name: string };

export interface FindingView {
  kind: string;
  severity: "error" | "warning";
  subject: SubjectView;
  since: string | null;
  affected: { count: number; what: "records" | "events" | "messages" | "objects" } | null;
  summary: string;
  advice: string;
}

export interface StatusView {
  ok: boolean;
  checked_at: string;
  errors: number;
  warnings: number;
  findings: readonly FindingView[];
}

export interface IncidentView extends FindingView {
  id: string;
  since: string;
  opened_at: string;
  over_since: string | null;
  flaps: number;
}

export interface AccountLedgerView {
  processed: number;
  routed: number;
  not_enabled: number;
  not_routed: number;
  set_aside: number;
  discarded: number;
  queue: { backlog_messages: number | null; seen_at: string | null };
  outbox: { messages: number; events: number; oldest: string | null };
  intake_lost: number;
  draining: { id: number; deleted_at: string; pending: number | null; error_message: string | null }[];
}

export interface FunctionView {
  id: string;
  logging: "on" | "off" | "unset";
  tail_consumers: { service: string; environment?: string; namespace?: string }[] | null;
  last_event: string | null;
  shipped: number;
  dropped: { logging_off: number; no_job: number };
  modified_on: string | null;
  attachment: { state: string; since: string; checked_at: string; why: string } | null;
}

export interface UsageOperation {
  amount: number;
  basis: "counted" | "derived" | "estimated";
  list_price_usd: number;
}

export interface UsageView {
  month: string;
  since: string | null;
  until: string;
  counted: {
    events: number;
    messages: number;
    batches: number;
    records_offered: number;
    appends: number;
    uploads: { ok: number; retried: number; failed: number };
    records_delivered: number;
    bytes_delivered: number;
  };
  silent_jobs: number[];
  operations: {
    queue_operations: UsageOperation;
    rows_written: UsageOperation;
    object_requests: UsageOperation;
    object_gb_seconds: UsageOperation;
    puts: UsageOperation;
    cpu_ms: UsageOperation;
    invocations: UsageOperation;
    log_lines: UsageOperation;
  };
  list_price_usd: number;
  beyond_plan_usd: number;
  vendor_price_usd: number;
  vendor_beyond_plan_usd: number;
  assumptions: string[];
}
