/** What is stored of a receiver of alerts: of the webhook, and of the targets beside it. */
import type { FormatName } from "./formats.ts";
import type { Finding } from "./types.ts";

/** A webhook as stored. */
export interface WebhookState {
  /** New with each change by its owner. */
  mark: string;
  sealed: string;
  shown: string;
  enabled: boolean;
  goneMs: number | null;
  createdMs: number;
  modifiedMs: number;
  failures: number;
  failingSinceMs: number | null;
  lastAnswer: string | null;
  lastTryMs: number | null;
  lastOkMs: number | null;
  delivered: number;
  givenUp: number;
  waiting: number;
  /** Of all but the webhook, what its owner chose. */
  name: string;
  format: FormatName | "generic";
  minSeverity: Finding["severity"];
  mutedUntilMs: number | null;
  /** Of the dashboard when it was last saved; null: unknown, and messages have no link. */
  origin: string | null;
  /** The answer to the last test, in words; null: none was made. */
  testAnswer: string | null;
  testedMs: number | null;
}

/** A change of a target by its owner. */
export interface TargetDraft extends Pick<WebhookState, "sealed" | "shown" | "enabled" | "name" | "format"> {
  minSeverity: Finding["severity"];
  mutedUntilMs: number | null;
  /** null: as it was. */
  origin: string | null;
}

/** A change of the webhook by its owner. */
export interface WebhookDraft {
  sealed: string;
  shown: string;
  enabled: boolean;
  /** Whether it stays off, and reported as such, after its receiver answered 410. */
  staysGone: boolean;
  /** null: as it was. */
  origin: string | null;
}

/** As in the storage of the watch. */
export type WebhookRow = {
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
  origin: string | null;
  test_answer: string | null;
  tested_ms: number | null;
  /** Only targets have these. */
  name?: string;
  format?: FormatName;
  min_severity?: Finding["severity"];
  muted_until_ms?: number | null;
};

/** @param waiting calls of it. */
export function stateOf(row: WebhookRow, waiting: number): WebhookState {
  return {
    mark: row.mark,
    sealed: row.sealed,
    shown: row.shown,
    enabled: row.enabled === 1,
    goneMs: row.gone_ms,
    createdMs: row.created_ms,
    modifiedMs: row.modified_ms,
    failures: row.failures,
    failingSinceMs: row.failing_since_ms,
    lastAnswer: row.last_answer,
    lastTryMs: row.last_try_ms,
    lastOkMs: row.last_ok_ms,
    delivered: row.delivered,
    givenUp: row.given_up,
    waiting,
    name: row.name ?? "webhook",
    format: row.format ?? "generic",
    minSeverity: row.min_severity ?? "warning",
    mutedUntilMs: row.muted_until_ms ?? null,
    origin: row.origin,
    testAnswer: row.test_answer,
    testedMs: row.tested_ms,
  };
}
