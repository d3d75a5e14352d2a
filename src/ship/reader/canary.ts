import { errorText, log } from "../../base/logger.ts";
import { platform } from "../../base/platform.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { HOUR_MS } from "../../base/time.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import { openDestination } from "../destinations/kinds.ts";
import type { JobConfig } from "../job/config.ts";
import { isOpen } from "../job/windows.ts";
import { placeOf } from "../log/nodes.ts";
import { type CanaryFinding, notWritten, readCanary, type SentCanary, writeCanary } from "./canary-check.ts";
import { canaryAfter, canaryKey, canaryObject } from "./canary-object.ts";
import type { READER_STEPS } from "./reader-migrations.ts";
import { ReaderPart } from "./reader-part.ts";
import type { ReaderState } from "./reader-state.ts";
import type { CanaryStatus } from "./statuses.ts";

/** The state of a job's canary, and its times. */
export interface CanaryReport extends CanaryStatus {
  /** When the newest was sent, and when there is something to do next, in ms. */
  lastRunMs: number | null;
  nextRunMs: number;
  /** Below the bucket. */
  key: string;
}

/** What it needs of the reader that it is part of. */
export interface CanaryHost {
  /** Of the whole job, however many readers it has. */
  identity(jobId: number): string;
  open(job: JobConfig): Parsed<Destination>;
  /** A transaction, after which the alarm is set for what comes next. */
  commit(change: () => void): void;
}

/**
 * Part of a reader: a synthetic event that is written to the destination every hour and read back.
 * It is no object of the reader: it changes no count, no hour of health, and no status of the
 * uploads. docs/status.md
 */
export class Canary extends ReaderPart {
  readonly #host: CanaryHost;
  /**
   * The try that is under way in this instance. After a crash it is made again. Public for the
   * tests, which wait for it.
   */
  running: Promise<void> | null = null;

  constructor(sql: SqlStorage, state: ReaderState, host: CanaryHost) {
    super(sql, state);
    this.#host = host;
  }

  /**
   * The job has another configuration. The first canary for a destination is sent at once. Belongs
   * into the transaction of its caller.
   */
  follow(job: JobConfig, nowMs: number): void {
    const { node, sealed_ms } = this.state.requireRow();
    const sends = job.canary && isOpen(job.windows) && job.deletedMs === null;
    // One of the whole job.
    if (!sends || sealed_ms !== null || placeOf(node).shard !== 0) {
      this.sql.run`DELETE FROM canary`;
    } else if (this.#row()?.destination_version !== job.destinationVersion) {
      const since = { since_ms: nowMs, next_ms: nowMs };
      const row = { id: 1, destination_version: job.destinationVersion, state: "waiting", ...since };
      this.sql.replace("canary", row);
    }
  }

  /** After a manual flush: the next canary is sent at once, if the last one is not well. */
  retryNow(nowMs: number): void {
    this.sql.run`UPDATE canary SET next_ms = ${nowMs} WHERE next_ms > ${nowMs} AND (state <> 'ok' OR tries > 0)`;
  }

  /**
   * When there is something to do, in ms since the epoch; Infinity: never. A try that is under way
   * is followed up at its end, or an hour later.
   */
  nextMs(nowMs: number): number {
    const row = this.#row();
    if (row === null) return Number.POSITIVE_INFINITY;
    return this.running === null ? canaryDueMs(row, nowMs) : canaryAfter(this.state.requireJob().id, nowMs);
  }

  /**
   * Begins what is due. @returns its end, for `waitUntil`; it never rejects. null: nothing is due,
   * or it is under way.
   */
  begin(nowMs: number): Promise<void> | null {
    const row = this.running === null ? this.#row() : null;
    if (row === null || canaryDueMs(row, nowMs) > nowMs) return null;
    this.running = this.#run(this.state.requireJob(), row, nowMs);
    return this.running;
  }

  /** null: the job has none, or this segment is sealed. */
  report(nowMs: number): CanaryReport | null {
    const row = this.#row();
    if (row === null) return null;
    const { id, path, output } = this.state.requireJob();
    const key = canaryKey(path, id, this.#host.identity(id), output);
    return { ...canaryStatus(row, nowMs), lastRunMs: row.last_run_ms, nextRunMs: row.next_ms, key };
  }

  /** @returns as {@link report}. */
  status(nowMs: number): CanaryStatus | null {
    const row = this.#row();
    return row === null ? null : canaryStatus(row, nowMs);
  }

  async #run(job: JobConfig, row: CanaryRow, startedMs: number): Promise<void> {
    const broke = (error: unknown): void =>
      log.error("canary broke", { durable_object: "JobReader", job: job.id, error: errorText(error) });
    let tried: CanaryTry;
    try {
      tried = await this.#try(job, row, startedMs);
    } catch (error) {
      broke(error);
      tried = unwritten("internal error", startedMs);
    }
    this.running = null;
    try {
      this.#host.commit(() => this.#settle(job, tried, startedMs));
    } catch (error) {
      // Nothing has changed: it is still due.
      broke(error);
    }
  }

