/** The kinds of findings of the rules. docs/status.md says when each appears and what to do. */
export const KINDS = [
  "configuration_malformed",
  "control_silent",
  "ledger_silent",
  "replays_silent",
  "attachments_silent",
  "no_job_enabled",
  "no_events",
  "intake_lost",
  "queue_old",
  "queue_backlog",
  "queue_large",
  "messages_set_aside",
  "ledger_large",
  "ledger_busy",
  "functions_not_watched",
  "functions_more",
  "restored",
  "out_of_balance",
  "job_unreadable",
  "key_lost",
  "destination_unusable",
  "credentials_expire",
  "parked",
  "failing",
  "lagging",
  "nothing_received",
  "past_incomplete",
  "filter_keeps_nothing",
  "sample_keeps_nothing",
  "disabled_with_pending",
  "draining",
  "draining_stuck",
  "log_silent",
  "unread",
  "unmade",
  "log_large",
  "objects_set_aside",
  "many_scripts",
  "extra_field_off",
  "canary_failed",
  "canary_missing",
  "canary_damaged",
  "canary_unreadable",
  "manifest_failing",
  "replay_waiting",
  "function_off",
  "function_quiet",
  "function_never_seen",
  "function_failing",
  "attachment_undone",
  "attachment_unknown",
] as const;

/** The id of the webhook among the receivers of alerts. */
export const WEBHOOK = 1;

/** A receiver of alerts does not accept them. */
export const WEBHOOK_FAILING = "webhook_failing";

/** The kinds of findings of the watch itself; on the same page. */
export const WATCH_KINDS = ["look_failed", WEBHOOK_FAILING, "more_findings"] as const;

export type Kind = (typeof KINDS)[number];
