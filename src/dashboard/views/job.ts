/** What the API answers of a job, as pages read it: the documents of the routes (src/api/docs) say what each field means. */

export interface JobView {
  id: number;
  dataset: string;
  name: string | null;
  enabled: boolean;
  /** Secrets are `****`. */
  destination_conf: string;
  output_options?: { field_names?: string[]; [option: string]: unknown };
  filter: string | null;
  max_upload_bytes: number | null;
  max_upload_records: number | null;
  max_upload_interval_seconds: number | null;
  canary?: boolean;
  last_complete: string | null;
  last_error: string | null;
  error_message: string | null;
  time_created: string;
  time_modified: string;
  [more: string]: unknown;
}

export interface LedgerView {
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  pending: number;
  set_aside: number;
  discarded: number;
  pending_objects: number;
  oldest_pending_seconds: number | null;
  bytes_raw: number;
  bytes_compressed: number;
  replayed: AmountView;
}

export interface AmountView {
  objects: number;
  records: number;
  bytes: number;
}

export interface HourView {
  hour: string;
  uploads: { ok: number; retried: number; failed: number };
  /** By HTTP status, or a word. */
  errors: Readonly<Record<string, number>>;
  records: number;
  bytes_raw: number;
  bytes_compressed: number;
  duration_ms: { sum: number; max: number };
}

export interface ObjectView {
  number: number;
  key: string;
  state: "waiting" | "delivered" | "set_aside" | "discarded";
  records: number;
  bytes: number;
  raw_bytes: number;
  first_event: string;
  last_event: string;
  reason: string;
  attempts: number;
  cut_at: string;
  uploaded_at: string | null;
  verified: boolean | null;
  error: string | null;
  replay: { id: string; of: number; destination: string | null } | null;
}

export interface LinesView {
  lines: readonly { number: number; text: string; truncated: boolean }[];
  next: number | null;
}

export interface ReplayView {
  id: string;
  since: string;
  until: string;
  destination_conf: string | null;
  state: "running" | "waiting" | "done" | "cancelled" | "failed";
  planned: AmountView;
  done: AmountView;
  missing: AmountView;
  damaged: AmountView;
  failed: AmountView;
  left: AmountView;
  error_message: string | null;
  next_attempt: string | null;
  started_at: string;
  ended_at: string | null;
}

export interface ReplayDetailView extends ReplayView {
  problems: readonly { object: number; key: string; kind: "missing" | "damaged" | "failed"; why: string }[];
}