  async #try(job: JobConfig, row: CanaryRow, startedMs: number): Promise<CanaryTry> {
    const opened = this.#host.open(job);
    if (!opened.ok) return unwritten(opened.why, startedMs);
    const store = openDestination(opened.value, platform);
    const identity = this.#host.identity(job.id);
    const key = canaryKey(opened.value.path, job.id, identity, job.output);
    if (row.unread === 1 && row.sha256 !== null && row.bytes !== null) {
      const sent: SentCanary = { sha256: row.sha256, bytes: row.bytes, beforeSha256: row.before_sha256 };
      return { finding: await readCanary(store, key, sent), wroteMs: null, sent };
    }
    const object = canaryObject(job.output, job.id, identity, startedMs);
    const failed = await writeCanary(store, key, object);
    if (failed !== null) return { finding: failed, wroteMs: startedMs, sent: null };
    const sent = { sha256: object.sha256, bytes: object.body.length, beforeSha256: row.sha256 };
    return { finding: await readCanary(store, key, sent), wroteMs: startedMs, sent };
  }

  /** Stores what follows, unless the job has another destination or no canary by now. */
  #settle(job: JobConfig, tried: CanaryTry, startedMs: number): void {
    const nowMs = platform.now();
    const row = this.#row();
    const counts = row !== null && row.destination_version === job.destinationVersion;
    const after = counts ? afterTry(row, tried, job.id, nowMs) : null;
    if (after !== null) this.sql.update("canary", 1, after);
    const { finding } = tried;
    const again = after !== null && after.tries > 0;
    log[finding.state === "ok" || after === null ? "info" : "warn"]("canary", {
      job: job.id,
      outcome: after === null ? "superseded" : again ? "retry" : finding.state,
      attempt: (row?.tries ?? 0) + 1,
      ms: nowMs - startedMs,
      ...(finding.state !== "ok" && { why: finding.why }),
    });
  }

  #row(): CanaryRow | null {
    if (this.state.retired) return null;
    return this.sql.first`SELECT canary.* FROM canary JOIN reader USING (id) WHERE sealed_ms IS NULL`;
  }
}

function unwritten(why: string, startedMs: number): CanaryTry {
  const finding = { state: "failed", why: notWritten(why), passing: false, retryAfterMs: 0 } as const;
  return { finding, wroteMs: startedMs, sent: null };
}

type CanaryRow = RowOf<typeof READER_STEPS, "canary"> & { state: CanaryStatus["state"] };

/** What a try did, and found. */
interface CanaryTry {
  finding: CanaryFinding;
  /** When it began to write one, in ms; null: it only read. */
  wroteMs: number | null;
  /** The canary that was written, as the store says; null: it could not be written. */
  sent: SentCanary | null;
}

/** Delays before a failed try is repeated, in ms: a momentary fault is not reported. */
const AGAIN_MS: readonly number[] = [15_000, 60_000, 180_000];

/** A store that asks for more patience than this, in ms, counts as failing. */
const PATIENCE_MS = 300_000;

/**
 * A canary is overdue after this long, in ms: three intervals of the cron, which stands in for the
 * alarm.
 */
const OVERDUE_MS = 900_000;

/**
 * When there is something to do, in ms since the epoch. A time more than an hour ahead was set by a
 * wrong clock.
 */
function canaryDueMs({ next_ms }: Pick<CanaryRow, "next_ms">, nowMs: number): number {
  return next_ms > nowMs + HOUR_MS ? nowMs : next_ms;
}

/**
 * What follows from a try. A run is decided when a canary was read back, when the fault will not
 * pass by itself, or after enough tries.
 */
function afterTry(row: CanaryRow, { finding, wroteMs, sent }: CanaryTry, jobId: number, nowMs: number): CanaryRow {
  const tried: CanaryRow = {
    ...row,
    last_run_ms: wroteMs ?? row.last_run_ms,
    ...(sent !== null && { sha256: sent.sha256, bytes: sent.bytes, before_sha256: sent.beforeSha256 }),
  };
  if (finding.state !== "ok" && finding.passing) {
    const again = AGAIN_MS[row.tries];
    const waitMs = Math.max(again ?? 0, finding.retryAfterMs);
    if (again !== undefined && waitMs <= PATIENCE_MS)
      return { ...tried, tries: row.tries + 1, unread: sent === null ? 0 : 1, next_ms: nowMs + waitMs };
  }
  return {
    ...tried,
    state: finding.state,
    since_ms: finding.state === row.state ? row.since_ms : nowMs,
    why: finding.state === "ok" ? null : finding.why,
    last_ok_ms: finding.state === "ok" ? nowMs : row.last_ok_ms,
    tries: 0,
    unread: 0,
    next_ms: canaryAfter(jobId, nowMs),
  };
}

/**
 * The status of a canary. A canary that is not sent is noticed here alone: if alarm and cron fail,
 * nothing else says so.
 */
function canaryStatus(row: CanaryRow, nowMs: number): CanaryStatus {
  const overdueMs = row.next_ms + OVERDUE_MS;
  if (nowMs > overdueMs) {
    const due = new Date(row.next_ms).toISOString();
    const why = `no canary was sent, or read again, that was due at ${due}: neither the log's alarm nor the cron has come`;
    const sinceMs = row.state === "failed" ? row.since_ms : overdueMs;
    return { state: "failed", sinceMs, lastOkMs: row.last_ok_ms, why };
  }
  return { state: row.state, sinceMs: row.since_ms, lastOkMs: row.last_ok_ms, why: row.why };
}
