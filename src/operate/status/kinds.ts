type Source =
  | "account"
  | "functions"
  | "failing"
  | "replays"
  | "attachments"
  | "searches"
  | "problems"
  | "destination"
  | "reader"
  | "none";

/**
 * The kinds of findings of the rules, in the order in which they are listed, each with the part
 * of the facts that tells it: without its answer, it is unknown whether such a problem is over.
 * `reader` and `destination` are of the job that it is about; `none`: it needs no answer, or
 * rules.ts knows more. docs/status.md says when each appears and what to do.
 */
export const KIND_SOURCES = {
  configuration_malformed: "none",
  control_silent: "none",
  ledger_silent: "none",
  replays_silent: "none",
  attachments_silent: "none",
  no_job_enabled: "account",
  no_events: "account",
  intake_lost: "account",
  times_in_seconds: "account",
  intake_unfit: "account",
  queue_old: "account",
  queue_backlog: "account",
  queue_large: "account",
  messages_set_aside: "account",
  ledger_large: "account",
  ledger_busy: "account",
  functions_not_watched: "functions",
  functions_more: "none",
  sender_crowds: "account",
  restored: "account",
  out_of_balance: "account",
  job_unreadable: "none",
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
  log_silent: "none",
  unread: "reader",
  unmade: "reader",
  log_large: "reader",
  objects_set_aside: "reader",
  many_scripts: "reader",
  extra_field_off: "none",
  canary_failed: "reader",
  canary_missing: "reader",
  canary_damaged: "reader",
  canary_unreadable: "reader",
  manifest_failing: "reader",
  replay_waiting: "replays",
  function_off: "functions",
  function_quiet: "functions",
  function_kind_quiet: "functions",
  function_never_seen: "functions",
  function_failing: "failing",
  function_slow: "failing",
  problem_new: "problems",
  problem_regressed: "problems",
  attachment_undone: "attachments",
  attachment_unknown: "attachments",
  search_alert: "searches",
} as const satisfies Readonly<Record<string, Source>>;

export type Kind = keyof typeof KIND_SOURCES;

export const KINDS = Object.keys(KIND_SOURCES) as Kind[];

/** The id of the webhook among the receivers of alerts. */
export const WEBHOOK = 1;

/** A receiver of alerts does not accept them. */
export const WEBHOOK_FAILING = "webhook_failing";

/** The kinds of findings of the watch itself; on the same page. */
export const WATCH_KINDS = ["look_failed", WEBHOOK_FAILING, "more_findings"] as const;
