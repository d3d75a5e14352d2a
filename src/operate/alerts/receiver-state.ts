/** What is stored of a receiver of alerts. The webhook is one whose choices are fixed. */

import type { RowOf } from "../../base/storage/row-of.ts";
import type { Finding } from "../status/finding.ts";
import type { ReceiverFormat } from "./alert-formats.ts";
import type { WATCH_STEPS } from "./watch-migrations.ts";

export type ReceiverRow = RowOf<typeof WATCH_STEPS, "receiver"> & Required<Chosen>;

/** What the owner of a receiver chooses. */
export type Chosen = {
  name: string;
  format: ReceiverFormat;
  min_severity: Finding["severity"];
  muted_until_ms: number | null;
  /** JSON of `Routes`; null: everything; absent: as it was. */
  routes?: string | null;
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
