/** What is stored of a receiver of alerts. The webhook is one whose choices are fixed. */

import type { Finding } from "../status/finding.ts";
import type { ReceiverFormat } from "./alert-formats.ts";

/** As in the storage of the watch. */
export type ReceiverRow = {
  id: number;
  /** New with each change by its owner. */
  mark: string;
  sealed: string;
  shown: string;
  enabled: number;
  gone_ms: number | null;
  created_ms: number;
  modified_ms: number;
  failures: number;
  failing_since_ms: number | null;
  rest_until_ms: number;
  last_answer: string | null;
  last_try_ms: number | null;
  last_ok_ms: number | null;
  delivered: number;
  given_up: number;
  /** Of the dashboard when it was last saved; null: unknown, and messages have no link. */
  origin: string | null;
  /** The answer to the last test, in words; null: none was made. */
  test_answer: string | null;
  tested_ms: number | null;
} & Chosen;

/** What the owner of a receiver chooses. */
export type Chosen = {
  name: string;
  format: ReceiverFormat;
  min_severity: Finding["severity"];
  muted_until_ms: number | null;
};

/** Of the webhook. */
export const WEBHOOK_CHOICES: Chosen = {
  name: "webhook",
  format: "generic",
  min_severity: "warning",
  muted_until_ms: null,
};

/** A receiver, and how many calls of it wait. */
export type ReceiverState = Omit<ReceiverRow, "enabled"> & { enabled: boolean; waiting: number };

/** A change by its owner. Its `origin` null: as it was. */
export interface ReceiverDraft extends Pick<ReceiverState, "sealed" | "shown" | "enabled" | "origin"> {
  /** Whether it stays off, and reported as such, after it answered 410. */
  staysGone: boolean;
  chosen: Chosen;
}
