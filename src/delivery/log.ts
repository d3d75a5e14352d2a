import { DurableObject } from "cloudflare:workers";
import { concat } from "../bytes.ts";
import { readConfig } from "../config.ts";
import type { JobConfig } from "../control/job-config.ts";
import { destinationPurpose, unseal } from "../control/secrets.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import { ObjectStore } from "../destinations/object-store.ts";
import { parseDestination } from "../destinations/parse.ts";
import { ID_MEMORY_MS, SEGMENT_MAX_BYTES } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { platform, within } from "../platform.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import { migrate } from "../storage/migrate.ts";
import { AsideObjects } from "./aside-objects.ts";
import { Batches } from "./batches.ts";
import { Canary, type CanaryReport } from "./canary.ts";
import { segmentName } from "./chain.ts";
import { Health, type HealthHour } from "./health.ts";
import { KeptIds } from "./kept-ids.ts";
import { LogState } from "./log-state.ts";
import { entryOf } from "./object-entry.ts";
import { Objects } from "./objects.ts";
import { disposition, failureWords, type UploadError } from "./policy.ts";
import { type Replayable, Replayed, type ReplayedObject, type ReplayPage, type ReplaySpan } from "./replayed.ts";
import type { LogRow, ObjectRow } from "./rows.ts";
import { LOG_STEPS } from "./schema.ts";
import { streamed } from "./stream.ts";
import type { Append, AppendResult, AsideObject, LogCounts, LogStatus, ObjectEntry } from "./types.ts";
import { type UploadOutcome, uploadObject } from "./upload.ts";
import { countedAs, endOf, logUpload, type UploadEnd } from "./upload-end.ts";

/** Uploads of one log that run side by side; each holds one row of its object in memory. */
const UPLOADS_AT_ONCE = 4;

/** Objects up to this size are sent from memory, larger ones streamed row by row, in bytes. */
const BUFFERED_MAX_BYTES = 2_000_000;

/** How long an alarm waits for uploads before it arms the next one: a slow store must not hold up the next cut. In ms. */
const ALARM_WAIT_MS = 8_000;

/** When an alarm looks again after uploads that it left running, in ms. */
const ALARM_LOOK_AGAIN_MS = 15_000;

/** How long, after a failure, the one upload that is tried keeps the others waiting, in ms. */
const PROBE_PATIENCE_MS = 15_000;

const ALARM_LOST_AFTER_MS = 60_000;

const SWEEP_EVERY_MS = 86_400_000;

/**
 * The delivery log of one job: the source of truth between the queue and the bucket. What is in here is either on its way to the destination or
 * counted; everything after an append can be repeated at any step without changing anything. A log is a chain of such objects (segments), of which
 * only the last takes records.
 */
