import type { Facts } from "./facts.ts";
import type { Finding, Subject } from "./types.ts";

/** Everything that can be found to be wrong. docs/status.md says of each when it is said, and what to do. */
export const KINDS = [
  "configuration_malformed",
  "control_silent",
  "ledger_silent",
  "outbox_silent",
  "replays_silent",
  "attachments_silent",
  "no_job_enabled",
  "no_events",
  "intake_lost",
  "outbox_waiting",
  "queue_old",
  "queue_backlog",
  "messages_set_aside",
  "functions_not_watched",
  "functions_more",
  "out_of_balance",
  "key_lost",
  "destination_unusable",
  "parked",
  "failing",
  "lagging",
  "nothing_received",
  "filter_keeps_nothing",
  "sample_keeps_nothing",
  "disabled_with_pending",
  "draining",
  "draining_stuck",
  "log_silent",
  "log_large",
  "objects_set_aside",
  "canary_failed",
  "canary_missing",
  "canary_damaged",
  "canary_unreadable",
  "replay_waiting",
  "function_off",
  "function_quiet",
  "function_never_seen",
  "attachment_undone",
] as const;

export type Kind = (typeof KINDS)[number];

/** What is wrong, the worst first. It depends on nothing but the facts. */
export function findingsOf(_facts: Facts): Finding[] {
  return [];
}

/** Whether the facts do not tell if this is so: somebody is silent. That it is not found then does not say that it is over. */
export function isUntold(_facts: Facts, _subject: Subject, _kind: string): boolean {
  return false;
}
