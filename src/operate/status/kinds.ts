/**
 * The kinds of findings of the rules, in the order in which they are listed, each with the part
 * that tells it: without its answer, it is unknown whether such a problem is over. `facts`: it
 * needs none, or rules.ts knows which. docs/status.md says when each appears and what to do.
 */
export const KIND_SOURCES = {
  configuration_malformed: "facts",
  control_silent: "facts",
  ledger_silent: "facts",
  replays_silent: "facts",
  attachments_silent: "facts",
  no_job_enabled: "ledger",
  no_events: "ledger",
  intake_lost: "ledger",
  queue_old: "ledger",
  queue_backlog: "ledger",
  queue_large: "ledger",
  messages_set_aside: "ledger",
  ledger_large: "ledger",
  ledger_busy: "ledger",
  functions_not_watched: "facts",
  functions_more: "facts",
  restored: "ledger",
  out_of_balance: "ledger",
  job_unreadable: "facts",
  key_lost: "destination",
  destination_unusable: "destination",
  credentials_expire: "destination",
  parked: "reader",
  failing: "reader",
  lagging: "reader",
  nothing_received: "reader",
  past_incomplete: "reader",
  filter_keeps_nothing: "reader",
  sample_keeps_nothing: "reader",
  disabled_with_pending: "reader",
  draining: "reader",
  draining_stuck: "reader",
  log_silent: "facts",
  unread: "reader",
  unmade: "reader",
  log_large: "reader",
  objects_set_aside: "reader",
  many_scripts: "reader",
  extra_field_off: "facts",
  canary_failed: "reader",
  canary_missing: "reader",
  canary_damaged: "reader",
  canary_unreadable: "reader",
  manifest_failing: "reader",
  replay_waiting: "facts",
  function_off: "functions",
  function_quiet: "functions",
  function_never_seen: "functions",
  function_failing: "functions",
  attachment_undone: "functions",
  attachment_unknown: "functions",
} as const satisfies Readonly<Record<string, "facts" | "ledger" | "destination" | "reader" | "functions">>;

export type Kind = keyof typeof KIND_SOURCES;

export const KINDS = Object.keys(KIND_SOURCES) as Kind[];

/** The id of the webhook among the receivers of alerts. */
export const WEBHOOK = 1;

/** A receiver of alerts does not accept them. */
export const WEBHOOK_FAILING = "webhook_failing";

/** The kinds of findings of the watch itself; on the same page. */
export const WATCH_KINDS = ["look_failed", WEBHOOK_FAILING, "more_findings"] as const;