export class DeliveryLog extends DurableObject<Env> {
  readonly #state: LogState;
  readonly #batches: Batches;
  readonly #objects: Objects;
  readonly #health: Health;
  readonly #replayed: Replayed;
  readonly #ids: IdMemory;
  readonly #kept: KeptIds;
  readonly #aside: AsideObjects;
  /** Public for the tests, which wait for it. */
  readonly canary: Canary;
  /** Uploads of this instance that are under way, by object number. Lost in a crash, as they are. */
  readonly #uploads = new Map<number, Promise<void>>();
  /** When this instance last began an upload, in ms since the epoch. */
  #lastStartMs = 0;
  /** When the alarm is set for; null: not set. */
  #armedMs: number | null = null;
  /** Overridden by tests, which cannot fill a segment, and do not wait. */
  segmentMaxBytes = SEGMENT_MAX_BYTES;
  alarmWaitMs = ALARM_WAIT_MS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#state = new LogState(sql, ctx.id.toString());
    this.#batches = new Batches(sql, this.#state);
    this.#objects = new Objects(sql, this.#state);
    this.#health = new Health(sql);
    this.#replayed = new Replayed(sql, this.#state);
    this.#ids = new IdMemory(sql);
    this.canary = new Canary(sql, this.#state, {
      identity: (jobId) => env.LOG.idFromName(segmentName(jobId, 0)).toString(),
      open: (job) => this.#open(job),
      commit: (change) =>
        this.#transaction(() => {
          change();
          this.#arm(platform.now());
        }),
    });
    this.#kept = new KeptIds(sql, this.#ids);
    this.#aside = new AsideObjects(sql, this.#state);
    ctx.blockConcurrencyWhile(async () => {
      migrate(ctx.storage, LOG_STEPS);
      this.#armedMs = await ctx.storage.getAlarm();
    });
  }

  /**
   * Takes a job's configuration; an older one than it has changes nothing. Whatever is cut for it, is cut under the old configuration.
   * @param segment this object's place in the chain, from 0.
   * @returns whether another segment follows, and the version that is in force here; or the one after it, where this version stands for something
   * else here: the control plane was restored to a time before it gave it, and only a later one can take its place.
   */
  configure(job: JobConfig, segment: number): { sealed: boolean; version: number } {
    const now = platform.now();
    if (this.#state.retired) {
      migrate(this.ctx.storage, LOG_STEPS);
      this.#state.retired = false;
    }
    let collides = false;
    this.#transaction(() => {
      const before = this.#state.job();
      collides = before?.version === job.version && JSON.stringify(before) !== JSON.stringify(job);
      if (before !== null && before.version >= job.version) return;
      if (before !== null) {
        const smaller = job.limits.records < before.limits.records || job.limits.bytes < before.limits.bytes;
        if (job.outputVersion !== before.outputVersion || smaller) this.#batches.cutAll("config", now);
        if (job.deletedMs !== null && before.deletedMs === null) this.#batches.cutAll("deleted", now);
      }
      this.#state.setJob(job, segment);
      this.canary.follow(job, now);
      if (before === null) return this.#arm(now);
      if (job.discard) this.#discard();
      if (job.destinationVersion !== before.destinationVersion) this.#objects.readdress(job.path);
      // Not with every new version: that a function's logging was switched says nothing to a store that asked for patience.
      if (job.modifiedVersion !== before.modifiedVersion) this.#objects.retryNow();
      this.#arm(now);
    });
    const row = this.#state.requireRow();
    return { sealed: row.sealed_ms !== null, version: this.#state.requireJob().version + (collides ? 1 : 0) };
  }

  /** Which of these messages it holds, and whether another segment follows. */
  holds(messages: readonly TakenId[]): { ids: string[]; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { ids: [], sealed: false };
    return { ids: [...this.#kept.known(messages)], sealed: row.sealed_ms !== null };
  }

  /**
   * Remembers for good which of these messages it holds.
   * @returns those of which it cannot tell, as it has forgotten what was taken in with them; and whether another segment follows.
   */
  keepIds(messages: readonly TakenId[]): { forgotten: string[]; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { forgotten: [], sealed: false };
    const forgotten = this.#transaction(() => this.#kept.keepHeld(messages, row.swept_ms));
    return { forgotten, sealed: row.sealed_ms !== null };
  }

  /** Commits records, their counts and the ids of their messages, all or nothing. */
  append({ version, messages, fragments, queueDoneMs, again }: Append): AppendResult {
    const now = platform.now();
    return this.#transaction((): AppendResult => {
      const row = this.#state.row();
      const job = this.#state.job();
      if (row === null || job === null || job.version < version) return { kind: "behind" };
      if (job.version > version) return { kind: "stale", job };
      // What the queue delivers is never older than this memory; only what is sent again needs the other.
      const known = [...(again === undefined ? this.#ids : this.#kept).known(messages)];
      const unsure = again === undefined || again.isKept ? [] : this.#kept.forgotten(messages, row.swept_ms);
      if (unsure.some((id) => !known.includes(id))) return { kind: "forgotten" };
      if (row.sealed_ms !== null) return { kind: "full", ids: known };
      if (known.length > 0) return { kind: "known", ids: known };
      if (this.ctx.storage.sql.databaseSize >= this.segmentMaxBytes) {
        this.#state.seal(now);
        return { kind: "full", ids: [] };
      }
      this.#ids.remember(messages);
      if (again !== undefined) this.#kept.keep(messages);
      const opened = this.#batches.put(fragments, now);
      this.#state.count(messages, queueDoneMs, opened, now);
      this.#arm(now);
      return { kind: "taken" };
    });
  }

  /**
   * Cuts all that waits and uploads it.
   * @param reason `manual` tries at once even what waits after a failure; `scheduled` keeps to the delays.
   * @param waitMs how long to wait for the uploads; they go on afterwards.
   */
  async drive(reason: "scheduled" | "manual", waitMs: number): Promise<{ pendingObjects: number }> {
    const now = platform.now();
    const row = this.#state.row();
    if (row === null) return { pendingObjects: 0 };
    this.#transaction(() => {
      if (this.#state.requireJob().discard) this.#discard();
      this.#batches.cutAll(reason, now);
      if (reason === "manual") {
        this.#objects.retryNow();
        this.canary.retryNow(now);
      }
      if (now - row.swept_ms >= SWEEP_EVERY_MS) {
        this.#ids.sweep(now);
        this.#objects.sweep(now);
        this.#health.sweep(now);
        this.#state.swept(now);
      }
      this.#arm(now);
    });
    await this.#uploadFor(waitMs);
    this.#transaction(() => this.#arm(platform.now()));
    return { pendingObjects: this.#objects.countWaiting() };
  }

  /**
   * How the log is. Until when everything is delivered is worked out when somebody asks, not with every delivery: it takes a look at everything
   * that waits.
   * @param notAfterMs what was taken in since, in ms since the epoch, may be on its way where this log does not see it; undefined: nobody knows, and no
   * more is claimed than before.
   */
  status(notAfterMs?: number): LogStatus | null {
    const row = this.#state.row();
    if (row === null) return null;
    const oldest = this.#oldestPendingTakenMs();
    if (notAfterMs !== undefined) {
      this.#state.completeUpTo(Math.min(oldest ?? Number.POSITIVE_INFINITY, row.queue_done_ms, notAfterMs));
    }
    return {
      counts: this.#counts(),
      pendingObjects: this.#objects.countWaiting(),
      oldestPendingTakenMs: oldest,
      deliveredRawBytes: row.delivered_raw,
      deliveredBytes: row.delivered_bytes,
      lastCompleteMs: this.#state.requireRow().last_complete_ms,
      lastErrorMs: row.last_error_ms,
      errorMessage: row.error_message,
      lastReceivedMs: row.last_received_ms,
      failingSinceMs: row.failing_since_ms,
      parked: row.parked !== 0,
      storedBytes: this.ctx.storage.sql.databaseSize,
      segments: 1,
      setAside: { objects: row.aside_objects, records: row.set_aside, oldestMs: this.#aside.oldestMs() },
      canary: this.canary.status(platform.now()),
      replayed: { objects: row.replayed_objects, records: row.replayed_records, bytes: row.replayed_bytes },
      sealed: row.sealed_ms !== null,
    };
  }

  /** @param after list only objects with a greater number. @param limit at most so many; 0 for their number alone. */
  objects(after: number, limit: number): { entries: ObjectEntry[]; total: number; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { entries: [], total: 0, sealed: false };
    const entries = this.#objects.list(after, limit).map(entryOf);
    return { entries, total: this.#objects.count(after), sealed: row.sealed_ms !== null };
  }

  /** A part of the objects that are set aside, the oldest first, and how many there are. */
  asideObjects(offset: number, limit: number): { entries: AsideObject[]; total: number; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { entries: [], total: 0, sealed: false };
    return {
      entries: this.#aside.list(offset, limit),
      total: row.aside_objects,
      sealed: row.sealed_ms !== null,
    };
  }

  /** null: it is not set aside (any more). */
  asideObject(number: number): AsideObject | null {
    return this.#state.row() === null ? null : this.#aside.get(number);
  }

  /** Its bytes, as they would be uploaded. null: it is not set aside (any more). */
  asideBytes(number: number): ReadableStream<Uint8Array> | null {
    const object = this.#state.row() === null ? null : this.#objects.object(number);
    if (object?.state !== "set_aside") return null;
    return streamed(object.bytes, this.#objects.pieces(object));
  }

  /** Has an object uploaded again that was set aside. @returns as it is then; null: it is not set aside (any more), or its job was discarded. */
  asideResend(number: number): AsideObject | null {
    const now = platform.now();
    return this.#transaction(() => {
      if (this.#state.row() === null || this.#state.requireJob().discard) return null;
      const object = this.#aside.resend(number, now);
      if (object !== null) this.#arm(now);
      return object;
    });
  }

  /** Drops an object that was set aside; its records count as discarded. @returns as it was; null: it is not set aside (any more). */
  asideDiscard(number: number): AsideObject | null {
    return this.#transaction(() => (this.#state.row() === null ? null : this.#aside.discard(number)));
  }

  /** How the uploads went, by the hour: the hours in which any ended, from `since` up to but not including `until`, both since the epoch. */
  health(since: number, until: number): { hours: HealthHour[]; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { hours: [], sealed: false };
    return { hours: this.#health.between(since, until), sealed: row.sealed_ms !== null };
  }

  /** How the job's canary fares here, and whether another segment follows. */
  canaryReport(): { report: CanaryReport | null; sealed: boolean } {
    const row = this.#state.row();
    if (row === null) return { report: null, sealed: false };
    return { report: this.canary.report(platform.now()), sealed: row.sealed_ms !== null };
  }

  /** What of it a replay can ship again; see {@link Replayed}. */
  replayable(span: ReplaySpan): Replayable {
    return this.#replayed.measure(span);
  }

  replayPage(span: ReplaySpan, after: number, limit: number): ReplayPage {
    return this.#transaction(() => this.#replayed.page(span, after, limit));
  }

  /** Another name for an object that is shipped again, as something else stands under its key. null: the log has gone. */
  replayName(firstEventMs: number, lastEventMs: number): string | null {
    if (this.#state.row() === null) return null;
    return this.#transaction(() => this.#state.names([{ firstEventMs, lastEventMs }])[0] ?? null);
  }

  /** Lists and counts an object that was shipped again, once, however often it is told. */
  replayed(object: ReplayedObject): "counted" | "known" | "gone" {
    return this.#transaction(() => this.#replayed.note(object, platform.now()));
  }

  /** Deletes itself if its job was deleted long enough ago that no queue can hold anything for it. @returns whether it did. */
  async retire(): Promise<boolean> {
    const job = this.#state.job();
    if (job !== null) {
      const done =
        job.deletedMs !== null &&
        platform.now() - job.deletedMs > ID_MEMORY_MS &&
        this.#counts().pending === 0 &&
        this.#state.requireRow().aside_objects === 0;
      if (!done) return false;
    }
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#armedMs = null;
    this.#state.retired = true;
    return true;
  }

  /**
   * Cuts what is due, uploads what is due, arms the next. It must not throw: an alarm that throws is tried six times within minutes and then
   * forgotten for ever.
   */
  override async alarm(): Promise<void> {
    this.#armedMs = null;
    try {
      if (this.#state.row() === null) return;
      this.#transaction(() => {
        // An upload that was under way when the job was discarded, and that nobody remembers.
        if (this.#state.requireJob().discard) this.#discard();
        this.#batches.cutDue(platform.now());
      });
      // No alarm runs beside another: whatever an upload takes, the next cut must not wait for it.
      const nextCutMs = this.#batches.nextCutMs() - platform.now();
      await this.#uploadFor(Math.max(0, Math.min(this.alarmWaitMs, nextCutMs)));
      this.#transaction(() => this.#arm(platform.now()));
    } catch (error) {
      log.error("alarm failed", { durable_object: "DeliveryLog", job: this.#state.job()?.id, error: errorText(error) });
      await this.ctx.storage.setAlarm(platform.now() + ALARM_LOOK_AGAIN_MS);
    }
  }

  /** Uploads what is due, and waits for it that long; the uploads go on afterwards. The canary has nobody wait. */
  async #uploadFor(waitMs: number): Promise<void> {
    const canary = this.canary.begin(platform.now());
    if (canary !== null) this.ctx.waitUntil(canary);
    const uploads = this.#uploadDue();
    this.ctx.waitUntil(uploads);
    await within(waitMs, uploads, undefined);
  }

  /** Uploads every object that is due. After a failure one at a time is tried, until one succeeds. */
  async #uploadDue(): Promise<void> {
    const tried = new Set<number>();
    const work = async (): Promise<void> => {
      for (;;) {
        const object = this.#claim(tried);
        if (object === null) return;
        tried.add(object.number);
        this.#lastStartMs = platform.now();
        const upload = this.uploadOne(object).finally(() => this.#uploads.delete(object.number));
        this.#uploads.set(object.number, upload);
        await upload;
        // Only what is still there could be claimed again; a list of all that went would make each claim dearer than the last.
        if (this.#objects.object(object.number)?.state !== "waiting") tried.delete(object.number);
      }
    };
    while (this.#claim(tried) !== null) {
      const failing = (this.#state.row()?.failures ?? 0) > 0;
      await Promise.all(Array.from({ length: failing ? 1 : UPLOADS_AT_ONCE }, work));
      if (failing && (this.#state.row()?.failures ?? 0) > 0) break;
    }
    // What had to wait for these may begin now, and not only when the alarm looks again.
    this.#transaction(() => this.#arm(platform.now()));
  }

  /** From when another upload may begin, in ms since the epoch; Infinity: when one of those under way ends. */
  #freeMs(row: Pick<LogRow, "failures" | "resume_ms">): number {
    if (this.#uploads.size >= UPLOADS_AT_ONCE) return Number.POSITIVE_INFINITY;
    if (row.failures === 0) return 0;
    // After a failure one at a time; but one that hangs does not keep the others from finding out that the store is well.
    return Math.max(row.resume_ms, this.#uploads.size > 0 ? this.#lastStartMs + PROBE_PATIENCE_MS : 0);
  }

  #claim(tried: ReadonlySet<number>): ObjectRow | null {
    const row = this.#state.row();
    const now = platform.now();
    if (row === null || now < this.#freeMs(row)) return null;
    const candidates = this.#objects.due(now, tried.size + this.#uploads.size + 1);
    return candidates.find(({ number }) => !tried.has(number) && !this.#uploads.has(number)) ?? null;
  }

  /** One attempt for one object, and what follows from it. Public for the tests, which break it at every step. */
  async uploadOne(object: ObjectRow): Promise<void> {
    const job = this.#state.job();
    if (job === null) return;
    const startedMs = platform.now();
    const fail = (error: UploadError): void => this.settle(object, { kind: "failed", error }, job, startedMs);
    try {
      const opened = this.#open(job);
      if (!opened.ok) return fail({ kind: "unusable", words: opened.why, cause: "configuration" });
      let outcome = await this.put(object, opened.value);
      if (outcome.kind === "no_conditional") {
        this.#transaction(() => this.#state.setUnconditional(true));
        // The store does not know the condition; the same attempt goes on without it.
        outcome = await this.put(object, opened.value);
      }
      this.settle(object, outcome, job, startedMs);
    } catch (error) {
      log.error("upload broke", {
        durable_object: "DeliveryLog",
        job: job.id,
        object: object.number,
        error: errorText(error),
      });
      fail({ kind: "busy", words: "internal error", retryAfterS: null, cause: "internal" });
    }
  }

  put(object: ObjectRow, destination: Destination): Promise<UploadOutcome> {
    const store = new ObjectStore(destination, platform);
    const body = (): Uint8Array | ReadableStream<Uint8Array> => {
      if (object.bytes <= BUFFERED_MAX_BYTES) return concat([...this.#objects.pieces(object)]);
      return streamed(object.bytes, this.#objects.pieces(object));
    };
    return uploadObject({ ...object, doubtful: object.doubtful !== 0, contentType: object.content_type }, body, store, {
      conditional: this.#state.row()?.unconditional !== 1,
      path: destination.path,
    });
  }

  /** What follows from an attempt: the object's state, the log's, and the hour's, all at once; and the attempt's line. */
  settle(object: ObjectRow, outcome: UploadOutcome, job: JobConfig, startedMs: number): void {
    const now = platform.now();
    const end = this.#transaction((): UploadEnd => {
      const ended = this.#conclude(object, outcome, job, now);
      const counted = countedAs(ended, object, now - startedMs);
      if (counted !== null) this.#health.note(counted, now);
      return ended;
    });
    logUpload(end, object, job.id, now - startedMs);
  }

  #conclude(object: ObjectRow, outcome: UploadOutcome, job: JobConfig, now: number): UploadEnd {
    const current = this.#state.job();
    if (current?.discard && outcome.kind !== "delivered") {
      this.#uploads.delete(object.number);
      this.#discard();
      return endOf("superseded", outcome);
    }
    // The destination has changed meanwhile: what the old one refused says nothing of the new one; what it took is delivered.
    const moved = current?.destinationVersion !== job.destinationVersion;
    if (moved && outcome.kind !== "delivered") return endOf("superseded", outcome);
    switch (outcome.kind) {
      case "delivered": {
        const counts = this.#objects.markDelivered(object, object.key, outcome.verified, now);
        return endOf(counts ? "delivered" : "superseded", outcome);
      }
      case "key_taken": {
        const counts = this.#objects.renumber(object, now);
        // Once is chance; again, and something is wrong with the store.
        if (object.attempts > 0) {
          const words = "the store says of every key that another object stands there; new keys are being tried";
          this.#state.failed(words, now, now, this.#state.requireRow().failures + 1, false);
        }
        return endOf(counts ? "key_taken" : "superseded", outcome);
      }
      case "no_conditional":
        this.#state.setUnconditional(true);
        return endOf("superseded", outcome);
      case "failed":
        return this.#fail(object, outcome.error, now);
    }
  }

  #fail(object: ObjectRow, error: UploadError, now: number): UploadEnd {
    const random = platform.random();
    const forObject = disposition(error, object.attempts + 1, platform.random());
    const words = failureWords(error, forObject.do);
    const ended = (counts: boolean) => endOf(counts ? forObject.do : "superseded", { kind: "failed", error });
    if (forObject.do === "set_aside") return ended(this.#objects.markSetAside(object, words, now));
    if (!this.#objects.markFailed(object, words, now + forObject.delayMs, error.kind === "unreachable"))
      return ended(false);
    // One object that fails over and over on its own makes no outage: the next one is not to wait for it.
    const failures = this.#objects.countFailing(this.#state.requireRow().failures + 1);
    const forLog = disposition(error, failures, random);
    const resumeMs = forLog.do === "set_aside" ? now : now + forLog.delayMs;
    this.#state.failed(words, resumeMs, now, failures, forLog.do === "park");
    return ended(true);
  }

  #open(job: JobConfig): Parsed<Destination> {
    const config = readConfig(this.env);
    if (!config.ok) return { ok: false, why: `configuration: ${config.faults.join("; ")}` };
    const conf = unseal(job.destination, destinationPurpose(config.config.accountId), config.config.keys);
    if (conf === null)
      return { ok: false, why: "neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination" };
    return parseDestination(conf, config.config.destinations);
  }

  /** Sets the alarm for the next thing to do, if it is not set for an earlier one. Every setting is billed as a write. */
  #arm(nowMs: number): void {
    const row = this.#state.row();
    if (row === null) return;
    const attempt = Math.max(this.#objects.nextAttemptMs(new Set(this.#uploads.keys())), this.#freeMs(row));
    const again = this.#uploads.size > 0 ? nowMs + ALARM_LOOK_AGAIN_MS : Number.POSITIVE_INFINITY;
    const due = Math.max(Math.min(this.#batches.nextCutMs(), attempt, again, this.canary.nextMs(nowMs)), nowMs);
    // An alarm that should have fired long ago did not: it counts as not set.
    const armed =
      this.#armedMs !== null && this.#armedMs > nowMs - ALARM_LOST_AFTER_MS ? this.#armedMs : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(due) || armed <= due) return;
    this.ctx.storage.setAlarm(due);
    this.#armedMs = due;
  }

  /** Pending is counted from what is there, so that the equation can fail. */
  #counts(): LogCounts {
    const { received, filtered, sampled_out, delivered, set_aside, discarded } = this.#state.requireRow();
    const pending = Number(
      this.ctx.storage.sql
        .exec(
          `SELECT (SELECT coalesce(sum(records), 0) FROM batch)
                + (SELECT coalesce(sum(records), 0) FROM object WHERE state = 'waiting') AS pending`,
        )
        .one().pending,
    );
    return { received, filtered, sampled_out, delivered, pending, set_aside, discarded };
  }

  #oldestPendingTakenMs(): number | null {
    const { oldest } = this.ctx.storage.sql
      .exec<{ oldest: number | null }>(
        `SELECT min(oldest_taken_ms) AS oldest FROM (
           SELECT oldest_taken_ms FROM batch UNION ALL SELECT oldest_taken_ms FROM object WHERE state = 'waiting')`,
      )
      .one();
    return oldest;
  }

  /** Drops what waits, counted. What is under way is counted when it is known how that ended. */
  #discard(): void {
    const dropped = this.#batches.drop() + this.#objects.drop(new Set(this.#uploads.keys()));
    this.#state.countDiscarded(dropped);
  }

  /** A transaction; if it fails, its alarm is rolled back with its rows, and what we believe of the alarm with it. */
  #transaction<T>(change: () => T): T {
    const armed = this.#armedMs;
    try {
      return this.ctx.storage.transactionSync(change);
    } catch (error) {
      this.#armedMs = armed;
      throw error;
    }
  }
}
